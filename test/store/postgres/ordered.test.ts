/** Rare changes begin in the order in which they are asked for, each when the one before has ended; long work does not wait. */
import { expect, spyOn, test } from 'bun:test';

import { Database } from '../../../src/store/postgres/database.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { newId } from '../../rig/ids.ts';
import { testServer } from '../../rig/postgres.ts';
import {
  batchOf,
  newAccount,
  newDomain,
  newEndpoint,
  newKey,
  newMessage,
  newSuppression,
} from '../samples.ts';

const NOW = Date.now();
const ID = newId(NOW);
const BYTES = Buffer.of(1);
const operator = { id: ID, name: 'o', role: 'admin', accountId: null, passwordHash: 'h' } as const;
const check = {
  id: ID,
  now: NOW,
  status: 'failed',
  recordStates: {},
  verifiedAt: null,
  nextCheckAt: null,
  failingSince: null,
  pendingSince: NOW,
} as const;
const dkim = { selector: 's', dkimPublicKey: 'k', sealedDkimKey: BYTES, since: NOW };
const call = {
  id: ID,
  callId: null,
  endpointId: ID,
  eventType: 'webhook.test',
  messageId: null,
  attempt: 1,
  statusCode: 200,
  ok: true,
  error: null,
  durationMs: 1,
  createdAt: NOW,
};
const entry = { at: 1, via: 'api', who: 'w', action: 'a', target: 't' } as const;

/** Changes that an operator or a customer makes, by their verbs. */
const RARE: Record<string, (store: Store) => Promise<unknown>> = {
  createAccount: (store) => store.createAccount(newAccount('other')),
  setAccountStatus: (store) => store.setAccountStatus(ID, 'paused', 'Why.'),
  changeAccount: (store) => store.changeAccount(ID, { name: 'n', plan: 'p' }),
  createKey: (store) => store.createKey(newKey(ID), BYTES, 0),
  revokeKey: (store) => store.revokeKey(ID, ID, NOW),
  renameKey: (store) => store.renameKey(ID, ID, 'n'),
  touchKeys: (store) => store.touchKeys([]),
  addConfirmedRecipient: (store) =>
    store.addConfirmedRecipient(ID, 'x@x.example', NOW).catch(() => 'no account'),
  removeConfirmedRecipient: (store) => store.removeConfirmedRecipient(ID, 'x@x.example'),
  createDomain: (store) => store.createDomain(newDomain(ID, 'x.example'), 0),
  deleteDomain: (store) => store.deleteDomain(ID, ID, NOW),
  finishDomainCheck: (store) => store.finishDomainCheck(check),
  addNextDkimKey: (store) => store.addNextDkimKey(ID, dkim).catch(() => 'no domain'),
  activateDkimKey: (store) => store.activateDkimKey(ID, 's', NOW),
  createEndpoint: (store) => store.createEndpoint(newEndpoint(ID), 0),
  updateEndpoint: (store) => store.updateEndpoint(ID, ID, {}, NOW),
  rotateEndpointSecret: (store) => store.rotateEndpointSecret(ID, ID, BYTES, NOW),
  deleteEndpoint: (store) => store.deleteEndpoint(ID, ID, NOW),
  recordTestCall: (store) => store.recordTestCall(call),
  missCalls: (store) => store.missCalls(ID, ID, NOW, null),
  replayCalls: (store) => store.replayCalls(ID, ID, { failedSince: 0 }, NOW),
  addSuppression: (store) =>
    store.addSuppression(newSuppression(ID, 'x@x.example')).catch(() => 'no account'),
  addSuppressions: (store) =>
    store.addSuppressions([newSuppression(ID, 'x@x.example')]).catch(() => 'no account'),
  removeSuppression: (store) => store.removeSuppression(ID, 'x@x.example', NOW),
  createOperator: (store) =>
    store.createOperator(
      { ...operator, sealedTotp: null, recoveryCodes: 0, createdAt: 1, signedInAt: null },
      9,
    ),
  setOperatorPassword: (store) => store.setOperatorPassword(ID, 'p'),
  setOperatorTotp: (store) => store.setOperatorTotp(ID, BYTES, ['h']),
  noteSignIn: (store) => store.noteSignIn(ID, 1),
  takeTotpStep: (store) => store.takeTotpStep(ID, 1),
  takeRecoveryHash: (store) => store.takeRecoveryHash(ID, 'h'),
  removeOperator: (store) => store.removeOperator(ID),
  addAudit: (store) => store.addAudit({ ...entry, accountId: null, address: null }),
  purgeAudit: (store) => store.purgeAudit(0, 9),
  setSetting: (store) => store.setSetting('s', '1'),
  'setSetting, remembered': (store) => store.setSetting('s', '2', { isRemembered: true }),
  replaceSecrets: (store) => store.replaceSecrets([], { s: '3' }),
};

/** What is long, or many at a time: nobody waits for it. */
const OTHERS: Record<string, (store: Store) => Promise<unknown>> = {
  closeAccount: (store) => store.closeAccount(ID, 'Why.'),
  removeAccount: (store) => store.removeAccount(ID, [], () => undefined),
  eraseAddress: (store) => store.eraseAddress('x@x.example', null),
  purgeMessages: (store) => store.purgeMessages(0),
  purgeExpired: (store) => store.purgeExpired(0),
  purgeLogs: (store) => store.purgeLogs(ID, 0),
  retryNow: (store) => store.retryNow({ id: ID, domain: null }, NOW),
  releaseLeases: (store) => store.releaseLeases('nobody', NOW),
  takeJob: (store) => store.takeJob('j', 'h', 1),
  begin: (store) => store.begin([], NOW),
};

test('rare changes wait for each other, and nothing else for them', async () => {
  const url = await (await testServer()).freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: NOW });
  const account = newAccount('default');
  await store.createAccount(account);
  const own = Object.getOwnPropertyDescriptor(Database.prototype, 'transaction')
    ?.value as Database['transaction'];
  const { promise: mayGo, resolve: go } = Promise.withResolvers<void>();
  const { promise: hasBegun, resolve: tell } = Promise.withResolvers<void>();
  let isFirst = true;
  let [underWay, most] = [0, 0];
  const transaction = spyOn(Database.prototype, 'transaction').mockImplementation(async function <
    T,
  >(this: Database, work: Parameters<Database['transaction']>[0]): Promise<T> {
    [underWay, most] = [underWay + 1, Math.max(most, underWay + 1)];
    try {
      if (isFirst) {
        isFirst = false;
        tell();
        await mayGo;
      }
      return (await own.call(this, work)) as T;
    } finally {
      underWay -= 1;
    }
  });
  try {
    const ended: string[] = [];
    const rare = Object.entries(RARE).map(([verb, change]) =>
      change(store).then(() => ended.push(verb)),
    );
    await hasBegun;
    // What does not wait for the first change ends, and so do reads and mail.
    for (const work of Object.values(OTHERS)) await work(store);
    expect((await store.accept(batchOf(account.id, newMessage(account.id)))).kind).toBe('accepted');
    expect(await store.accounts()).toEqual([account]);
    expect([ended, underWay]).toEqual([[], 1]);
    most = 0;
    go();
    await Promise.all(rare);
    // Those that others remember are told a moment later.
    expect([ended.toSorted(), most]).toEqual([Object.keys(RARE).toSorted(), 1]);
  } finally {
    transaction.mockRestore();
    await store.close();
  }
}, 60_000);
