/**
 * A command that is refused ends alike beside a running server and without one, on the compiled binary: the same words,
 * the same exit code, and never a stack.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { BinaryAppliance } from '../rig/binary.ts';

let appliance: BinaryAppliance;
/** What each command said without a server. */
const alone = new Map<string, unknown>();

beforeAll(async () => {
  appliance = await BinaryAppliance.create();
});

afterAll(() => appliance.stop());

const REFUSED: [args: string[], stdin: string][] = [
  [['account', 'create', 'default'], ''],
  [['account', 'create', 'x'.repeat(61)], ''],
  [['account', 'create', 'planned', '--plan', 'none'], ''],
  [['account', 'pause', 'nobody'], ''],
  [['key', 'create', '--account', 'default', '--name', 'x'.repeat(61)], ''],
  [['key', 'revoke', 'nothing'], ''],
  [['domain', 'add', 'co.uk', '--account', 'default'], ''],
  [['domain', 'verify', 'nowhere.example'], ''],
  [['queue', 'show', 'nothing'], ''],
  [['queue', 'fail', 'nothing'], ''],
  [['queue', 'retry', 'nothing'], ''],
  [['suppression', 'add', 'nobody', '--account', 'default'], ''],
  [['suppression', 'remove', 'nobody@example.net', '--account', 'default'], ''],
  [['suppression', 'import', '-', '--account', 'default'], 'email\n"a@example.net'],
  [['suppression', 'import', '-', '--account', 'default'], 'email\nnobody\n'],
  [['suppression', 'list', '--account', 'nobody'], ''],
  [['webhook', 'replay', 'x', '--event', 'y', '--account', 'default'], ''],
  [['webhook', 'replay', 'x', '--since', 'then', '--account', 'default'], ''],
  [['backup', '/nowhere/backup'], ''],
];

test.each(REFUSED)('without a server: %j %j', async (args, stdin) => {
  const { code, stdout, stderr } = await appliance.run(args, stdin);
  expect(code).toBe(1);
  expect(stderr).toMatch(/[a-z]/);
  expect(stderr).not.toContain('    at ');
  alone.set(JSON.stringify([args, stdin]), { code, stdout, stderr });
});

describe('beside a running server', () => {
  beforeAll(() => appliance.start());

  test.each(REFUSED)('%j %j', async (args, stdin) => {
    const { code, stdout, stderr } = await appliance.run(args, stdin);
    const before = alone.get(JSON.stringify([args, stdin]));
    expect(before).toBeDefined();
    expect({ code, stdout, stderr } as unknown).toEqual(before);
  });
});
