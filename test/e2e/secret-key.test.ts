/** The secret key on the compiled binary: what an operator reads when it is lost, and how it comes back. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { BinaryAppliance } from '../rig/binary.ts';

let appliance: BinaryAppliance;
let keyFile: string;

beforeAll(async () => {
  appliance = await BinaryAppliance.create();
  keyFile = join(appliance.made.data_dir, 'secret.key');
  expect((await appliance.run(['domain', 'add', 'shop.example'])).code).toBe(0);
});
afterAll(() => appliance.stop());

test('serve and every command refuse without the key, with 78; a backup brings it back', async () => {
  const file = join(appliance.folder, 'one.backup');
  expect((await appliance.run(['backup', file])).code).toBe(0);
  const key = readFileSync(keyFile);
  rmSync(keyFile);
  for (const args of [['serve'], ['account', 'list'], ['backup', `${file}.2`], ['rekey']]) {
    const { code, stdout, stderr } = await appliance.run(args);
    expect([args, code, stdout]).toEqual([args, 78, '']);
    expect(stderr).toContain('secret.key is missing');
    expect(stderr).toContain('postrider restore --key-only');
  }
  const doctor = await appliance.run(['doctor', '--json']);
  const { findings } = doctor.json() as { findings: { check: string; level: string }[] };
  expect(findings.find(({ check }) => check === 'secret_key')).toMatchObject({ level: 'error' });
  const restored = await appliance.run(['restore', '--key-only', file]);
  expect([restored.code, restored.stderr]).toEqual([0, '']);
  expect(readFileSync(keyFile)).toEqual(key);
  expect((await appliance.run(['account', 'list'])).code).toBe(0);
});

test('a foreign backup does not bring a key that opens nothing', async () => {
  const other = await BinaryAppliance.create();
  const file = join(appliance.folder, 'other.backup');
  expect((await other.run(['backup', file])).code).toBe(0);
  const key = readFileSync(keyFile);
  writeFileSync(keyFile, Buffer.alloc(32, 7));
  const refused = await appliance.run(['restore', '--key-only', file]);
  expect(refused.code).toBe(78);
  expect(refused.stderr).toContain('is not the key of the database');
  expect(readFileSync(keyFile)).toEqual(Buffer.alloc(32, 7));
  writeFileSync(keyFile, key);
  await other.stop();
});

test('rekey waits for no server, and the data open afterwards', async () => {
  await appliance.start();
  const beside = await appliance.run(['rekey']);
  expect(beside.code).toBe(1);
  expect(beside.stderr).toContain('Stop the running server first');
  expect(await appliance.signal('SIGTERM')).toBe(0);
  const before = readFileSync(keyFile);
  const done = await appliance.run(['rekey', '--json']);
  expect(done.json()).toEqual({ sealed: 1, unreadable: [], ended_links: false });
  expect(readFileSync(keyFile).equals(before)).toBe(false);
  await appliance.start();
  expect((await appliance.run(['domain', 'list'])).stdout).toContain('shop.example');
});
