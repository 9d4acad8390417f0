/**
 * Pages of the dashboard with 100,000 messages, as many suppressions and requests: each within 300 ms, a search aside, and what a browser
 * loads before the first of them is shown within 100 KB.
 *
 * The best of a few tries counts: a busy machine only adds to a time.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { BinaryAppliance } from '../rig/binary.ts';
import {
  pagesOf,
  signedIn,
  type DashboardSession,
  type NamedPage,
} from '../rig/dashboard-pages.ts';
import { fillDirectory } from '../rig/filled-directory.ts';
import { tookMs } from '../rig/best-of.ts';

const MESSAGES = 100_000;
const MOST_MS = 300;
/** A search shares its thread with the index, which is made anew here: on a quiet machine it takes a tenth of this. */
const SEARCH_MS = 1_500;
const MOST_BYTES = 100_000;
/** A new directory is indexed for search while the first pages are read, and the machine may be busy. */
const TRIES = 20;

let appliance: BinaryAppliance;
let session: DashboardSession;
let pages: NamedPage[];

beforeAll(async () => {
  appliance = await BinaryAppliance.create({ config: '[delivery]\nmode = "capture"' });
  const { account_id: accountId, data_dir: dataDir, admin_password: password } = appliance.made;
  fillDirectory({ dataDir, accountId, now: Date.now(), days: 30, rows: MESSAGES, queued: 500 });
  await appliance.start();
  session = await signedIn(appliance.url, password);
  pages = (await pagesOf(session)).filter(({ path }) => path.startsWith('/dashboard'));
  const account = `/dashboard/accounts/${accountId}`;
  for (const query of [
    'q=order+99',
    'to=user77123',
    'status=bounced',
    'until=2020-01-01',
    'tag=none',
    'q=zzzz',
  ]) {
    pages.push({ name: `emails?${query}`, path: `${account}/emails?${query}` });
  }
}, 300_000);
afterAll(() => appliance.stop());

test('each page is there within 300 ms', async () => {
  const slow: string[] = [];
  for (const { name, path } of pages) {
    const most = name.includes('?') ? SEARCH_MS : MOST_MS;
    let ms = Infinity;
    for (let count = 0; count < TRIES && ms > most; count += 1) {
      ms = Math.min(ms, await tookMs(() => session.read(path)));
    }
    if (ms > most) slow.push(`${name}: ${Math.round(ms)} ms`);
  }
  expect(slow).toEqual([]);
}, 300_000);

test('no page is larger than 100 KB with everything that it loads', async () => {
  const overview = await session.read('/dashboard');
  const files = Array.from(
    overview.matchAll(/(?:src|href)="(\/dashboard\/[a-z]+\.[^"]+)"/g),
    ([, path]) => path ?? '',
  );
  expect(files.length).toBeGreaterThan(2);
  const sizes = await Promise.all(
    files.map(async (path) => {
      const headers = { 'accept-encoding': 'gzip' };
      const answer = await fetch(appliance.url + path, { headers, decompress: false });
      return (await answer.arrayBuffer()).byteLength;
    }),
  );
  const loaded = sizes.reduce((sum, size) => sum + size, 0);
  const large: string[] = [];
  for (const { name, path } of pages) {
    const bytes = Buffer.byteLength(await session.read(path)) + loaded;
    if (bytes > MOST_BYTES) large.push(`${name}: ${bytes} bytes`);
  }
  expect(large).toEqual([]);
}, 120_000);
