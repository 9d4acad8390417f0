/** Pages of lists: where each begins and ends, also where the row of the cursor has gone, and lists of one status. */
import { expect } from 'bun:test';
import type { Message } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { idBound } from '../../src/base/ids.ts';
import { newId } from '../rig/ids.ts';
import {
  accepted,
  dueRequest,
  newEndpoint,
  newLogRecord,
  newMessage,
  finishOf,
  recipientOf,
} from './samples.ts';
import { eachStore } from './stores.ts';
import { everyCallDue } from './due-calls.ts';

/** An id of this moment, whatever ids were made before. */
const idAt = (ms: number): string => `${idBound(ms).slice(0, -1)}1-7000-8000-000000000000`;
const START = Math.floor(Date.now() / 1_000) * 1_000 - 1_000_000;
const ALL = { limit: 100, after: null, before: null, q: null, status: null };

/** Messages a second apart, the oldest first. */
async function messages(
  store: Store,
  accountId: string,
  count: number,
  change: Partial<Message> = {},
) {
  const began = START;
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const createdAt = began + n * 1_000;
    const message = newMessage(accountId, { id: idAt(createdAt), createdAt, ...change });
    ids.push((await accepted(store, message)).message.id);
  }
  return ids;
}

for (const isSandbox of [false, true]) {
  const kind = isSandbox ? 'sandbox' : 'live';
  eachStore(
    `numbered pages of ${kind} emails follow each other, newest first`,
    async (store, { id }) => {
      const ids = (await messages(store, id, 7, { isSandbox })).toReversed();
      const page = async (number: number) =>
        (await store.emailsByPage(id, number, 3, isSandbox)).map((row) => row.id);
      expect(await page(1)).toEqual(ids.slice(0, 3));
      expect(await page(2)).toEqual(ids.slice(3, 6));
      expect(await page(3)).toEqual(ids.slice(6));
      expect(await page(4)).toEqual([]);
      // The highest that may be asked for.
      expect(await page(Number.MAX_SAFE_INTEGER)).toEqual([]);
    },
  );

  eachStore(
    `a cursor of ${kind} emails stands where its row was, in the list and in that of a status`,
    async (store, { id }) => {
      const ids = await messages(store, id, 6, { isSandbox });
      // Of no message, and between the third and the fourth by its time.
      const gone = idAt(START + 2_500);
      const list = async (change: object) =>
        (await store.emails(id, { ...ALL, isSandboxOnly: isSandbox, ...change })).rows.map(
          (row) => row.id,
        );
      for (const status of [null, 'queued'] as const) {
        expect(await list({ status, before: gone })).toEqual(ids.slice(3).toReversed());
        const third = ids[2] ?? '';
        expect(await list({ status, after: third })).toEqual(ids.slice(0, 2).toReversed());
        expect(await list({ status, before: third })).toEqual(ids.slice(3).toReversed());
        expect(await list({ status, after: third, limit: 1 })).toEqual(ids.slice(1, 2));
        expect(await list({ status, before: third, limit: 1 })).toEqual(ids.slice(3, 4));
      }
      expect(await list({ status: 'sent' })).toEqual([]);
    },
  );
}

eachStore('requests are listed from a moment on and before another', async (store, { id }) => {
  const began = START;
  const records = Array.from({ length: 5 }, (_, n) => {
    const createdAt = began + n * 1_000;
    return newLogRecord(id, {
      id: idAt(createdAt),
      createdAt,
      path: `/${n}`,
      status: 200 + 100 * n,
    });
  });
  await store.appendLogs(records);
  const paths = async (change: object) =>
    (await store.logs(id, { ...ALL, method: null, ...change })).rows.map(({ path }) => path);
  expect(await paths({ since: began + 1_500 })).toEqual(['/4', '/3', '/2']);
  expect(await paths({ until: began + 1_500 })).toEqual(['/1', '/0']);
  expect(await paths({ since: began + 500, until: began + 2_500 })).toEqual(['/2', '/1']);
  expect(await paths({ status: 4 })).toEqual(['/2']);
  expect(await paths({ status: 5 })).toEqual(['/3']);
  expect(await paths({ status: 400 })).toEqual(['/2']);
});

eachStore('there are so many operators at most, each name once', async (store) => {
  const made = (n: number, name = `o${n}`) =>
    store.createOperator(
      {
        id: newId(Date.now()),
        name,
        role: 'admin',
        accountId: null,
        passwordHash: 'x',
        sealedTotp: null,
        recoveryCodes: 0,
        createdAt: n,
        signedInAt: null,
      },
      2,
    );
  expect([await made(0), await made(1, 'o0'), await made(1), await made(2)]).toEqual([
    'created',
    'exists',
    'created',
    'too_many',
  ]);
  const [first, second] = await store.operators();
  expect(await store.removeOperator(first?.id ?? '')).toBe(true);
  expect(await store.removeOperator(first?.id ?? '')).toBe(false);
  await store.noteSignIn(second?.id ?? '', 77);
  expect(await store.operatorNamed('o1')).toMatchObject({ signedInAt: 77, createdAt: 1 });
  const totp = (step: number) => store.takeTotpStep(second?.id ?? '', step);
  expect([await totp(5), await totp(5), await totp(4), await totp(6)]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

eachStore('a lease ends at its moment: from then on a row is free', async (store, { id }) => {
  await store.createEndpoint(newEndpoint(id), 10);
  const message = await accepted(store, newMessage(id));
  const recipient = recipientOf(message);
  const now = recipient.nextAttemptAt ?? 0;
  const mark = { recipientId: recipient.id, leaseUntil: now + 100, nextAttemptAt: now + 10 };
  expect(await store.begin([{ ...mark, owner: 'one' }], now)).toHaveLength(1);
  const taken = async (at: number) => (await store.takeDue(dueRequest('two', at))).ours.length;
  expect([await taken(now + 99), await taken(now + 100)]).toEqual([0, 1]);
  const end = finishOf(message, recipient, { dueAt: now });
  const [call] = (await store.finish({ ...end, owner: 'two' })).calls;
  if (call === undefined) throw new Error('the endpoint wants every event');
  const claim = { id: call.id, leaseUntil: now + 100, nextAttemptAt: now + 10 };
  expect(await store.beginCalls([{ ...claim, owner: 'one' }], now)).toHaveLength(1);
  const due = async (at: number) => (await everyCallDue(store, at)).length;
  expect([await due(now + 99), await due(now + 100)]).toEqual([0, 1]);
  expect(await store.beginCalls([{ ...claim, owner: 'two' }], now + 99)).toEqual([]);
  expect(await store.beginCalls([{ ...claim, owner: 'two' }], now + 100)).toHaveLength(1);
});
