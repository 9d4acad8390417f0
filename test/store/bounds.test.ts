/** Bounds of the store's verbs: the first and last row of a list, the moment at which something counts, long lists. */
import { expect } from 'bun:test';
import type { AuditEntry } from '../../src/store/people.ts';
import { EXPIRING } from '../../src/store/settings.ts';
import { newId } from '../rig/ids.ts';
import {
  accepted,
  batchOf,
  finishOf,
  newAccount,
  newDomain,
  newLogRecord,
  newMessage,
  newSuppression,
  recipientOf,
} from './samples.ts';
import { eachStore } from './stores.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const PAGE = { limit: 100, after: null, before: null };

eachStore(
  'a row of the request log comes back as it was, in the list and by its id',
  async (store, { id }) => {
    const record = newLogRecord(id, {
      keyId: newId(Date.now()),
      keyName: 'the name',
      keyPermission: 'sending_access',
      isSandbox: true,
      method: 'GET',
      path: '/emails/1?x=2',
      status: 404,
      durationMs: 17,
      messageId: newId(Date.now()),
      userAgent: 'the agent',
      ip: '192.0.2.7',
      requestBody: '{"a":1}',
      responseBody: '{"b":2}',
    });
    await store.appendLogs([record, record]);
    const { requestBody: _request, responseBody: _response, ...summary } = record;
    const { rows } = await store.logs(id, { ...PAGE, q: null, status: null, method: null });
    expect(rows).toEqual([summary]);
    expect(await store.log(id, record.id)).toEqual(record);
    expect(await store.log(newId(Date.now()), record.id)).toBeNull();
  },
);

eachStore(
  'the audit log is read from the newest on, before a row without that row, and by name',
  async (store) => {
    const entry = (n: number): AuditEntry => ({
      at: 1_000 + n,
      via: 'command',
      who: n % 2 === 0 ? 'even' : 'odd',
      action: `action ${n}`,
      target: 't',
      accountId: null,
      address: null,
    });
    for (let n = 0; n < 6; n += 1) await store.addAudit(entry(n));
    const first = await store.audit({ limit: 2, before: null, who: null });
    expect(first.map(({ action }) => action)).toEqual(['action 5', 'action 4']);
    const next = await store.audit({ limit: 2, before: first.at(-1)?.seq ?? 0, who: null });
    expect(next.map(({ action }) => action)).toEqual(['action 3', 'action 2']);
    const odd = await store.audit({ limit: 9, before: null, who: 'odd' });
    expect(odd.map(({ action }) => action)).toEqual(['action 5', 'action 3', 'action 1']);
    expect(odd[0]).toMatchObject(entry(5));
    // Older than the third, and what is more than the newest two.
    expect(await store.purgeAudit(1_002, 100)).toBe(2);
    expect(await store.purgeAudit(0, 2)).toBe(2);
    const left = await store.audit({ limit: 9, before: null, who: null });
    expect(left.map(({ action }) => action)).toEqual(['action 5', 'action 4']);
  },
);

eachStore(
  'the next key of a removed domain is not activated, nor one that is another by now',
  async (store, { id }) => {
    const domain = newDomain(id, 'acme.example');
    await store.createDomain(domain, 10);
    const next = {
      selector: 's2',
      dkimPublicKey: 'NEXT',
      sealedDkimKey: new Uint8Array([1]),
      since: 1,
    };
    await store.addNextDkimKey(domain.id, next);
    // One that is there already stays.
    await store.addNextDkimKey(domain.id, { ...next, selector: 's3' });
    expect(await store.activateDkimKey(domain.id, 's3', 5)).toBe(false);
    expect(await store.activateDkimKey(domain.id, 's2', 5)).toBe(true);
    expect(await store.domain(id, domain.id)).toMatchObject({
      selector: 's2',
      dkimPublicKey: 'NEXT',
    });
    expect(await store.previousDkimKey(domain.id)).toEqual({ selector: 's1', since: 5 });
    expect(await store.nextDkimKey(domain.id)).toBeNull();
    await store.addNextDkimKey(domain.id, { ...next, selector: 's4' });
    await store.deleteDomain(id, domain.id, 9);
    expect(await store.activateDkimKey(domain.id, 's4', 10)).toBe(false);
    expect((await store.domainForSigning(domain.id))?.selector).toBe('s2');
  },
);

