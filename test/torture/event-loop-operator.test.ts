/**
 * No request on the control socket holds the event loop, and no form of the dashboard (docs/reliability.md R84): both at
 * their longest. The inputs are the same each time.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { startWorld, type World } from '../rig/world.ts';
import { gapBeside, LONGEST_MS } from './gap-beside.ts';

const SEED = 0;

let world: World;
let cookie = '';

beforeAll(async () => {
  world = await startWorld();
  const signedIn = await fetch(`${world.appliance.url}/dashboard/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ password: world.appliance.made.admin_password }),
  });
  cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect(cookie).not.toBe('');
}, 60_000);
afterAll(() => world.stop());

const LINES: [name: string, line: () => string][] = [
  ['30 MB of lists', () => `{"operation":"x","args":{"a":[${'[],'.repeat(10_000_000)}[]]}}`],
  ['30 MB of keys', () => `{"operation":"x","args":{${keys(2_000_000)}}}`],
  ['30 MB of nesting', () => '['.repeat(30_000_000)],
  ['30 MB of nothing', () => ' '.repeat(30_000_000)],
  [
    '30 MB of escaped quotation marks',
    () => `{"operation":"x","args":{"a":"${'\\"'.repeat(14_900_000)}"}}`,
  ],
  [
    'an import of 30 MB of commas',
    () =>
      `{"operation":"suppression.import","args":{"account":"default","csv":"${','.repeat(30_000_000)}"}}`,
  ],
];

function keys(count: number): string {
  return Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',');
}

test.each(LINES)(
  'control socket: %s',
  async (_, make) => {
    const line = Buffer.from(`${make()}\n`);
    const gap = await gapBeside(world.appliance, SEED, async () => {
      const socket = createConnection(join(world.appliance.made.data_dir, 'control.sock'));
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.on('close', resolve));
      socket.resume();
      socket.write(line);
      await closed;
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  300_000,
);

const MULTIPART = 'multipart/form-data; boundary=b';
const IMPORT = '/dashboard/accounts/default/suppressions/import';

/** Of the longest form with a file. */
const FILE_BYTES = 10 * 1024 * 1024 - 1_000;
const part = (name: string, body: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${body}\r\n`;
const file = (body: string): string =>
  `--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n${body}\r\n--b--\r\n`;

const FORMS: [name: string, path: string, type: string, body: () => string][] = [
  ['150,000 fields', IMPORT, MULTIPART, () => `${part('a', '').repeat(150_000)}--b--\r\n`],
  ['a file of commas', IMPORT, MULTIPART, () => file(','.repeat(FILE_BYTES))],
  ['a file of line ends', IMPORT, MULTIPART, () => file('\n'.repeat(FILE_BYTES))],
  ['a file of one line', IMPORT, MULTIPART, () => file('a'.repeat(FILE_BYTES))],
  ['a file of quotation marks', IMPORT, MULTIPART, () => file('""'.repeat(FILE_BYTES / 2))],
  [
    'a file of addresses that are none',
    IMPORT,
    MULTIPART,
    () => file('"a@\n'.repeat(FILE_BYTES / 4)),
  ],
  [
    '64 KB of fields',
    '/dashboard/accounts',
    'application/x-www-form-urlencoded',
    () => 'a&'.repeat(32_000),
  ],
  [
    '64 KB of escapes',
    '/dashboard/accounts',
    'application/x-www-form-urlencoded',
    () => `name=${'%41'.repeat(21_000)}`,
  ],
];

test.each(FORMS)(
  'dashboard: %s',
  async (_, path, type, make) => {
    const body = Buffer.from(make());
    const post = (): Promise<Response> =>
      fetch(world.appliance.url + path, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'sec-fetch-site': 'same-origin', 'content-type': type, cookie },
        body,
      });
    const gap = await gapBeside(world.appliance, SEED, async () => {
      // An import goes on behind its page; the next one is refused for so long.
      let response = await post();
      for (; response.status === 409; response = await post()) await Bun.sleep(50);
      await response.text();
      expect(response.status).toBeLessThan(500);
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  300_000,
);
