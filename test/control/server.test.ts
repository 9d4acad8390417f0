/** The server's side of the control socket: what a request may be at most, what is logged of each, and what is ignored. */
import { afterEach, expect, jest, spyOn, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { Socket, createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ApiError, OperatorError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { ControlServer, PRODUCTION } from '../../src/control/server.ts';
import type { Operate } from '../../src/control/server.ts';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const end of ended.splice(0).toReversed()) await end();
});

async function start(
  operate: Operate,
  limits = PRODUCTION,
): Promise<{ path: string; log: unknown[] }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'socket-'));
  ended.push(() => rmSync(dataDir, { recursive: true }));
  const log: unknown[] = [];
  const write = (line: string): void => void log.push(JSON.parse(line));
  const server = new ControlServer(
    dataDir,
    operate,
    createLog(write, () => 0),
    limits,
  );
  await server.start();
  ended.push(() => server.stop());
  return { path: join(dataDir, 'control.sock'), log };
}

/** What came back by the time the other side ended the connection. */
function say(path: string, ...pieces: string[]): Promise<unknown[]> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () =>
      resolve(
        said
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as unknown),
      ),
    );
    for (const piece of pieces) socket.write(piece);
  });
}

const UNREADABLE = {
  kind: 'error',
  message: 'The server cannot read the request on its control socket.',
  hint: 'Use the postrider command of the same version as the server.',
  exitCode: 1,
};
const known: Operate = (operation, args, { by }) =>
  Promise.resolve({ operation, length: JSON.stringify(args).length, by });

/** The answer to one request. */
async function answerTo(request: unknown): Promise<unknown> {
  const { path } = await start(known);
  const [line] = await say(path, `${JSON.stringify(request)}\n`);
  return line;
}

test('a name has at most 100 characters, and so has who asks; nobody is nobody', async () => {
  const long = 'x'.repeat(100);
  const value = { operation: long, length: 2 };
  expect(await answerTo({ operation: long, args: {}, by: long })).toEqual({
    kind: 'result',
    value: { ...value, by: long },
  });
  expect(await answerTo({ operation: long, args: {} })).toEqual({
    kind: 'result',
    value: { ...value, by: '' },
  });
  expect(await answerTo({ operation: `${long}x`, args: {} })).toEqual(UNREADABLE);
  expect(await answerTo({ operation: 'x', args: {}, by: `${long}x` })).toEqual(UNREADABLE);
  expect(await answerTo({ operation: 'x', args: {}, by: 7 })).toEqual(UNREADABLE);
  expect(await answerTo({ operation: 'x', args: [] })).toEqual(UNREADABLE);
});

test.each([
  ['texts', 996, 'result'],
  ['texts', 997, 'error'],
])('%s beside the four of a request: %d give a %s', async (_, count, kind) => {
  const list = Array.from({ length: count }, () => 'a "text"');
  expect(await answerTo({ operation: 'x', args: { a: list } })).toMatchObject({ kind });
});

test.each([
  [10_000, 'result'],
  [10_001, 'error'],
])('%d characters beside the texts give a %s', async (characters, kind) => {
  const { path } = await start(known);
  const before = '{"operation":"x","args":{"a":';
  const after = ',"b":"c"}}';
  const outside = `${before}${after}`.replaceAll(/"\w*"/g, '').length;
  const line = `${before}${'1'.repeat(characters - outside)}${after}`;
  expect(await say(path, `${line}\n`)).toMatchObject([{ kind }]);
});