eachStore(
  'domains are due from their moment on, account by account, the longest overdue first, so many at once',
  async (store, { id }) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const at = [30, 10, 20, 40];
    const ids: string[] = [];
    for (const [n, nextCheckAt] of at.entries()) {
      const domain = { ...newDomain(id, `d${n}.example`), nextCheckAt };
      await store.createDomain(domain, 10);
      ids.push(domain.id);
    }
    await store.createDomain({ ...newDomain(other.id, 'd.example'), nextCheckAt: 20 }, 10);
    const due = async (now: number, limit = 9) =>
      (await store.domainsDue(id, now, limit)).map((each) => at[ids.indexOf(each)]);
    expect(await due(30)).toEqual([10, 20, 30]);
    expect(await due(29)).toEqual([10, 20]);
    expect(await due(99, 2)).toEqual([10, 20]);
    const accounts = async (now: number, after: string | null = null) => {
      const { accountIds, last } = await store.accountsToCheck(now, after);
      expect(last).toBeNull();
      return accountIds;
    };
    expect([await accounts(9), await accounts(10), await accounts(19)]).toEqual([[], [id], [id]]);
    const [first = '', second = ''] = [id, other.id].toSorted();
    expect(await accounts(20)).toEqual([first, second]);
    expect([await accounts(20, first), await accounts(20, second)]).toEqual([[second], []]);
  },
);

eachStore(
  'accounts with checks to come are walked over a hundred at a time, however many domains one has',
  async (store, { id }) => {
    const ids = [id];
    for (let n = 0; n < 30; n += 1) await store.createDomain(newDomain(id, `d${n}.example`), 99);
    for (let n = 0; n < 105; n += 1) {
      const account = newAccount(`a${n}`);
      await store.createAccount(account);
      await store.createDomain(newDomain(account.id, 'd.example'), 9);
      ids.push(account.id);
    }
    ids.sort();
    const first = await store.accountsToCheck(Date.now(), null);
    expect(first).toEqual({ accountIds: ids.slice(0, 100), last: ids[99] ?? '' });
    const rest = await store.accountsToCheck(Date.now(), first.last);
    expect(rest).toEqual({ accountIds: ids.slice(100), last: null });
    // Where none of them is due yet, the walk goes on all the same.
    expect(await store.accountsToCheck(1, null)).toEqual({ accountIds: [], last: ids[99] ?? '' });
  },
);

eachStore('a check without what was seen keeps what was seen before', async (store, { id }) => {
  const domain = newDomain(id, 'acme.example');
  await store.createDomain(domain, 10);
  const { status, recordStates, verifiedAt, nextCheckAt, failingSince, pendingSince } = domain;
  const check = {
    id: domain.id,
    now: 7,
    status,
    recordStates,
    verifiedAt,
    nextCheckAt,
    failingSince,
    pendingSince,
  };
  const seen = { DKIM: { at: 'x', values: ['y'], problem: null } };
  await store.finishDomainCheck({ ...check, seen });
  await store.finishDomainCheck({ ...check, now: 8 });
  expect(await store.seenRecords(id, domain.id)).toEqual(seen);
  expect((await store.domain(id, domain.id))?.lastCheckedAt).toBe(8);
});

eachStore(
  'an account counts from the UTC day that is asked, by its present statuses',
  async (store, { id }) => {
    const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const at = (createdAt: number) => newMessage(id, { id: newId(createdAt), createdAt });
    const messages = [at(midnight - 1), at(midnight), at(midnight + HOUR_MS)];
    for (const message of messages) await accepted(store, message);
    const [, second] = messages;
    if (second === undefined) throw new Error('three were made');
    await store.finish(finishOf(second, recipientOf(second)));
    const counts = async (since: number) => {
      const { queued, delivered } = await store.countsByStatus(id, since);
      return [queued, delivered];
    };
    expect(await counts(midnight)).toEqual([1, 1]);
    expect(await counts(midnight + DAY_MS - 1)).toEqual([1, 1]);
    expect(await counts(midnight - 1)).toEqual([2, 1]);
  },
);

eachStore(
  'a thousand suppressions and more go with their account, and each is counted',
  async (store) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    const rows = Array.from({ length: 2_001 }, (_, n) =>
      newSuppression(account.id, `r${n}@x.example`),
    );
    expect(await store.addSuppressions(rows)).toBe(2_001);
    expect(await store.addSuppressions(rows)).toBe(0);
    await store.closeAccount(account.id, 'It is being deleted.');
    const gone = await store.removeAccount(account.id, [], () => undefined);
    expect(gone.suppressions).toBe(2_001);
  },
);

