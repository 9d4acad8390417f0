/**
 * Thousands of accounts, and an account with thousands of domains and revoked keys: whoever lists them, or looks for one
 * by name, stops nobody (docs/reliability.md R135). Nor does a look at the webhook calls that are due, however many
 * endpoints have some that wait (R136).
 */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';

import { bestOf } from '../rig/best-of.ts';
import { BinaryAppliance } from '../rig/binary.ts';
import { signedIn } from '../rig/dashboard-pages.ts';
import type { DashboardSession } from '../rig/dashboard-pages.ts';
import { longestGap } from '../rig/ready-gap.ts';
import { LONGEST_MS } from './gap-beside.ts';

const ACCOUNTS = 10_000;
const DOMAINS = 20_000;
const KEYS = 20_000;
const ENDPOINTS = 60_000;
const PATIENCE_MS = 300_000;
/** A page, with its frame. */
const PAGE_CHARACTERS = 200_000;

type Row = Record<string, string | number | bigint | Uint8Array | null>;

let appliance: BinaryAppliance;
let session: DashboardSession;

beforeAll(async () => {
  appliance = await BinaryAppliance.create({
    config: '[dns]\nservers = ["127.0.0.1:1"]\n[delivery]\nmode = "capture"',
  });
  await appliance.json(['domain', 'add', 'first.example']);
  fill(join(appliance.made.data_dir, 'mail.db'), appliance.made.account_id);
  await appliance.start();
  session = await signedIn(appliance.url, appliance.made.admin_password);
}, PATIENCE_MS);

afterAll(() => appliance.stop());

/** Copies the account, its domain and its key that `init` has made. */
function fill(file: string, accountId: string): void {
  const db = new Database(file, { readwrite: true, create: false });
  let made = 0;
  const nextId = (): string =>
    `0191ffff-0000-7000-8000-${(made += 1).toString(16).padStart(12, '0')}`;
  const copier = (table: string): ((changes: Row) => void) => {
    const first = db.query<Row, []>(`SELECT * FROM ${table} LIMIT 1`).get() ?? {};
    const names = Object.keys(first);
    const insert = db.prepare(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    );
    return (changes) => {
      const row: Row = { ...first, ...changes };
      insert.run(...names.map((name) => row[name] ?? null));
    };
  };
  const endpoint = db.prepare(
    'INSERT INTO endpoints (id, account_id, url, events, status, sealed_secret, failure_count, created_at)' +
      " VALUES (?, ?, 'https://hooks.example.com/', '[]', 'active', zeroblob(90), 0, 1)",
  );
  const call = db.prepare(
    'INSERT INTO calls (id, endpoint_id, account_id, event_id, event_type, message_id, status, attempts,' +
      " next_attempt_at, created_at) VALUES (?, ?, ?, ?, 'email.sent', ?, 'open', 3, ?, 1)",
  );
  const [account, domain, key] = [copier('accounts'), copier('domains'), copier('api_keys')];
  db.transaction(() => {
    for (let at = 0; at < ACCOUNTS; at += 1) account({ id: nextId(), name: `tenant${at}` });
    for (let at = 0; at < DOMAINS; at += 1) {
      domain({ id: nextId(), account_id: accountId, name: `d${at}.example`, next_check_at: null });
    }
    for (let at = 0; at < KEYS; at += 1) {
      const hash = new Bun.CryptoHasher('sha256').update(String(at)).digest();
      key({ id: nextId(), account_id: accountId, hash, revoked_at: 1 });
    }
    const laterAt = Date.now() + PATIENCE_MS;
    for (let at = 0; at < ENDPOINTS; at += 1) {
      const [id, ofId] = [nextId(), nextId()];
      endpoint.run(id, ofId);
      call.run(nextId(), id, ofId, nextId(), nextId(), laterAt);
    }
  })();
  db.close();
}

/** Whoever asks meanwhile waits no longer than promised. */
async function isAwakeBeside(work: () => Promise<void>): Promise<void> {
  const best = await bestOf(LONGEST_MS, async () => (await longestGap(appliance, work))[0]);
  expect(best).toBeLessThanOrEqual(LONGEST_MS);
}

test.each([
  ['/domains', DOMAINS + 1],
  ['/api-keys', KEYS + 1],
])(
  'while all of GET %s is read',
  async (path, count) => {
    await isAwakeBeside(async () => {
      const answer = await appliance.api('GET', path);
      const { data } = (await answer.json()) as { data: object[] };
      expect([answer.status, data.length]).toEqual([200, count]);
    });
  },
  PATIENCE_MS,
);

test.each([
  ['account list', 'tenant9999'],
  ['domain list', 'd19999.example'],
  ['key list', ''],
  ['domain verify d19998.example --account default', 'd19998.example'],
])(
  'while `%s` runs',
  async (words, shown) => {
    await isAwakeBeside(async () => {
      const { stdout, stderr } = await appliance.run(words.split(' '));
      expect(stdout + stderr).toContain(shown);
    });
  },
  PATIENCE_MS,
);

test(
  'while the dashboard shows them',
  async () => {
    const of = `/dashboard/accounts/${appliance.made.account_id}`;
    const pages = ['', '/accounts', '/operators', '/audit', '/test-email', '/queue', '/settings'];
    const own = ['emails', 'domains', 'keys', 'logs', 'usage', 'webhooks', 'suppressions'];
    const paths = [
      ...pages.map((page) => `/dashboard${page}`),
      ...own.map((page) => `${of}/${page}`),
    ];
    await isAwakeBeside(async () => {
      for (const path of paths) {
        const text = await session.read(path);
        expect([path, text.includes('</html>')]).toEqual([path, true]);
        expect([path, text.length < PAGE_CHARACTERS]).toEqual([path, true]);
      }
    });
  },
  PATIENCE_MS,
);

test(
  'while webhook calls are looked for, of sixty thousand endpoints',
  async () => {
    const made = await appliance.api('POST', '/webhooks', {
      endpoint: 'https://hooks.example.com/mine',
      events: ['email.sent'],
    });
    const { id } = (await made.json()) as { id: string };
    await isAwakeBeside(async () => {
      // Each change of an endpoint is followed by a look.
      for (const event of ['email.bounced', 'email.delivered', 'email.failed']) {
        const changed = await appliance.api('PATCH', `/webhooks/${id}`, { events: [event] });
        expect(changed.status).toBe(200);
      }
    });
  },
  PATIENCE_MS,
);
