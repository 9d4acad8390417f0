/**
 * The control socket against whatever may be sent to it: garbage by a printed seed, endless lines, crowds, clients
 * that never read, and other users.
 */
import { afterEach, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createLog } from '../../src/base/log.ts';
import { askServer } from '../../src/control/client.ts';
import { ControlServer } from '../../src/control/server.ts';
import type { ControlLimits, Operate } from '../../src/control/server.ts';
import { seeded, type Random } from '../mail/random.ts';
import { describeWith } from '../rig/programs.ts';

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 1_000_000);
const MIB = 1024 * 1024;
const LIMITS: ControlLimits = {
  requestBytes: MIB,
  pendingBytes: 2 * MIB,
  connections: 10,
  silenceMs: 10_000,
};

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

interface Fixture {
  dataDir: string;
  path: string;
  log: string[];
  isHonestServed(): Promise<boolean>;
}

async function start(change: Partial<ControlLimits> = {}, operate?: Operate): Promise<Fixture> {
  const dataDir = mkdtempSync(join(tmpdir(), 'control-'));
  ended.push(() => rmSync(dataDir, { recursive: true }));
  const log: string[] = [];
  const honest: Operate = async (operation, args, sink) =>
    operation === 'echo' || operate === undefined ? args : operate(operation, args, sink);
  const server = new ControlServer(
    dataDir,
    honest,
    createLog((line) => log.push(line), Date.now),
    { ...LIMITS, ...change },
  );
  await server.start();
  ended.push(() => server.stop());
  return {
    dataDir,
    path: join(dataDir, 'control.sock'),
    log,
    async isHonestServed() {
      const sink = { progress: () => undefined, chunk: async () => undefined };
      const answer = await askServer(dataDir, { operation: 'echo', args: { said: 'hello' } }, sink);
      return JSON.stringify(answer?.value) === '{"said":"hello"}';
    },
  };
}

/** What came back by the time the other side ended the connection. */
function say(path: string, bytes: Buffer, isEnded = true): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(said));
    socket.write(bytes);
    if (isEnded) socket.end();
  });
}

const WHOLE = '{"operation":"echo","args":{"a":[1,"x",null,{"b":true}]}}';

/** Bytes at random, or a request that was cut, spoilt or repeated. */
function garbage(random: Random): Buffer {
  const below = (limit: number): number => random.int(limit);
  const kind = below(4);
  if (kind === 0) return Buffer.from(Array.from({ length: below(3_000) }, () => below(256)));
  if (kind === 1) return Buffer.from(WHOLE.slice(0, below(WHOLE.length)) + '\n'.repeat(below(3)));
  const bytes = Buffer.from(WHOLE.repeat(1 + below(3)));
  for (let n = below(6); n >= 0; n -= 1) bytes[below(bytes.length)] = below(256);
  return Buffer.concat([bytes, Buffer.from(kind === 2 ? '\n' : '\r\n\n{}\n')]);
}

test(`300 pieces of garbage (POSTRIDER_SEED=${SEED}): each gets a response or is cut off, and no other client notices`, async () => {
  const fixture = await start();
  const random = seeded(SEED);
  for (let round = 0; round < 300; round += 1) {
    const said = await say(fixture.path, garbage(random));
    for (const line of said.split('\n').filter(Boolean)) {
      expect((JSON.parse(line) as { kind: string }).kind).toMatch(/^(error|result)$/);
    }
  }
  expect(await fixture.isHonestServed()).toBe(true);
  expect(fixture.log.filter((line) => line.includes('"level":"error"'))).toEqual([]);
}, 60_000);

test.each([
  ['no JSON', 'hello'],
  ['null', 'null'],
  ['a number', '7'],
  ['no arguments', '{"operation":"echo"}'],
  ['a name that is not text', '{"operation":{"toString":1},"args":{}}'],
  ['a name without end', `{"operation":"${'x'.repeat(500_000)}","args":{}}`],
  ['JSON without bottom', '['.repeat(900_000)],
  ['more lists than a request has', `{"operation":"echo","args":{"a":[${'[],'.repeat(5_000)}[]]}}`],
  ['more texts than a request has', `{"operation":"echo","args":{"a":[${'"",'.repeat(1_100)}""]}}`],
])('%s is refused in a short line', async (_what, line) => {
  const fixture = await start();
  const said = await say(fixture.path, Buffer.from(`${line}\n`), false);
  expect(JSON.parse(said)).toMatchObject({ kind: 'error' });
  expect(said.length).toBeLessThan(400);
  expect(fixture.log.join('').length).toBeLessThan(1_000);
  expect(await fixture.isHonestServed()).toBe(true);
});

