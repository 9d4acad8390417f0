/** Two nodes on one database: what each verb promises holds across both. */
import { describe, expect, test } from 'bun:test';

import type { AcceptBatch, NewIdempotencyRecord, UsageClaim } from '../../../src/store/journey.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { Account } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { testServer } from '../../rig/postgres.ts';
import {
  accepted,
  batchOf,
  dueRequest,
  finishOf,
  newAccount,
  newDomain,
  newEndpoint,
  newEvent,
  newKey,
  newMessage,
  newSuppression,
} from '../samples.ts';

/** Runs `body` with two stores on one new database, and an account in it. */
async function withNodes(body: (nodes: [Store, Store], account: Account) => Promise<void>) {
  const url = await (await testServer()).freshDatabase();
  const open = () => openPostgres({ url, passwordFile: '', now: Date.now() });
  const nodes: [Store, Store] = await Promise.all([open(), open()]);
  try {
    const account = newAccount('default');
    await nodes[0].createAccount(account);
    await body(nodes, account);
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
  }
}

/** Asks one node, then the other, all at the same time. */
function onBoth<T>(
  nodes: readonly [Store, Store],
  count: number,
  ask: (node: Store, at: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(
    Array.from({ length: count }, (_, at) => ask(at % 2 === 0 ? nodes[0] : nodes[1], at)),
  );
}

const DAY = '2026-01-15';
const limited = (change: Partial<UsageClaim>): UsageClaim => ({
  count: 1,
  day: DAY,
  dailyLimit: null,
  monthlyLimit: null,
  ...change,
});

const record = (): NewIdempotencyRecord => ({
  key: 'order-7',
  route: 'POST /emails',
  bodyHash: 'h',
  status: 200,
  response: '{"id":"1"}',
  createdAt: Date.now(),
  expiresAt: Date.now() + 60_000,
});

const kindsOf = (answers: readonly { kind: string }[]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(answers, ({ kind }) => kind)).map(([kind, of = []]) => [
      kind,
      of.length,
    ]),
  );

describe('accept', () => {
  test('a daily quota is spent to the last send and no further', () =>
    withNodes(async (nodes, account) => {
      const batch = (): AcceptBatch => ({
        ...batchOf(account.id, newMessage(account.id)),
        usage: limited({ dailyLimit: 70 }),
      });
      const answers = await onBoth(nodes, 200, (node) => node.accept(batch()));
      expect(kindsOf(answers)).toEqual({ accepted: 70, over_quota: 130 });
      expect(await nodes[0].usedOnDay(account.id, DAY)).toBe(70);
      expect((await nodes[1].countsByStatus(account.id, 0)).queued).toBe(70);
    }));

  test('bytes of content never pass the limit', () =>
    withNodes(async (nodes, account) => {
      const one = newMessage(account.id);
      await accepted(nodes[0], one);
      const each = await nodes[0].storedBytes(account.id);
      const answers = await onBoth(nodes, 60, (node) =>
        node.accept({ ...batchOf(account.id, newMessage(account.id)), storageBytes: each * 21 }),
      );
      expect(kindsOf(answers)).toEqual({ accepted: 20, over_quota: 40 });
      expect(await nodes[1].storedBytes(account.id)).toBe(each * 21);
    }));

  test('one idempotency key makes one message, and every repetition is answered with it', () =>
    withNodes(async (nodes, account) => {
      const answers = await onBoth(nodes, 100, (node) =>
        node.accept({ ...batchOf(account.id, newMessage(account.id)), idempotency: record() }),
      );
      expect(kindsOf(answers)).toEqual({ accepted: 1, replay: 99 });
      expect((await nodes[0].countsByStatus(account.id, 0)).queued).toBe(1);
    }));

  test('accounts with limits and keys in any order never wait in a circle', () =>
    withNodes(async (nodes) => {
      const accounts = Array.from({ length: 8 }, (_, at) => newAccount(`a${at}`));
      for (const account of accounts) await nodes[0].createAccount(account);
      const answers = await onBoth(nodes, 400, (node, at) => {
        const account = accounts[(at * 5) % 8] ?? newAccount('');
        const idempotency = { ...record(), key: `k${(at * 7) % 50}` };
        const usage = limited({ dailyLimit: 1_000, monthlyLimit: 1_000 });
        return node.accept({ ...batchOf(account.id, newMessage(account.id)), idempotency, usage });
      });
      const counted = await Promise.all(accounts.map(({ id }) => nodes[1].usedOnDay(id, DAY)));
      const kinds = kindsOf(answers);
      expect((kinds['accepted'] ?? 0) + (kinds['replay'] ?? 0)).toBe(400);
      expect(counted.reduce((sum, count) => sum + count)).toBe(kinds['accepted'] ?? 0);
    }));
});

