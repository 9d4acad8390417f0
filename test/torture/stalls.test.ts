/**
 * No stall: with 300,000 messages, suppressions and log rows stored, the server answers others while it does what grows
 * with its data (docs/reliability.md R95).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bestOf } from '../rig/best-of.ts';
import { BinaryAppliance } from '../rig/binary.ts';
import { fillDirectory } from '../rig/filled-directory.ts';
import { longestGap } from '../rig/ready-gap.ts';
import { LONGEST_MS } from './gap-beside.ts';

const ROWS = 300_000;
const PATIENCE_MS = 600_000;

let appliance: BinaryAppliance;

beforeAll(async () => {
  appliance = await BinaryAppliance.create({ config: '[dns]\nservers = ["127.0.0.1:1"]' });
  const { data_dir: dataDir, account_id: accountId } = appliance.made;
  fillDirectory({ dataDir, accountId, now: Date.now(), days: 20, rows: ROWS, queued: 1_000 });
  await appliance.start();
}, PATIENCE_MS);

afterAll(async () => {
  await appliance.stop();
});

/** Whoever asks meanwhile waits no longer than promised. */
async function isAwakeBeside(work: () => Promise<void>): Promise<void> {
  const best = await bestOf(LONGEST_MS, async () => (await longestGap(appliance, work))[0]);
  expect(best).toBeLessThanOrEqual(LONGEST_MS);
}

async function get(...paths: string[]): Promise<void> {
  for (const path of paths) {
    const headers = { authorization: `Bearer ${appliance.made.key}` };
    const response = await fetch(appliance.url + path, { headers });
    await response.arrayBuffer();
    expect(response.status, path).toBe(200);
  }
}

async function command(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await appliance.run(args);
  expect(code, stderr).toBe(0);
  return stdout;
}

test(
  'while suppressions are imported',
  async () => {
    const file = join(appliance.folder, 'import.csv');
    const lines = Array.from({ length: ROWS }, (_, i) => `r${i}@list${i % 997}.example.org,manual`);
    writeFileSync(file, `email,reason\n${lines.join('\n')}\n`);
    await isAwakeBeside(async () => {
      await command('suppression', 'import', file);
    });
  },
  PATIENCE_MS,
);

test(
  'while all of them are exported',
  async () => {
    await isAwakeBeside(async () => {
      const csv = await command('suppression', 'export');
      expect(csv.split('\r\n').length).toBeGreaterThan(ROWS);
    });
  },
  PATIENCE_MS,
);

test(
  'while lists, searches, sums and numbers are read',
  async () => {
    const searches = ['order', '42', 'no such words', 'z'].flatMap((q) =>
      ['emails', 'logs', 'suppressions'].map((list) => `/${list}?q=${encodeURIComponent(q)}`),
    );
    const lists = [
      '/emails?limit=100',
      '/logs?limit=100',
      '/suppressions?limit=100',
      '/email?page=900',
    ];
    await isAwakeBeside(() => get(...lists, '/usage', '/metrics', ...searches));
  },
  PATIENCE_MS,
);

test(
  'while a backup is taken',
  async () => {
    let number = 0;
    await isAwakeBeside(async () => {
      const file = join(appliance.folder, `backup${(number += 1)}.db`);
      await command('backup', file);
      expect(statSync(file).size).toBeGreaterThan(ROWS * 100);
    });
  },
  PATIENCE_MS,
);
