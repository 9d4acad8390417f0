/**
 * Exit codes that a script relies on: of a domain that is not verified yet, of a retry that finds nothing, and of `init`
 * with a key prefix. On the compiled binary.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { BinaryAppliance, runBinary } from '../rig/binary.ts';
import { startNames } from '../rig/names.ts';
import type { Names } from '../rig/names.ts';

let appliance: BinaryAppliance;
let names: Names;

beforeAll(async () => {
  names = await startNames();
  const { host, port } = names.listen;
  appliance = await BinaryAppliance.create({ config: `[dns]\nservers = ["${host}:${port}"]` });
});

afterAll(async () => {
  await appliance.stop();
  await names.stop();
});

test('init --key-prefix makes keys of that prefix, now and later', async () => {
  const folder = join(appliance.folder, 'prefixed');
  const config = join(folder, 'postrider.toml');
  const init = ['init', '--json', '--hostname', 'mail.example.com', '--config', config];
  const words = [...init, '--data-dir', join(folder, 'data'), '--key-prefix'];
  const wrong = await runBinary([...words, 'A']);
  expect([wrong.code, existsSync(config)]).toEqual([64, false]);
  expect(wrong.stderr).toContain('--key-prefix must be');
  const made = await runBinary([...words, 're']);
  expect(made.json()).toMatchObject({ key: expect.stringMatching(/^re_live_/) });
  const later = await runBinary(['key', 'create', '--name', 'later', '--json', '--config', config]);
  expect(later.json()).toMatchObject({ key: expect.stringMatching(/^re_live_/) });
});

test('a domain that is not verified yet is not 0', async () => {
  await appliance.json(['domain', 'add', 'pending.example.org']);
  const verify = await appliance.run(['domain', 'verify', 'pending.example.org', '--json']);
  expect([verify.code, verify.json()]).toMatchObject([1, { status: 'pending' }]);
});

test('a retry of what does not wait ends with 1, one of an empty queue with 0', async () => {
  const domain = ['--domain', 'nobody-waits.example', '--json'];
  const none = await appliance.run(['queue', 'retry', ...domain]);
  expect([none.code, none.json()]).toEqual([1, { retried: 0 }]);
  const all = await appliance.run(['queue', 'retry', '--json']);
  expect([all.code, all.json()]).toEqual([0, { retried: 0 }]);
});