eachStore('mail that comes while its account is being deleted goes too', async (store) => {
  const account = newAccount('doomed');
  await store.createAccount(account);
  await accepted(store, newMessage(account.id));
  await store.closeAccount(account.id, 'It is being deleted.');
  const late: Promise<number>[] = [];
  const gone = await store.removeAccount(account.id, [], (messages) => {
    if (messages !== 1) return;
    const message = batchOf(account.id, newMessage(account.id));
    // A store that finds the account gone refuses it.
    const written = store.accept(message).then(
      () => 1,
      () => 0,
    );
    late.push(written);
  });
  const [written] = await Promise.all(late);
  expect([late.length, gone.messages]).toEqual([1, 1 + (written ?? 0)]);
  expect(await store.account(account.id)).toBeNull();
});

eachStore(
  'marks of removed suppressions are kept for a week, to the moment',
  async (store, { id }) => {
    const now = Date.now();
    await store.addSuppression(newSuppression(id, 'gone@x.example'));
    await store.addSuppression(newSuppression(id, 'kept@x.example'));
    await store.removeSuppression(id, 'gone@x.example', now);
    expect(await store.purgeExpired(now + 7 * DAY_MS)).toBe(0);
    expect(await store.purgeExpired(now + 7 * DAY_MS + 1)).toBe(1);
    expect(await store.suppression(id, 'kept@x.example')).not.toBeNull();
  },
);

eachStore(
  'records and settings that say until when are kept to that moment of the steady time',
  async (store, { id }) => {
    const [now, steady] = [1_000_000, 5_000];
    const idempotency = {
      key: 'k',
      route: 'POST /emails',
      bodyHash: 'h',
      status: 200,
      response: '{}',
      createdAt: 1,
      expiresAt: steady,
    };
    await store.accept({ ...batchOf(id), idempotency });
    await store.setSetting(`${EXPIRING}word`, String(steady));
    expect(await store.purgeExpired(now, steady)).toBe(0);
    expect(await store.setting(`${EXPIRING}word`)).toBe(String(steady));
    expect(await store.purgeExpired(now, steady + 1)).toBe(2);
    expect(await store.setting(`${EXPIRING}word`)).toBeNull();
    expect(await store.idempotencyRecord(id, 'k', 0)).toBeNull();
    await store.accept({ ...batchOf(id), idempotency });
    expect(await store.purgeExpired(steady)).toBe(0);
    expect(await store.purgeExpired(steady + 1)).toBe(1);
  },
);

eachStore('outcomes are kept for 92 days and harm for nine, by the hour', async (store, { id }) => {
  const message = await accepted(store, newMessage(id));
  const recipient = recipientOf(message);
  const suppress = newSuppression(id, 'ann@example.org', {
    reason: 'hard_bounce',
    source: message.message.id,
  });
  await store.finish(finishOf(message, recipient, { suppress }));
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const outcomes = async () =>
    (
      await store.outcomes({
        accountId: id,
        from: hour - HOUR_MS,
        until: hour + DAY_MS,
        bucket: 'hour',
      })
    ).length;
  const harm = async () => (await store.harm(id, hour - HOUR_MS)).hardBounces;
  await store.purgeExpired(hour + 9 * DAY_MS);
  expect([await outcomes(), await harm()]).toEqual([1, 1]);
  // Until the hour after it has had its nine days to the last millisecond.
  expect(await store.purgeExpired(hour + 9 * DAY_MS + HOUR_MS - 1)).toBe(0);
  expect([await outcomes(), await harm()]).toEqual([1, 1]);
  expect(await store.purgeExpired(hour + 9 * DAY_MS + HOUR_MS)).toBe(1);
  expect([await outcomes(), await harm()]).toEqual([1, 0]);
  await store.purgeExpired(hour + 92 * DAY_MS + HOUR_MS - 1);
  expect(await outcomes()).toBe(1);
  // The account's, and that of all together.
  expect(await store.purgeExpired(hour + 92 * DAY_MS + HOUR_MS)).toBe(2);
  expect(await outcomes()).toBe(0);
});
