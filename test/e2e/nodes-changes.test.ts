/** Two compiled binaries on one database: what is done on one is in force on the other when the command has returned. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { SQL } from 'bun';

import type { BinaryAppliance } from '../rig/binary.ts';
import { happened, listen } from '../rig/journey.ts';
import { testServer } from '../rig/postgres.ts';
import { startWorld } from '../rig/world.ts';
import type { PublishedRecord, World } from '../rig/world.ts';

/** `TRIES=1000` for as many of each. */
const TRIES = Number(process.env['TRIES'] ?? 8);
const SENDERS = 6;
const TIMEOUT_MS = 30_000 + TRIES * 3_000;

let world: World;
let a: BinaryAppliance;
let b: BinaryAppliance;
let sql: SQL;
/** Key of the account that sends. */
let main: string;

beforeAll(async () => {
  const server = await testServer();
  const store = await server.freshDatabase();
  sql = server.admin(new URL(store).pathname.slice(1));
  const config = '[[plans]]\nid = "fast"\nrate_per_second = 100_000\nwrites_per_minute = 100_000';
  world = await startWorld({ store, config });
  a = world.appliance;
  b = await world.join('b');
  await a.json(['account', 'create', 'main', '--plan', 'fast']);
  const made = ['key', 'create', '--account', 'main', '--name', 'k', '--permission', 'full_access'];
  main = String((await a.json(made))['token']);
  await verify();
}, 60_000);

afterAll(async () => {
  await sql.close();
  await world.stop();
});

const by = (key: string) => ({ authorization: `Bearer ${key}` });

/** Adds the domain that all is sent from, half of it on each node. */
async function verify(): Promise<void> {
  const added = await a.api('POST', '/domains', { name: 'shop.test' }, by(main));
  const { id, records } = (await added.json()) as { id: string; records: PublishedRecord[] };
  for (const { type, name, value } of records) world.names.set(name, type, [value]);
  const checked = await b.api('POST', `/domains/${id}/verify`, undefined, by(main));
  expect(await checked.json()).toMatchObject({ status: 'verified' });
}

/** Sends through a node; `accepted`, or the code of the refusal. */
async function send(node: BinaryAppliance, key = main): Promise<string> {
  const email = {
    from: 'hello@shop.test',
    to: 'delivered@sandbox.test',
    subject: 'Now',
    text: 'x',
  };
  const answer = await node.api('POST', '/emails', email, by(key));
  const { code = 'accepted' } = (await answer.json()) as { code?: string };
  return code;
}

async function messages(): Promise<number> {
  const [row] = (await sql.unsafe('SELECT count(*)::int4 AS count FROM messages')) as {
    count: number;
  }[];
  return row?.count ?? 0;
}

/** Sends through `b` while `off` runs on `a`. Returns the answers; fails where one was accepted after it. */
async function stopped(key: string, off: () => Promise<unknown>): Promise<string[]> {
  const over = new AbortController();
  const codes = new Set<string>();
  const first = Promise.withResolvers<undefined>();
  const senders = Array.from({ length: SENDERS }, async () => {
    while (!over.signal.aborted) {
      codes.add(await send(b, key));
      first.resolve(undefined);
    }
  });
  await first.promise;
  await off();
  const atReturn = await messages();
  for (let at = 0; at < SENDERS; at += 1) codes.add(await send(b, key));
  over.abort();
  await Promise.all(senders);
  expect(await messages()).toBe(atReturn);
  return [...codes].toSorted();
}

test(
  'a halt, until it ends',
  async () => {
    for (let round = 0; round < TRIES; round += 1) {
      const codes = await stopped(main, () => a.json(['halt', '--reason', 'Moving.']));
      expect(codes).toEqual(['accepted', 'platform_halted']);
      await a.json(['resume']);
      expect(await send(b)).toBe('accepted');
    }
  },
  TIMEOUT_MS,
);

test(
  'the pause of an account, until it ends',
  async () => {
    for (let round = 0; round < TRIES; round += 1) {
      const codes = await stopped(main, () => a.json(['account', 'pause', 'main']));
      expect(codes).toEqual(['accepted', 'account_paused']);
      await a.json(['account', 'resume', 'main']);
      expect(await send(b)).toBe('accepted');
    }
  },
  TIMEOUT_MS,
);

test(
  'the revocation of a key',
  async () => {
    for (let round = 0; round < TRIES; round += 1) {
      const made = await a.api('POST', '/api-keys', { name: 'r', scope: 'full' }, by(main));
      const { id, token } = (await made.json()) as { id: string; token: string };
      const codes = await stopped(token, () =>
        a.api('DELETE', `/api-keys/${id}`, undefined, by(main)),
      );
      expect(codes).toEqual(['accepted', 'unauthorized']);
      expect((await b.api('GET', '/emails', undefined, by(token))).status).toBe(401);
    }
  },
  TIMEOUT_MS,
);

test('the first endpoint, made on one node, is called for an event of the other', async () => {
  await listen(world);
  const email = {
    from: 'hello@example.org',
    to: 'bob@example.net',
    subject: 'Told',
    text: 'x',
  };
  const { id } = (await (await b.api('POST', '/emails', email)).json()) as { id: string };
  await happened(world, id, 'email.delivered');
}, 30_000);
