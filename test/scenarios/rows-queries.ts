/**
 * Query parameters that client libraries send: each is honoured or refused by its name, never dropped.
 */
import { expect } from 'bun:test';
import type { Sent } from '../api/bench.ts';
import type { Row } from './row.ts';
import { email, expectError, issuePaths, type Target } from './target.ts';

/** Every list that client libraries page through, with what it takes beside `limit`, `after` and `before`. */
const LISTS: readonly { path: string; max: number; words?: Record<string, string> }[] = [
  { path: '/emails', max: 100, words: { status: 'delivered' } },
  { path: '/emails/:id/attachments', max: 100 },
  { path: '/domains', max: 100 },
  { path: '/api-keys', max: 100 },
  { path: '/webhooks', max: 100 },
  { path: '/logs', max: 100, words: { status: '404', method: 'GET' } },
  { path: '/suppressions', max: 500, words: { origin: 'bounce' } },
];

const ask = (t: Target, path: string): Promise<Sent> => t.ask({ path, key: t.full });

/** Two rows or more in each list; the path of each, its email filled in. */
async function filled(t: Target): Promise<string[]> {
  const file = (filename: string) => ({ filename, content: 'YQ==' });
  const attachments = ['a.txt', 'b.txt', 'c.txt'].map(file);
  const sent = await t.ask({
    path: '/emails/batch',
    key: t.full,
    body: [email(t, { attachments }), email(t), email(t)],
  });
  for (const at of [1, 2, 3]) {
    const word = `q${at}-${Date.now()}`;
    await t.ask({ path: '/domains', key: t.full, body: { name: `${word}.example.com` } });
    await t.ask({ path: '/suppressions', key: t.full, body: { email: `${word}@example.com` } });
    const { json } = await ask(t, '/webhooks');
    if (json.data.length >= 3) continue;
    const body = { endpoint: `https://${word}.example.com/`, events: ['email.complained'] };
    await t.ask({ path: '/webhooks', key: t.full, body });
  }
  return LISTS.map(({ path }) => path.replace(':id', sent.json.data[0].id));
}

export const QUERIES: readonly Row[] = [
  {
    clause: 'C17.10',
    says: 'limit, after and before are refused by name where they are malformed, on every list',
    async run(t) {
      for (const [at, path] of (await filled(t)).entries()) {
        const { max = 0, words = {} } = LISTS[at] ?? {};
        const id = '01890000-0000-7000-8000-000000000000';
        for (const [query, name] of [
          ['limit=0', 'limit'],
          [`limit=${max + 1}`, 'limit'],
          ['limit=ten', 'limit'],
          ['after=nobody', 'after'],
          ['before=nobody', 'before'],
          [`after=${id}&before=${id}`, 'before'],
          ...Object.keys(words).map((word) => [`${word}=nonsense`, word] as const),
        ] as const) {
          const sent = await ask(t, `${path}?${query}`);
          expect([path, query, sent.status]).toEqual([path, query, 422]);
          expectError(sent, 422, 'validation_failed', 'validation_error');
          expect(issuePaths(sent)).toEqual([name]);
        }
        for (const [word, value] of Object.entries(words)) {
          expect((await ask(t, `${path}?${word}=${value}`)).status).toBe(200);
        }
      }
    },
  },
  {
    clause: 'C17.10',
    says: 'a list that is returned whole can be paged through by the ids of its rows',
    async run(t) {
      const idsOf = ({ json }: Sent): string[] => json.data.map(({ id }: { id: string }) => id);
      for (const path of await filled(t)) {
        // The log grows with each question, and the list of emails has pages of its own.
        if (path === '/logs' || path === '/emails' || path === '/suppressions') continue;
        const whole = await ask(t, path);
        expect([path, whole.json.has_more]).toEqual([path, false]);
        const all = idsOf(whole);
        expect(all.length).toBeGreaterThanOrEqual(3);
        const forth: string[] = [];
        for (let hasMore = true; hasMore;) {
          const last = forth.at(-1);
          const page = await ask(t, `${path}?limit=2${last === undefined ? '' : `&after=${last}`}`);
          forth.push(...idsOf(page));
          hasMore = page.json.has_more;
        }
        expect([path, forth]).toEqual([path, all]);
        const back = await ask(t, `${path}?limit=2&before=${all.at(-1)}`);
        expect([path, idsOf(back)]).toEqual([path, all.slice(-3, -1)]);
        expect(back.json.has_more).toBe(all.length > 3);
      }
    },
  },
  {
    clause: 'C14.7',
    says: 'GET /suppressions filters by origin, and after takes the id of a row too',
    async run(t) {
      const word = `origin-${Date.now()}`;
      for (const [at, reason] of ['complaint', 'manual', 'hard_bounce', 'complaint'].entries()) {
        const body = { email: `${word}-${at}@example.com`, reason };
        expect((await t.ask({ path: '/suppressions', key: t.full, body })).status).toBe(201);
      }
      const list = async (query: string): Promise<Sent['json']> => {
        const sent = await ask(t, `/suppressions?q=${word}&${query}`);
        return sent.json.data.map((row: { email: string }) =>
          row.email.slice(word.length + 1, -12),
        );
      };
      expect(await list('limit=9')).toEqual(['3', '2', '1', '0']);
      expect(await list('origin=complaint')).toEqual(['3', '0']);
      expect(await list('origin=bounce')).toEqual(['2']);
      expect(await list('origin=manual')).toEqual(['1']);
      expect(await list('origin=unsubscribe')).toEqual([]);
      const { json } = await ask(t, '/suppressions?limit=2');
      const [, second] = json.data;
      const byId = await ask(t, `/suppressions?limit=2&after=${second.id}`);
      const byAddress = await ask(t, `/suppressions?limit=2&after=${second.email}`);
      expect(byId.json).toEqual(byAddress.json);
      expect(byId.json.data.map((row: { email: string }) => row.email)).toEqual([
        `${word}-1@example.com`,
        `${word}-0@example.com`,
      ]);
    },
  },
  {
    clause: 'C9.12',
    says: 'a page of the older list may be any number; one far behind the last is empty',
    async run(t) {
      for (const page of [10_001, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
        const sent = await ask(t, `/email?page=${page}&limit=100`);
        expect(sent.json).toEqual({ emails: [], page, limit: 100 });
      }
      for (const page of ['0', '-1', '1.5', '9007199254740992', '1'.repeat(300)]) {
        expect(issuePaths(await ask(t, `/email?page=${page}`))).toEqual(['page']);
      }
    },
  },
];
