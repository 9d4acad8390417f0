/** The port of an emulator: the usual one, the next free one with a sentence, or a refusal that says what to do. */
import { afterEach, expect, jest, spyOn, test } from 'bun:test';
import { EventEmitter } from 'node:events';
import * as net from 'node:net';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { choosePort } from '../../src/commands/dev-port.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { freePorts } from '../rig/ports.ts';

const HOST = '127.0.0.1';
const servers: Server[] = [];
afterEach(() => {
  jest.restoreAllMocks();
  servers.splice(0).forEach((server) => server.close());
});

/** A port that is in use; port 0: any. */
async function take(port = 0, host = HOST): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const at: AddressInfo | string | null = server.address();
  return at === null || typeof at === 'string' ? 0 : at.port;
}

test('the usual port without a word, where it is free', async () => {
  const [port = 0] = await freePorts(1);
  expect(await choosePort(HOST, null, port, '--port')).toEqual({ port, note: '' });
  expect(await choosePort(HOST, port, 8025, '--port')).toEqual({ port, note: '' });
  expect(await choosePort(HOST, 0, 8025, '--port')).toEqual({ port: 0, note: '' });
});

test('the next free one where the usual one is in use, and a sentence that says so', async () => {
  const usual = await take();
  const { port, note } = await choosePort(HOST, null, usual, '--smtp-port');
  expect(port).toBeGreaterThan(usual);
  expect(note).toBe(
    `Port ${usual} is in use (another emulator?), so this one takes ${port}; --smtp-port chooses.`,
  );
});

test('twenty ports after the usual one are tried, then it says which are in use and how to choose', async () => {
  const tried: number[] = [];
  let free = Number.NaN;
  spyOn(net, 'createServer').mockImplementation((() => {
    const probe = new EventEmitter();
    return Object.assign(probe, {
      listen({ port }: { port: number }, done: () => void) {
        tried.push(port);
        if (port === free) done();
        else probe.emit('error', new Error('EADDRINUSE'));
      },
      close: (done: () => void) => done(),
    });
  }) as never);
  const choice = choosePort(HOST, null, 8025, '--port').catch((error: unknown) => error);
  expect(await choice).toMatchObject({
    message: 'Ports 8025 to 8045 are in use by other programs.',
    hint: 'If it is another emulator, use that one or stop it. Or choose a port: postrider dev --port 8125.',
  });
  expect(tried).toEqual(Array.from({ length: 21 }, (_, at) => 8025 + at));
  free = 8045;
  expect(await choosePort(HOST, null, 8025, '--port')).toMatchObject({ port: 8045 });
});

test('a port that is in use at another address is free, and is given back after the look', async () => {
  const [port = 0] = await freePorts(1);
  await take(port, '127.0.0.2');
  expect(await choosePort(HOST, port, 8025, '--port')).toEqual({ port, note: '' });
  expect(await take(port)).toBe(port);
});

test('a port that was asked for is not replaced', async () => {
  const asked = await take();
  const refusal: unknown = await choosePort(HOST, asked, 8025, '--port').catch(
    (error: unknown) => error,
  );
  if (!(refusal instanceof OperatorError)) throw new Error(`no refusal: ${String(refusal)}`);
  expect(refusal.message).toBe(`Port ${asked} is in use by another program.`);
  expect(refusal.hint).toEndWith('Or choose a port: postrider dev --port 8125.');
});
