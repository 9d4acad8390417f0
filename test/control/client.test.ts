/** The command's side of the control socket: a reader that fails lets the server stop its work. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createLog } from '../../src/base/log.ts';
import { askServer } from '../../src/control/client.ts';
import type { Sink } from '../../src/control/protocol.ts';
import { ControlServer } from '../../src/control/server.ts';
import { describeWith } from '../rig/programs.ts';

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

const sink = { progress: () => undefined, chunk: async () => undefined };

test('without a server there is nobody to ask, also where a dead one left its socket file', async () => {
  await server.stop();
  expect(await askServer(dataDir, { operation: 'endless', args: {} }, sink)).toBeNull();
  expect(await askServer(join(dataDir, 'none'), { operation: 'x', args: {} }, sink)).toBeNull();
  writeFileSync(join(dataDir, 'control.sock'), '');
  expect(await askServer(dataDir, { operation: 'x', args: {} }, sink)).toBeNull();
  // Too long for the address of a socket, and not there.
  const long = join(dataDir, 'x'.repeat(120));
  expect(await askServer(long, { operation: 'x', args: {} }, sink)).toBeNull();
});

test('a server in a directory with a long path is found', async () => {
  await server.stop();
  const long = join(dataDir, 'x'.repeat(120));
  mkdirSync(long);
  server = new ControlServer(
    long,
    (operation, args, { by }) => Promise.resolve([operation, args, by]),
    createLog(() => undefined, Date.now),
  );
  await server.start();
  const request = { operation: 'x', args: { a: 1 }, by: 'ann' };
  expect(await askServer(long, request, sink)).toEqual({ value: ['x', { a: 1 }, 'ann'] });
});

describeWith(['root'], 'another user of the machine', () => {
  test('is told that the server cannot be reached, not that there is none', async () => {
    const program = `
      const { askServer } = await import(${JSON.stringify(join(import.meta.dir, '../../src/control/client.ts'))});
      process.setgroups([]); process.setgid(65534); process.setuid(65534);
      const sink = { progress() {}, async chunk() {} };
      const told = await askServer(${JSON.stringify(dataDir)}, { operation: 'x', args: {} }, sink)
        .catch(({ message, hint }) => ({ message, hint }));
      console.log(JSON.stringify(told));`;
    const child = Bun.spawn([process.execPath, '-e', program], { cwd: '/', stdout: 'pipe' });
    const path = join(dataDir, 'control.sock');
    expect(JSON.parse(await new Response(child.stdout).text())).toEqual({
      message: expect.stringMatching(
        new RegExp(`^Cannot talk to the server over ${path}: .*EACCES.*\\.$`),
      ),
      hint: "Run the command as the server's user or as root, and look at the log of the server.",
    });
  });
});

/** What the command gets of a server that says `pieces`, each after the line of progress in the one before. */
async function askTold(pieces: Buffer[], taker: Pick<Sink, 'chunk'> = sink): Promise<unknown> {
  await server.stop();
  let other: Socket | undefined;
  const next = (): void => {
    const piece = pieces.shift();
    if (piece !== undefined) other?.write(piece);
  };
  const teller = createServer((socket) => {
    other = socket;
    socket.once('data', next);
  });
  await new Promise<void>((resolve) => teller.listen(join(dataDir, 'control.sock'), resolve));
  const told: string[] = [];
  const progress = (text: string): void => {
    told.push(text);
    next();
  };
  const request = { operation: 'x', args: {} };
  const answer = await askServer(dataDir, request, { ...taker, progress }).catch(
    (error: unknown) => error,
  );
  other?.destroy();
  teller.close();
  return told.length === 0 ? answer : [told, answer];
}

const lines = (...all: unknown[]): Buffer =>
  Buffer.from(all.map((one) => `${JSON.stringify(one)}\n`).join(''));

test('a refusal arrives with its hint and exit code, and a line that is none of ours is told', async () => {
  const refusal = { message: 'No.', hint: 'Do that.', exitCode: 78 };
  expect(await askTold([lines({ kind: 'error', ...refusal })])).toMatchObject(refusal);
  for (const strange of [Buffer.from('hello\n'), lines({ kind: 'news', text: 'x' })]) {
    const path = join(dataDir, 'control.sock');
    expect(await askTold([strange])).toMatchObject({
      message: `Cannot talk to the server over ${path}: its response cannot be read.`,
      hint: "Run the command as the server's user or as root, and look at the log of the server.",
    });
  }
});

test('a line is read whole that came in two pieces, cut inside of a letter', async () => {
  const all = lines(
    { kind: 'progress', text: 'begins' },
    { kind: 'progress', text: 'grün' },
    { kind: 'result', value: 'ß' },
  );
  const cut = all.indexOf(0xc3) + 1;
  const pieces = [all.subarray(0, cut), all.subarray(cut)];
  expect(await askTold(pieces)).toEqual([['begins', 'grün'], { value: 'ß' }]);
});

test('pieces are taken one after the other, and the result counts once the last was taken', async () => {
  const seen: string[] = [];
  const chunk = async (text: string): Promise<void> => {
    seen.push(`${text} begins`);
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    seen.push(`${text} ends`);
  };
  const said = lines(
    { kind: 'chunk', text: 'a' },
    { kind: 'chunk', text: 'b' },
    { kind: 'result', value: 7 },
  );
  expect(await askTold([said], { chunk })).toEqual({ value: 7 });
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
});

test('a server that has said its result may close before the last piece was taken', async () => {
  await server.stop();
  const closed = Promise.withResolvers<void>();
  const teller = createServer((socket) => {
    socket.on('close', () => closed.resolve());
    socket.resume();
    socket.end(lines({ kind: 'chunk', text: 'a' }, { kind: 'result', value: 7 }));
  });
  await new Promise<void>((resolve) => teller.listen(join(dataDir, 'control.sock'), resolve));
  const seen: string[] = [];
  const chunk = async (text: string): Promise<void> => {
    await closed.promise;
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    seen.push(text);
  };
  const asked = askServer(dataDir, { operation: 'x', args: {} }, { ...sink, chunk });
  expect(await asked.catch(String)).toEqual({ value: 7 });
  expect(seen).toEqual(['a']);
  teller.close();
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
