/** Three nodes on one database: what must be exact to the last send is. */
import { expect, test } from 'bun:test';

import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { AcceptResult } from '../../../src/store/journey.ts';
import type { Account } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { testServer } from '../../rig/postgres.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';

const DAY = '2026-01-15';

/** Runs `body` with three stores on one new database, and an account in it. */
async function withNodes(body: (nodes: Store[], account: Account) => Promise<void>): Promise<void> {
  const url = await (await testServer()).freshDatabase();
  const nodes = await Promise.all(
    [1, 2, 3].map(() => openPostgres({ url, passwordFile: '', now: Date.now() })),
  );
  try {
    const account = newAccount('default');
    await nodes[0]?.createAccount(account);
    await body(nodes, account);
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
  }
}

const countOf = (answers: readonly AcceptResult[], kind: AcceptResult['kind']): number =>
  answers.filter((answer) => answer.kind === kind).length;

test(
  'of 10,600 sends through three nodes a quota of 10,000 lets through 10,000',
  () =>
    withNodes(async (nodes, account) => {
      const usage = { count: 1, day: DAY, dailyLimit: null, monthlyLimit: 10_000 };
      const answers: AcceptResult[] = [];
      // Each node has hundreds on their way at once, until the end.
      const senders = nodes.flatMap((node) =>
        Array.from({ length: 200 }, async () => {
          while (answers.length < 10_000) {
            answers.push(
              await node.accept({ ...batchOf(account.id, newMessage(account.id)), usage }),
            );
          }
        }),
      );
      await Promise.all(senders);
      const [node] = nodes;
      const rest = 10_600 - answers.length;
      for (let at = 0; at < rest; at += 1) {
        const next = nodes[at % nodes.length] ?? node;
        if (next === undefined) throw new Error('no node');
        answers.push(await next.accept({ ...batchOf(account.id, newMessage(account.id)), usage }));
      }
      expect([countOf(answers, 'accepted'), countOf(answers, 'over_quota')]).toEqual([
        10_000,
        answers.length - 10_000,
      ]);
      expect(answers.length).toBeGreaterThanOrEqual(10_600);
      expect(await node?.usedInMonth(account.id, DAY.slice(0, 7))).toBe(10_000);
      expect((await node?.countsByStatus(account.id, 0))?.queued).toBe(10_000);
    }),
  120_000,
);

test('one idempotency key, fifty times through each of three nodes, makes one message', () =>
  withNodes(async (nodes, account) => {
    const idempotency = {
      key: 'order-7',
      route: 'POST /emails',
      bodyHash: 'h',
      status: 200,
      createdAt: Date.now(),
      expiresAt: Date.now() + 60_000,
    };
    const answers = await Promise.all(
      nodes.flatMap((node) =>
        Array.from({ length: 50 }, () => {
          const message = newMessage(account.id);
          const response = `{"id":"${message.message.id}"}`;
          const record = { ...idempotency, response };
          return node.accept({ ...batchOf(account.id, message), idempotency: record });
        }),
      ),
    );
    expect([countOf(answers, 'accepted'), countOf(answers, 'replay')]).toEqual([1, 149]);
    const responses = answers.flatMap((one) => (one.kind === 'replay' ? [one.response] : []));
    expect(new Set(responses).size).toBe(1);
    expect((await nodes[0]?.countsByStatus(account.id, 0))?.queued).toBe(1);
  }));
