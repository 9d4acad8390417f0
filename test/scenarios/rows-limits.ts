/**
 * Clauses of the contract about limits, tried on an account whose plan has small ones. They run in this order: what one
 * uses is used up for the next.
 */
import { expect } from 'bun:test';
import type { Row } from './row.ts';
import type { Sent } from '../api/bench.ts';
import { email, expectError, type Target } from './target.ts';

const small = (t: Target, over: Record<string, unknown> = {}): object =>
  email({ domain: t.starterDomain }, { to: `nobody-${Math.random()}@example.com`, ...over });

/** Sends when the limit per second allows it. */
async function sendSlowly(t: Target, body: object) {
  for (;;) {
    const sent = await t.ask({ path: '/emails', key: t.starter, body });
    if (sent.status !== 429 || sent.json.code !== 'rate_limited') return sent;
    await Bun.sleep(Number(sent.headers.get('retry-after')) * 1_000);
  }
}

export const LIMITS: readonly Row[] = [
  {
    clause: 'C17.2',
    says: 'sends by the second as the plan says, else 429 with Retry-After; a batch counts once',
    async run(t) {
      let limited: Sent[] = [];
      // A machine that stands still for a second lets more of them through.
      for (let time = 0; time < 3 && limited.length < 4; time += 1) {
        const tries = Array.from({ length: 8 }, () =>
          t.ask({ path: '/emails/batch', key: t.starter, body: [{}, {}, {}] }),
        );
        limited = (await Promise.all(tries)).filter(({ status }) => status === 429);
      }
      expect(limited.length).toBeGreaterThanOrEqual(4);
      for (const one of limited) {
        expectError(one, 429, 'rate_limited', 'rate_limit_exceeded');
        for (const name of [
          'retry-after',
          'ratelimit-limit',
          'ratelimit-remaining',
          'ratelimit-reset',
        ]) {
          expect(one.headers.get(name)).toMatch(/^\d+$/);
        }
      }
      expect(limited[0]?.headers.get('ratelimit-limit')).toBe('2');
    },
  },
  {
    clause: 'C7.8',
    says: 'the cap on attachments is a field of the plan',
    async run(t) {
      const attachments = [{ filename: 'a.bin', content: Buffer.alloc(1_001).toString('base64') }];
      for (;;) {
        const sent = await t.ask({
          path: '/emails/batch',
          key: t.starter,
          body: [small(t, { attachments })],
        });
        if (sent.json.code === 'rate_limited') {
          await Bun.sleep(1_000);
          continue;
        }
        expectError(sent, 422, 'content_rejected', 'invalid_attachment');
        return;
      }
    },
  },
  {
    clause: 'C17.2',
    says: 'sends by the day as the plan says, else 429 quota_exceeded',
    async run(t) {
      for (let count = 0; count < 3; count += 1) {
        expect((await sendSlowly(t, small(t))).status).toBe(200);
      }
      const over = await sendSlowly(t, small(t));
      expectError(over, 429, 'quota_exceeded', 'daily_quota_exceeded');
      expect(over.headers.get('retry-after')).toMatch(/^\d+$/);
      // Simulated recipients never count.
      const sandbox = await sendSlowly(t, small(t, { to: 'delivered@sandbox.test' }));
      expect(sandbox.status).toBe(200);
    },
  },
  {
    clause: 'C16.3',
    says: 'usedThisMonth counts live recipients; percent is of includedEmails',
    async run(t) {
      const { json } = await t.ask({ path: '/usage', key: t.starter });
      expect(json.usage).toMatchObject({
        usedThisMonth: 3,
        includedEmails: 5,
        overage: 0,
        percent: 60,
      });
      expect(json.plan).toMatchObject({
        id: 'starter',
        maxDomains: 2,
        dailyLimit: 3,
        ratePerSecond: 2,
      });
    },
  },
  {
    clause: 'C10.12',
    says: 'more domains than the plan has: 403 forbidden',
    async run(t) {
      const add = (name: string) => t.ask({ path: '/domains', key: t.starter, body: { name } });
      expect((await add('second.example.com')).status).toBe(201);
      expectError(await add('third.example.com'), 403, 'forbidden', 'invalid_access');
    },
  },
  {
    clause: 'C17.1',
    says: "reads by the minute for each key; another key's limit is untouched",
    async run(t) {
      const made = await t.ask({
        path: '/api-keys',
        key: t.starter,
        body: { name: 'r', scope: 'full' },
      });
      const key = String(made.json.token);
      const read = await Promise.all(
        Array.from({ length: 8 }, () => t.ask({ path: '/domains', key })),
      );
      expect(read.filter(({ status }) => status === 200)).toHaveLength(5);
      const limited = read.filter(({ status }) => status === 429);
      expect(limited).toHaveLength(3);
      for (const one of limited) {
        expectError(one, 429, 'rate_limited', 'rate_limit_exceeded');
        const retry = Number(one.headers.get('retry-after'));
        expect(retry).toBeGreaterThan(30);
        expect(retry).toBeLessThanOrEqual(60);
      }
      const writes = await t.ask({ path: '/suppressions', key, body: { email: 'w@example.com' } });
      expect(writes.status).toBe(201);
      const other = await t.ask({ path: '/domains', key: t.starter });
      expect(other.status).toBe(200);
    },
  },
];