test.each([
  ['a line of as many bytes as it may have', 10_000, {}, 'result'],
  ['one byte more', 10_001, {}, null],
  ['as many bytes as all may have together', 9_000, { pendingBytes: 9_000 }, 'result'],
  ['more than they may have', 9_001, { pendingBytes: 9_000 }, null],
  ['less than the first block, which all share', 4_000, { pendingBytes: 4_095 }, 'result'],
])('%s: %d in one piece or in many', async (_, bytes, change, kind) => {
  const { path } = await start(known, { ...PRODUCTION, requestBytes: 10_000, ...change });
  const around = '{"operation":"x","args":{"a":""}}\n'.length;
  const line = `{"operation":"x","args":{"a":"${'x'.repeat(bytes - around)}"}}\n`;
  const wanted = kind === null ? [] : [{ kind }];
  expect(await say(path, line)).toMatchObject(wanted);
  expect(await say(path, ...(line.match(/.{1,999}\n?/gs) ?? []))).toMatchObject(wanted);
  // What was taken is given back, also by one that was cut off.
  expect(await say(path, '{"operation":"x","args":{}}\n')).toMatchObject([{ kind: 'result' }]);
});

test('what is given back is given back once, so that all together never get more', async () => {
  const { path } = await start(known, { ...PRODUCTION, pendingBytes: 9_000 });
  for (let served = 0; served < 3; served += 1) {
    expect(await say(path, '{"operation":"x","args":{}}\n')).toMatchObject([{ kind: 'result' }]);
  }
  expect(await say(path, `{"operation":"x","args":{"a":"${'x'.repeat(9_000)}"}}\n`)).toEqual([]);
});

test('a running server takes emails with their attachments, of few at once', () => {
  expect(PRODUCTION).toEqual({
    requestBytes: 33_554_432,
    pendingBytes: 67_108_864,
    connections: 64,
    silenceMs: 30_000,
  });
});

test('half a minute of silence ends a connection without a whole request, and no operation under way', async () => {
  const silences: [ms: number, tell: () => void][] = [];
  spyOn(Socket.prototype, 'setTimeout').mockImplementation(function (this: Socket, ms, tell) {
    silences.push([ms, () => tell?.()]);
    return this;
  });
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<string>();
  const { path } = await start(() => {
    begun.resolve();
    return over.promise;
  });
  const underWay = say(path, '{"operation":"x","args":{}}\n');
  await begun.promise;
  const half = say(path, '{"operation":');
  while (silences.length < 2) await new Promise((resolve) => setImmediate(resolve));
  expect(silences.map(([ms]) => ms)).toEqual([30_000, 30_000]);
  for (const [, tell] of silences) tell();
  expect(await half).toEqual([]);
  over.resolve('done');
  expect(await underWay).toEqual([{ kind: 'result', value: 'done' }]);
});

test('one connection has one request, whatever follows it, and in whatever pieces it comes', async () => {
  const { path, log } = await start((operation) => Promise.resolve(operation));
  const rest = '{"operation":"second","args":{}}\n{"operation":"third","args":{}}\n';
  expect(await say(path, '{"operation":', '"fir', 'st","args":{}}\n', rest)).toEqual([
    { kind: 'result', value: 'first' },
  ]);
  expect(await say(path, `{"operation":"grüße","args":{}}\n${rest}`)).toEqual([
    { kind: 'result', value: 'grüße' },
  ]);
  expect(log).toMatchObject([{ operation: 'first' }, { operation: 'grüße' }]);
});

test('what a client sends while its operation is under way is ignored', async () => {
  const operations: string[] = [];
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<null>();
  const { path } = await start((operation) => {
    operations.push(operation);
    begun.resolve();
    return over.promise;
  });
  const socket = createConnection(path);
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write('{"operation":"first","args":{}}\n');
  await begun.promise;
  socket.write('{"operation":"second","args":{}}\n');
  // The server has it once a later client was answered.
  expect(await say(path, '{}\n')).toEqual([UNREADABLE]);
  over.resolve(null);
  await closed;
  expect([operations, said]).toEqual([['first'], '{"kind":"result","value":null}\n']);
});

test('the socket file of a dead process is replaced, goes with the server, and one that cannot be made is an error', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'socket-'));
  ended.push(() => rmSync(dataDir, { recursive: true }));
  const path = join(dataDir, 'control.sock');
  const serverIn = (folder: string): ControlServer =>
    new ControlServer(
      folder,
      known,
      createLog(() => undefined, Date.now),
    );
  writeFileSync(path, '');
  const server = serverIn(dataDir);
  await server.start();
  expect(await say(path, '{"operation":"x","args":{}}\n')).toMatchObject([{ kind: 'result' }]);
  await server.stop();
  expect(readdirSync(dataDir)).toEqual([]);
  const failure = await serverIn(join(dataDir, 'none')).start().catch(String);
  expect(failure).toContain('control.sock');
});

