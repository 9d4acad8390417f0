/** The command's side of the control socket: a reader that fails lets the server stop its work. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createLog } from '../../src/base/log.ts';
import { askServer } from '../../src/control/client.ts';
import type { Sink } from '../../src/control/protocol.ts';
import { ControlServer } from '../../src/control/server.ts';

let dataDir: string;
let server: ControlServer;
let left: PromiseWithResolvers<void>;

/** Gives pieces until nobody wants them. */
async function endless(sink: Sink): Promise<null> {
  sink.left.addEventListener('abort', () => left.resolve());
  for (let count = 0; !sink.left.aborted && count < 3; count += 1) await sink.chunk(`${count}\n`);
  await left.promise;
  return null;
}

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'client-'));
  left = Promise.withResolvers();
  server = new ControlServer(
    dataDir,
    (_operation, _args, { sink }) => endless(sink),
    createLog(() => undefined, Date.now),
  );
  await server.start();
});
afterEach(async () => {
  left.resolve();
  await server.stop();
  rmSync(dataDir, { recursive: true });
});

test('a piece that cannot be taken ends the request with its error, and the server is told', async () => {
  const taken: string[] = [];
  const asked = askServer(
    dataDir,
    { operation: 'endless', args: {} },
    {
      progress: () => undefined,
      chunk: async (text) => {
        taken.push(text);
        if (taken.length === 2) throw new Error('the pipe is closed');
      },
    },
  );
  expect(String(await asked.catch((error: unknown) => error))).toBe('Error: the pipe is closed');
  await left.promise;
});

test('without a server there is nobody to ask', async () => {
  await server.stop();
  const sink = { progress: () => undefined, chunk: async () => undefined };
  expect(await askServer(dataDir, { operation: 'endless', args: {} }, sink)).toBeNull();
  expect(await askServer(join(dataDir, 'none'), { operation: 'x', args: {} }, sink)).toBeNull();
});

test('a server that stops cuts off what is under way, and leaves no socket', async () => {
  const begun = Promise.withResolvers<void>();
  const asked = askServer(
    dataDir,
    { operation: 'endless', args: {} },
    {
      progress: () => undefined,
      chunk: () => {
        begun.resolve();
        return Promise.resolve();
      },
    },
  ).catch((error: unknown) => String(error));
  await begun.promise;
  await server.stop();
  expect(await asked).toBe(
    `OperatorError: Cannot talk to the server over ${join(dataDir, 'control.sock')}: the server ended before its result.`,
  );
  expect(readdirSync(dataDir)).toEqual([]);
});