test('a long text is no large request, whatever is in it', async () => {
  const fixture = await start();
  const text = '[],{"a":1}\\"\n'.repeat(20_000);
  const said = await say(
    fixture.path,
    Buffer.from(`${JSON.stringify({ operation: 'echo', args: { text } })}\n`),
    false,
  );
  expect(JSON.parse(said)).toEqual({ kind: 'result', value: { text } });
});

test('a line that does not end is cut at the limit', async () => {
  const fixture = await start();
  const socket = createConnection(fixture.path);
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  const piece = Buffer.alloc(65_536, 'x');
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
  await closed;
  // What was taken, and what the kernel had buffered of the rest.
  expect(socket.bytesWritten).toBeLessThan(3 * MIB);
  expect(await fixture.isHonestServed()).toBe(true);
});

test('unfinished requests share one limit, and what a closed one took is free again', async () => {
  const fixture = await start({ pendingBytes: 2 * MIB });
  const open: Socket[] = [];
  const isCut: boolean[] = [];
  for (let client = 0; client < 6; client += 1) {
    const socket = createConnection(fixture.path);
    socket.on('error', () => undefined);
    socket.on('close', () => (isCut[client] = true));
    socket.write(Buffer.alloc(900_000, 'x'));
    open.push(socket);
  }
  const cut = (): number => isCut.filter(Boolean).length;
  while (cut() < 4) await new Promise((resolve) => setImmediate(resolve));
  expect(cut()).toBe(4);
  for (const socket of open) socket.destroy();
  while (cut() < 6) await new Promise((resolve) => setImmediate(resolve));
  const whole = Buffer.from(`{"operation":"echo","args":{"x":"${'x'.repeat(900_000)}"}}\n`);
  expect(JSON.parse(await say(fixture.path, whole, false))).toMatchObject({ kind: 'result' });
});

test('a crowd beyond the limit is cut off, and afterwards all are served', async () => {
  const fixture = await start();
  const crowd = Array.from({ length: 60 }, () => {
    const socket = createConnection(fixture.path);
    socket.on('error', () => undefined);
    return { socket, closed: new Promise<void>((resolve) => socket.on('close', () => resolve())) };
  });
  let left = crowd.length;
  for (const { closed } of crowd) void closed.then(() => (left -= 1));
  while (left > LIMITS.connections) await new Promise((resolve) => setImmediate(resolve));
  expect(left).toBe(LIMITS.connections);
  for (const { socket } of crowd) socket.destroy();
  await Promise.all(crowd.map(({ closed }) => closed));
  while (!(await fixture.isHonestServed().catch(() => false)));
});

test('a client that sends nothing, or half a request, is cut off', async () => {
  const fixture = await start({ silenceMs: 50 });
  expect(await say(fixture.path, Buffer.from('{"operation":'), false)).toBe('');
});

test('a client that does not read its long result delays nobody and fills no memory', async () => {
  const piece = 'x'.repeat(65_536);
  let made = 0;
  const over = Promise.withResolvers<unknown>();
  const fixture = await start({}, async (_operation, _args, { sink }) => {
    try {
      for (; made < 10_000; made += 1) await sink.chunk(piece);
      over.resolve(null);
    } catch (error) {
      over.resolve(error);
      throw error;
    }
    return null;
  });
  const socket = createConnection(fixture.path);
  socket.on('error', () => undefined);
  socket.pause();
  socket.write('{"operation":"export","args":{}}\n');
  for (let round = 0; round < 50; round += 1) expect(await fixture.isHonestServed()).toBe(true);
  expect(made).toBeLessThan(100);
  socket.destroy();
  expect(await over.promise).toBeInstanceOf(Error);
});

test('only the owner may connect, whatever the umask', async () => {
  const before = process.umask(0);
  ended.push(() => process.umask(before));
  const fixture = await start();
  expect(statSync(fixture.path).mode & 0o777).toBe(0o600);
});

describeWith(['root'], 'another user of the machine', () => {
  test('cannot connect, even where everybody may enter the directory', async () => {
    const fixture = await start();
    chmodSync(fixture.dataDir, 0o755);
    const program = `
      process.setgroups([]); process.setgid(65534); process.setuid(65534);
      const socket = require('node:net').createConnection(${JSON.stringify(fixture.path)});
      socket.on('connect', () => { console.log('in'); process.exit(); });
      socket.on('error', (error) => { console.log(error.code); process.exit(); });`;
    const child = Bun.spawn([process.execPath, '-e', program], { cwd: '/', stdout: 'pipe' });
    expect((await new Response(child.stdout).text()).trim()).toBe('EACCES');
    expect(await fixture.isHonestServed()).toBe(true);
  });
});
