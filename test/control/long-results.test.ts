/** A result of many rows crosses the control socket in pieces, and comes out as it was. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createLog } from '../../src/base/log.ts';
import { askServer } from '../../src/control/client.ts';
import { socketPath } from '../../src/control/protocol.ts';
import { ControlServer } from '../../src/control/server.ts';

const SINK = { progress: () => undefined, chunk: async () => undefined };
const TEXT = 'é\n"'.repeat(400);

const dataDir = mkdtempSync(join(tmpdir(), 'long-results-'));
const lines: string[] = [];
const log = createLog(
  (line) => lines.push(line),
  () => 0,
);
let rows: unknown[] = [];
const server = new ControlServer(dataDir, async () => rows, log);

beforeAll(() => server.start());
afterAll(async () => {
  await server.stop();
  rmSync(dataDir, { recursive: true });
});

test.each([0, 1, 499, 500, 501, 999, 1_000, 1_001, 12_345])('%d rows', async (count) => {
  rows = Array.from({ length: count }, (_, at) => ({ at, text: TEXT, none: null }));
  const answer = await askServer(dataDir, { operation: 'x', args: {} }, SINK);
  expect(Bun.deepEquals(answer, { value: rows })).toBe(true);
});

test('whoever leaves in the middle is no fault', async () => {
  rows = Array.from({ length: 20_000 }, () => TEXT);
  lines.length = 0;
  const socket = createConnection(socketPath(dataDir));
  socket.write(`${JSON.stringify({ operation: 'x', args: {} })}\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  while (lines.length < 2) await new Promise((resolve) => setImmediate(resolve));
  expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
    'control',
    'control_refused',
  ]);
});
