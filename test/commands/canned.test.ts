/**
 * Every command beside a server: the request that it makes, and each fact of the result for people and as JSON, as they
 * stand in shown.txt.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { machineUser } from '../../src/commands/machine-user.ts';
import { CannedServer, TRANSCRIPT_FILE, reply } from './canned.ts';
import { CASES } from './canned-cases.ts';

const BLOCKS = readFileSync(TRANSCRIPT_FILE, 'utf8')
  .split(/^(?=\$ )/m)
  .map((block) => `${block.trimEnd()}\n`);

let server: CannedServer;
beforeAll(async () => {
  server = await CannedServer.start();
});
afterAll(() => server.stop());

test('shown.txt has one block a case', () => {
  const lines = BLOCKS.map((block) => block.split('\n')[0]);
  expect(lines).toEqual(CASES.map(({ line }) => `$ postrider ${line}`));
});

test.each(CASES.map((one, at) => [one.line, one, BLOCKS[at]] as const))(
  '%s',
  async (_line, one, block) => {
    // When this fails and the change is meant: bun test/commands/canned-cases.ts, and read the difference.
    expect(await server.block(one)).toBe(block ?? '');
  },
);

test('a request says who runs the command', async () => {
  const { asked } = await server.run(
    ['resume'],
    [reply('resume', { halted: false, was_halted: true })],
  );
  expect(asked).toEqual([{ operation: 'resume', args: {}, by: machineUser() }]);
});

test('a result of another version is refused where it differs, and nothing is shown of it', async () => {
  const odd = reply('resume', { halted: false, was_halted: 'perhaps' } as never);
  const { code, out, err } = await server.run(['resume'], [odd]);
  expect([code, out]).toEqual([1, '']);
  expect(err).toBe(
    "Cannot read the server's result at /was_halted.\nThe server and this command may be of different versions: restart the server, or use its version of the command.\n",
  );
});

test('a fault of the server is told with where to look', async () => {
  const { code, out, err } = await server.run(['resume'], []);
  expect([code, out, err]).toEqual([
    1,
    '',
    'resume was not expected\nSee the log of the server for details.\n',
  ]);
});

test('a domain that nothing waits for is told without what would steer the terminal', async () => {
  const none = {
    halt: null,
    throttles: [],
    destinations: [],
    destinationCount: 0,
    recipients: [],
  };
  const { out } = await server.run(
    ['queue', 'list', '--domain', 'a\u001b[2J.example'],
    [reply('queue.list', none)],
  );
  expect(out).toBe('Nothing waits for a [2J.example.\n');
});

test('a backup goes where the operator is, whatever directory the server runs in', async () => {
  const done = { file: '/b/file', bytes: 1, rows: {} };
  const { asked } = await server.run(['backup', 'of-today/shop.db'], [reply('backup', done)]);
  expect(asked).toMatchObject([
    { operation: 'backup', args: { file: join(process.cwd(), 'of-today/shop.db') } },
  ]);
});