describe('the queue', () => {
  test('every due recipient is taken by one node, begun once, ended once', () =>
    withNodes(async (nodes, account) => {
      const messages = Array.from({ length: 150 }, () => newMessage(account.id));
      await Promise.all(messages.map((message) => accepted(nodes[0], message)));
      const now = Date.now();
      const begun = await onBoth(nodes, 6, async (node, at) => {
        const owner = at % 2 === 0 ? 'a' : 'b';
        const mine: { id: string; owner: string }[] = [];
        for (;;) {
          const { ours, left } = await node.takeDue(
            dueRequest(owner, now, { limit: 60, most: 20 }),
          );
          if (ours.length === 0 && left.length === 0) return mine;
          const lease = { owner, leaseUntil: now + 60_000, nextAttemptAt: now + 15_000 };
          const rows = await node.begin(
            ours.map(({ id }) => ({ recipientId: id, ...lease })),
            now,
          );
          mine.push(...rows.map(({ id }) => ({ id, owner })));
        }
      });
      const ids = begun.flat().map(({ id }) => id);
      expect(ids.toSorted()).toEqual(
        messages.map(({ recipients }) => recipients[0]?.id ?? '').toSorted(),
      );
      const ends = begun.flat().flatMap(({ id, owner }) => {
        const message = messages.find(({ recipients }) => recipients[0]?.id === id);
        const recipient = message?.recipients[0];
        if (message === undefined || recipient === undefined) return [];
        // The end comes from both nodes: one of them has no right to it.
        return [
          finishOf(message, recipient, { owner }),
          finishOf(message, recipient, { owner: 'x' }),
        ];
      });
      const finished = await onBoth(nodes, ends.length, (node, at) => {
        const end = ends[at];
        if (end === undefined) throw new Error('no end');
        return node.finish(end);
      });
      // Whoever has no right to it is overtaken, or comes after the end.
      expect(
        finished.filter(({ calls, isOvertaken }) => !isOvertaken && calls.length === 0),
      ).toHaveLength(finished.filter(({ isOvertaken }) => !isOvertaken).length);
      expect((await nodes[0].countsByStatus(account.id, 0)).delivered).toBe(ids.length);
      const hour = {
        accountId: account.id,
        from: now - 3_600_000,
        until: now + 3_600_000,
        bucket: 'hour',
      } as const;
      const [bucket] = await nodes[1].outcomes(hour);
      expect(bucket?.delivered).toBe(ids.length);
    }));

  test('what is free is begun by one of those who try at the same moment', () =>
    withNodes(async (nodes, account) => {
      const to = Array.from({ length: 50 }, (_, at) => `r${at}@example.org`);
      const { recipients } = await accepted(nodes[0], newMessage(account.id, {}, to));
      const now = Date.now();
      const begun = await onBoth(nodes, 8, (node, at) => {
        const lease = { leaseUntil: now + 60_000, nextAttemptAt: now + 15_000, owner: `n${at}` };
        const claims = recipients.map(({ id }) => ({ recipientId: id, ...lease }));
        return node.begin(at % 4 < 2 ? claims : claims.toReversed(), now);
      });
      expect(
        begun
          .flat()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(recipients.map(({ id }) => id).toSorted());
    }));

  test('both nodes end recipients of the same messages: what the message shows follows from all', () =>
    withNodes(async (nodes, account) => {
      const to = Array.from({ length: 10 }, (_, at) => `r${at}@example.org`);
      const messages = Array.from({ length: 10 }, () => newMessage(account.id, {}, to));
      await Promise.all(messages.map((message) => accepted(nodes[0], message)));
      const ends = messages.flatMap((message) =>
        message.recipients.map((recipient) => finishOf(message, recipient)),
      );
      await onBoth(nodes, ends.length, (node, at) => {
        const end = ends[(at * 37) % ends.length];
        if (end === undefined) throw new Error('no end');
        return node.finish(end);
      });
      expect((await nodes[0].countsByStatus(account.id, 0)).delivered).toBe(10);
      for (const { message } of messages) {
        expect((await nodes[1].message(account.id, message.id))?.status).toBe('delivered');
        expect(await nodes[1].attempts(message.id)).toHaveLength(10);
      }
    }));

  test('the same end asked twice, as after a lost answer, is written once', () =>
    withNodes(async (nodes, account) => {
      const message = await accepted(nodes[0], newMessage(account.id));
      const [recipient] = message.recipients;
      if (recipient === undefined) throw new Error('no recipient');
      const end = finishOf(message, recipient);
      await onBoth(nodes, 6, (node) => node.finish(end));
      expect(await nodes[0].attempts(message.message.id)).toHaveLength(1);
      expect(await nodes[0].events(message.message.id)).toHaveLength(2);
      expect((await nodes[0].countsByStatus(account.id, 0)).delivered).toBe(1);
    }));
});

describe('webhooks', () => {
  test('an endpoint that one node has made is called for the next event of the other', () =>
    withNodes(async (nodes, account) => {
      for (let at = 0; at < 10; at += 1) {
        const message = await accepted(nodes[1], newMessage(account.id));
        const [recipient] = message.recipients;
        if (recipient === undefined) throw new Error('no recipient');
        const endpoint = newEndpoint(account.id);
        await nodes[0].createEndpoint(endpoint, 100);
        const { calls } = await nodes[1].finish(finishOf(message, recipient));
        expect(calls).toHaveLength(at + 1);
      }
    }));

  test('every call is begun by one node, and failures in a row are counted exactly', () =>
    withNodes(async (nodes, account) => {
      const endpoint = newEndpoint(account.id);
      await nodes[0].createEndpoint(endpoint, 10);
      const sent = newMessage(account.id);
      for (let at = 0; at < 60; at += 1)
        sent.events.push(newEvent(sent.message, null, 'email.sent'));
      const result = await nodes[0].accept(batchOf(account.id, sent));
      if (result.kind !== 'accepted') throw new Error(result.kind);
      const now = Date.now();
      const lease = { leaseUntil: now + 60_000, nextAttemptAt: now + 60_000 };
      const begun = await onBoth(nodes, 6, (node, at) =>
        node.beginCalls(
          result.calls.map(({ id }) => ({ id, owner: `n${at}`, ...lease })),
          now,
        ),
      );
      const calls = begun.flat();
      expect(calls.map(({ id }) => id).toSorted()).toEqual(
        result.calls.map(({ id }) => id).toSorted(),
      );
      const ended = await onBoth(nodes, calls.length, (node, at) => {
        const call = calls[at];
        if (call === undefined) throw new Error('no call');
        const { id: callId, endpointId, eventType, messageId } = call;
        const attempt = {
          id: call.eventId,
          callId,
          endpointId,
          eventType,
          messageId,
          attempt: 1,
          statusCode: 500,
          ok: false,
          error: null,
          durationMs: 1,
          createdAt: now,
        };
        const failed = {
          call,
          attempt,
          status: 'open',
          nextAttemptAt: now,
          response: null,
        } as const;
        return node.finishCall({ ...failed, disableAfter: 60 });
      });
      expect(ended.every(({ isOvertaken }) => !isOvertaken)).toBe(true);
      expect(await nodes[0].endpointById(endpoint.id)).toMatchObject({
        failureCount: 60,
        status: 'disabled',
      });
      expect(ended.filter(({ endpointStatus }) => endpointStatus === 'disabled')).toHaveLength(1);
    }));
});

describe('limits on what an account may have', () => {
  test('keys, domains and endpoints are made up to the limit, whichever node is asked', () =>
    withNodes(async (nodes, account) => {
      const keys = await onBoth(nodes, 20, (node, at) =>
        node.createKey(newKey(account.id), Buffer.from(`hash ${at}`), 7),
      );
      const domains = await onBoth(nodes, 20, (node, at) =>
        node.createDomain(newDomain(account.id, `d${at % 15}.example`), 7),
      );
      const endpoints = await onBoth(nodes, 20, (node) =>
        node.createEndpoint(newEndpoint(account.id), 7),
      );
      for (const answers of [keys, domains, endpoints]) {
        expect(answers.filter((answer) => answer === 'created')).toHaveLength(7);
      }
    }));

  test('an address is suppressed once, by the strongest reason', () =>
    withNodes(async (nodes, account) => {
      await onBoth(nodes, 30, (node, at) => {
        const reason = at % 3 === 0 ? 'hard_bounce' : 'manual';
        return node.addSuppression(
          newSuppression(account.id, `x${at % 5}@example.org`, { reason }),
        );
      });
      const page = { limit: 100, after: null, before: null };
      const { rows } = await nodes[0].suppressions(account.id, null, page);
      expect(rows.map(({ reason }) => reason)).toEqual(Array(5).fill('hard_bounce'));
    }));

  test('an account goes while the other node accepts for it: nothing of it stays', () =>
    withNodes(async (nodes, account) => {
      let isGone = false;
      const accepting = (async () => {
        let refused = 0;
        while (refused < 3) {
          const answer = await nodes[1]
            .accept(batchOf(account.id, newMessage(account.id)))
            .catch(() => null);
          if (answer === null) refused += 1;
          if (isGone) expect(answer).toBeNull();
        }
      })();
      await nodes[0].closeAccount(account.id, 'gone');
      await nodes[0].removeAccount(account.id, [], () => undefined);
      isGone = true;
      await accepting;
      expect(await nodes[0].account(account.id)).toBeNull();
      expect((await nodes[0].queueCounts(null, 9)).largest.length).toBe(0);
    }));
});

test('of rare changes that nobody waits for the last one counts', () =>
  withNodes(async ([node]) => {
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 20 }, (_, at) => node.setSetting('s', String(at))));
      expect(await node.setting('s')).toBe('19');
    }
  }));