test('what is done is logged by its name, a refusal by its reason, a fault whole; the answers differ too', async () => {
  const ends: Record<string, () => Promise<unknown>> = {
    done: () => Promise.resolve(undefined),
    refused: () => Promise.reject(new OperatorError('No.', 'Do that.', 78)),
    conflict: () => Promise.reject(new ApiError('conflict', 'There is one already.')),
    fault: () => Promise.reject(new TypeError('x is undefined')),
  };
  const { path, log } = await start(async (operation, _, { sink }) => {
    sink.progress(`${operation} begins`);
    await sink.chunk('piece');
    return ends[operation]?.();
  });
  const said = async (operation: string): Promise<unknown[]> =>
    (await say(path, `{"operation":"${operation}","args":{}}\n`)).slice(2);
  const before = await say(path, '{"operation":"done","args":{}}\n');
  expect(before).toEqual([
    { kind: 'progress', text: 'done begins' },
    { kind: 'chunk', text: 'piece' },
    { kind: 'result', value: null },
  ]);
  expect(await said('refused')).toEqual([
    { kind: 'error', message: 'No.', hint: 'Do that.', exitCode: 78 },
  ]);
  expect(await said('conflict')).toEqual([
    { kind: 'error', message: 'There is one already.', hint: '', exitCode: 1 },
  ]);
  expect(await said('fault')).toEqual([
    {
      kind: 'error',
      message: 'x is undefined',
      hint: 'See the log of the server for details.',
      exitCode: 1,
    },
  ]);
  const line = (level: string, event: string, fields: object) => ({
    time: '1970-01-01T00:00:00.000Z',
    level,
    event,
    ...fields,
  });
  expect(log).toEqual([
    line('info', 'control', { operation: 'done' }),
    line('info', 'control_refused', { reason: 'No.' }),
    line('info', 'control_refused', { reason: 'There is one already.' }),
    line('error', 'control_failed', {
      error: { name: 'TypeError', message: 'x is undefined', stack: expect.any(String) as string },
      hint: 'This is a fault of the appliance. Please report it with this line.',
    }),
  ]);
});

test('an operation learns that its reader has left, and its next piece says so', async () => {
  const left = Promise.withResolvers<unknown>();
  const { path, log } = await start(async (_operation, _args, { sink }) => {
    await new Promise<void>((resolve) => {
      sink.left.addEventListener('abort', () => resolve());
    });
    await sink.chunk('too late').catch(left.resolve);
    throw new OperatorError('The end.', '');
  });
  const socket = createConnection(path);
  socket.on('error', () => undefined);
  socket.write('{"operation":"x","args":{}}\n', () => socket.destroy());
  expect(String(await left.promise)).toBe('OperatorError: The command ended before its result.');
  while (log.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(log).toMatchObject([{ event: 'control_refused', reason: 'The end.' }]);
});

test('a server that stops tells the operations under way that nobody waits for them any more', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'socket-'));
  ended.push(() => rmSync(dataDir, { recursive: true }));
  const begun = Promise.withResolvers<AbortSignal>();
  const over = Promise.withResolvers<null>();
  const server = new ControlServer(
    dataDir,
    (_operation, _args, { sink }) => {
      begun.resolve(sink.left);
      return over.promise;
    },
    createLog(() => undefined, Date.now),
  );
  await server.start();
  const said = say(join(dataDir, 'control.sock'), '{"operation":"tail","args":{}}\n');
  const left = await begun.promise;
  expect(left.aborted).toBe(false);
  const isTold = new Promise<void>((resolve) => {
    left.addEventListener('abort', () => resolve());
  });
  await server.stop();
  await isTold;
  expect(await said).toEqual([]);
  over.resolve(null);
});
