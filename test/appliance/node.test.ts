/** The session that a server begins on a shared store: what it says of itself, and the id of its data directory. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

import { beginSession, nodeName } from '../../src/appliance/node.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { idTime, isId } from '../../src/base/ids.ts';
import { VERSION } from '../../src/base/version.ts';
import { NodeSession } from '../../src/flow/node-session.ts';
import type { NodeSessionOptions } from '../../src/flow/node-session.ts';
import { TestClock } from '../rig/clock.ts';

let dataDir: string;
let file: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'node-'));
  file = join(dataDir, 'node.id');
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(dataDir, { recursive: true });
});

const clock = new TestClock();
const log = createLog(
  () => undefined,
  () => 0,
);
const options: NodeSessionOptions = { nodes: {} as never, clock, log, ended: () => undefined };

/** The session that is begun with this in the config. */
async function begun(more = '') {
  const begin = spyOn(NodeSession, 'begin').mockResolvedValue('the session' as never);
  const text = `hostname = "mail.rig.test"\ndata_dir = "${dataDir}"\n${more}`;
  const result: unknown = await beginSession(parseConfig(text, 'rig').startup, options);
  expect(result).toBe('the session');
  const [session, given] = begin.mock.calls.at(-1) ?? [];
  expect(given).toBe(options);
  if (session === undefined) throw new Error('none was begun');
  return session;
}

test('it has a name, the addresses that it sends from, its version, and ids of now', async () => {
  const config =
    '[delivery]\nsource_addresses = ["192.0.2.1", "2001:db8::1"]\n[node]\nname = "first"\n';
  const { id, directory, ...rest } = await begun(config);
  expect(rest).toEqual({
    name: 'first',
    addresses: ['192.0.2.1', '2001:db8::1'],
    version: VERSION.version,
  });
  expect([isId(id), idTime(id), isId(directory), idTime(directory)]).toEqual([
    true,
    clock.now(),
    true,
    clock.now(),
  ]);
  expect(id).not.toBe(directory);
  expect([readFileSync(file, 'latin1'), statSync(file).mode & 0o777]).toEqual([
    `${directory}\n`,
    0o600,
  ]);
});

test('a directory keeps its id, each start has one of its own', async () => {
  const [first, second] = [await begun(), await begun()];
  expect(second.directory).toBe(first.directory);
  expect(second.id).not.toBe(first.id);
  writeFileSync(file, ' known \n');
  expect((await begun()).directory).toBe('known');
});

test('an empty file is as none; one that cannot be read is a fault', async () => {
  writeFileSync(file, '\n');
  expect(isId((await begun()).directory)).toBe(true);
  rmSync(file);
  mkdirSync(file);
  expect(await begun().catch(String)).toContain('EISDIR');
});

test('without a name in the config it is called as the machine is', () => {
  expect(nodeName({ node: { name: '' } })).toBe(hostname());
  expect(nodeName({ node: { name: 'first' } })).toBe('first');
});
