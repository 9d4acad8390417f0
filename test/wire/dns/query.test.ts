/** One question over the network: how long each server is waited for, and how many wrong packets are one too many. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { createSocket, Socket as UdpSocket, type Socket } from 'node:dgram';
import {
  createServer,
  Socket as NetSocket,
  type AddressInfo,
  type Server,
  type Socket as TcpSocket,
} from 'node:net';
import { decode, encode, TRUNCATED_RESPONSE } from 'dns-packet';

import { Pace } from '../../../src/wire/dns/pace.ts';
import { PATIENCE, askServers, type Patience } from '../../../src/wire/dns/query.ts';
import { openClosedPort, openClosedUdpPort } from '../../rig/closed-port.ts';

const QUESTION = { name: 'a.test', type: 'A' } as const;
const SHORT: Patience = { rounds: [400, 400], loneRounds: [400], tcp: 400 };

const open: (Socket | Server)[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

/** A server that answers over UDP with what `say` gives, and over TCP with 192.0.2.2, written as `overTcp` does. */
async function serve(
  say: (question: Buffer) => Buffer[],
  overTcp: (socket: TcpSocket, whole: Buffer) => void = (socket, whole) => void socket.end(whole),
): Promise<{ host: string; port: number }> {
  for (;;) {
    const tcp = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', (chunk: Buffer) => {
        const answer = answerTo(chunk.subarray(2), '192.0.2.2');
        const length = Buffer.alloc(2);
        length.writeUInt16BE(answer.length);
        overTcp(socket, Buffer.concat([length, answer]));
      });
    });
    await new Promise<void>((resolve) => void tcp.listen(0, '127.0.0.1', resolve));
    open.push(tcp);
    const { port } = tcp.address() as AddressInfo;
    const udp = createSocket('udp4');
    udp.on('message', (bytes, peer) => {
      for (const answer of say(bytes)) udp.send(answer, peer.port, peer.address);
    });
    const isBound = await new Promise<boolean>((resolve) => {
      udp.once('error', () => resolve(false));
      udp.bind(port, '127.0.0.1', () => resolve(true));
    });
    if (isBound) {
      open.push(udp);
      return { host: '127.0.0.1', port };
    }
    // Somebody else has this port over UDP: another one.
    udp.close();
  }
}

function answerTo(question: Buffer, address: string, idShift = 0): Buffer {
  const asked = decode(question);
  return encode({
    type: 'response',
    flags: 0,
    id: ((asked.id ?? 0) + idShift) % 65_536,
    questions: asked.questions ?? [],
    answers: [{ name: QUESTION.name, type: 'A', ttl: 60, data: address }],
  });
}

/** An answer that did not fit. */
function truncated(question: Buffer): Buffer {
  const { id, questions } = decode(question);
  return encode({ type: 'response', flags: TRUNCATED_RESPONSE, id, questions });
}

const ask = (server: { host: string; port: number }, patience = SHORT) =>
  askServers([server], QUESTION, patience, new AbortController().signal, new Pace());

test('two servers are waited for in two rounds, a lone one in three, TCP for five seconds', () => {
  expect(PATIENCE).toEqual({
    rounds: [1_500, 3_500],
    loneRounds: [1_500, 3_500, 5_000],
    tcp: 5_000,
  });
});

test.each([
  [31, '192.0.2.1'],
  [32, '192.0.2.2'],
])('after %i packets that match nothing the answer is %s', async (wrong, address) => {
  const server = await serve((question) => [
    ...Array.from({ length: wrong }, () => answerTo(question, '192.0.2.66', 1)),
    answerTo(question, '192.0.2.1'),
  ]);
  expect((await ask(server)).answer).toMatchObject({ kind: 'found', data: [address] });
});

test('an answer that did not fit is asked for over TCP, whatever it says already', async () => {
  const server = await serve((question) => {
    const { id, questions } = decode(question);
    const { answers } = decode(answerTo(question, '192.0.2.1'));
    const part = { type: 'response', flags: TRUNCATED_RESPONSE, id, questions, answers } as const;
    return [encode(part)];
  });
  expect((await ask(server)).answer).toMatchObject({ kind: 'found', data: ['192.0.2.2'] });
});

test.each([
  ['FORMERR', 1],
  ['NOTIMP', 4],
])('a server that says %s to EDNS is asked without', async (_, code) => {
  let count = 0;
  const server = await serve((question) => {
    count += 1;
    if ((decode(question).additionals ?? []).length === 0) return [answerTo(question, '192.0.2.1')];
    const refusal = encode({
      type: 'response',
      id: decode(question).id ?? 0,
      flags: code,
      questions: [],
    });
    return [refusal];
  });
  expect((await ask(server)).answer).toMatchObject({ kind: 'found', data: ['192.0.2.1'] });
  expect(count).toBe(2);
});

test('a server that fails is not asked again, one that is silent is, in each round', async () => {
  const heard: string[] = [];
  const failing = await serve((question) => {
    heard.push('failing');
    return [
      encode({
        type: 'response',
        id: decode(question).id ?? 0,
        flags: 2,
        questions: decode(question).questions ?? [],
      }),
    ];
  });
  const silent = await serve(() => {
    heard.push('silent');
    return [];
  });
  const patience = { rounds: [1_000, 1_000], loneRounds: [50], tcp: 50 };
  const { answer, server } = await askServers(
    [failing, silent],
    QUESTION,
    patience,
    new AbortController().signal,
    new Pace(),
  );
  expect(heard).toEqual(['failing', 'silent', 'silent']);
  expect([answer, server]).toEqual([
    { kind: 'failed', reason: 'timeout (A a.test at 127.0.0.1)' },
    silent,
  ]);
});

test('one that was stopped asks nobody', async () => {
  const heard: string[] = [];
  const server = await serve(() => {
    heard.push('asked');
    return [];
  });
  const result = await askServers([server], QUESTION, SHORT, AbortSignal.abort(), new Pace());
  expect([result.answer, heard]).toEqual([{ kind: 'failed', reason: 'stopped' }, []] as never);
});

test.each<[said: string, say: (socket: TcpSocket) => void, reason: string]>([
  ['nothing', (socket) => void socket.end(), 'TCP connection closed'],
  ['half a length', (socket) => void socket.end(Buffer.of(0)), 'TCP connection closed'],
  [
    'less than it said',
    (socket) => void socket.end(Buffer.of(0, 20, 1, 2)),
    'TCP connection closed',
  ],
  ['what is no answer', (socket) => void socket.end(Buffer.of(0, 2, 1, 2)), 'malformed answer'],
])('a server that says %s over TCP has failed, at once', async (_, say, reason) => {
  // What is cut off over UDP is asked for over TCP.
  const server = await serve((question) => [truncated(question)], say);
  const patience = { rounds: [5_000], loneRounds: [5_000], tcp: 60_000 };
  expect((await ask(server, patience)).answer).toEqual({
    kind: 'failed',
    reason: `${reason} (A a.test at 127.0.0.1)`,
  });
});

test('an answer over TCP may come in pieces, and what follows it is not read', async () => {
  const server = await serve(
    (question) => [truncated(question)],
    (socket, whole) => {
      socket.setNoDelay(true);
      for (const byte of whole.subarray(0, 20)) socket.write(Buffer.of(byte));
      setImmediate(() => socket.end(Buffer.concat([whole.subarray(20), Buffer.of(1, 2, 3)])));
    },
  );
  expect((await ask(server)).answer).toMatchObject({ kind: 'found', data: ['192.0.2.2'] });
});

test('a server that is silent over TCP has its time there, and a stop ends each wait', async () => {
  const mute = await serve(
    (question) => [truncated(question)],
    () => undefined,
  );
  const patience = { rounds: [], loneRounds: [5_000], tcp: 40 };
  expect((await ask(mute, patience)).answer).toEqual({
    kind: 'failed',
    reason: 'timeout (A a.test at 127.0.0.1)',
  });
  const long = { rounds: [], loneRounds: [60_000, 60_000], tcp: 60_000 };
  for (const overUdp of [true, false]) {
    const stop = new AbortController();
    const heard = (): void => stop.abort();
    const server = await serve(
      (question) => {
        if (!overUdp) return [truncated(question)];
        setImmediate(heard);
        return [];
      },
      () => setImmediate(heard),
    );
    const { answer } = await askServers([server], QUESTION, long, stop.signal, new Pace());
    expect([overUdp, answer]).toEqual([
      overUdp,
      { kind: 'failed', reason: 'stopped (A a.test at 127.0.0.1)' },
    ]);
  }
});

test('over TCP the question has its length before it, in one write, and EDNS', async () => {
  const asked: Buffer[] = [];
  const server = await serve((question) => {
    asked.push(Buffer.from(question));
    return [truncated(question)];
  });
  const written = spyOn(NetSocket.prototype, 'write');
  await ask(server);
  const queries = written.mock.calls.map(([bytes]) => bytes as Buffer);
  written.mockRestore();
  // The other write is the server's.
  const query = queries[0] ?? Buffer.alloc(2);
  expect(query.readUInt16BE(0)).toBe(query.length - 2);
  const { id, ...said } = decode(query.subarray(2));
  const { id: before, ...first } = decode(asked[0] ?? Buffer.alloc(0));
  expect(said).toEqual(first);
  expect(said.additionals).toHaveLength(1);
  expect([asked.length, id === before && asked[0]?.equals(query.subarray(2))]).toEqual([1, false]);
});

test('a server with an IPv6 address is asked over IPv6', async () => {
  const udp = createSocket('udp6');
  open.push(udp);
  udp.on('message', (bytes, peer) => {
    udp.send(answerTo(bytes, '192.0.2.6'), peer.port, peer.address);
  });
  await new Promise<void>((resolve) => void udp.bind(0, '::1', resolve));
  const { answer } = await ask({ host: '::1', port: udp.address().port });
  expect(answer).toMatchObject({ kind: 'found', data: ['192.0.2.6'] });
});

test('a closed port is named by its error, over UDP and over TCP', async () => {
  const gone = await openClosedUdpPort();
  expect((await ask({ host: '127.0.0.1', port: gone.port })).answer).toEqual({
    kind: 'failed',
    reason: 'ECONNREFUSED (A a.test at 127.0.0.1)',
  });
  gone.stop();
  const closed = await openClosedPort();
  const udp = createSocket('udp4');
  open.push(udp);
  udp.on('message', (bytes, peer) => udp.send(truncated(bytes), peer.port, peer.address));
  await new Promise<void>((resolve) => void udp.bind(closed.port, '127.0.0.1', resolve));
  expect((await ask({ host: '127.0.0.1', port: closed.port })).answer).toEqual({
    kind: 'failed',
    reason: 'TCP ECONNREFUSED (A a.test at 127.0.0.1)',
  });
  closed.stop();
});

test('without a server it fails', async () => {
  const result = await askServers([], QUESTION, SHORT, new AbortController().signal, new Pace());
  expect(result.answer).toEqual({ kind: 'failed', reason: 'no resolver (A a.test at )' });
});

test('nothing stays when a question was answered, by UDP or TCP: on the signal, of timers and sockets', async () => {
  for (const wrong of [0, 32]) {
    const hungUp = Promise.withResolvers<void>();
    const server = await serve(
      (question) => [
        ...Array.from({ length: wrong }, () => answerTo(question, '192.0.2.66', 1)),
        answerTo(question, '192.0.2.1'),
      ],
      (socket, whole) => {
        // It would leave the connection open.
        socket.on('close', hungUp.resolve);
        socket.write(whole);
      },
    );
    const { signal } = new AbortController();
    const [added, removed] = [
      spyOn(signal, 'addEventListener'),
      spyOn(signal, 'removeEventListener'),
    ];
    const [armed, cleared] = [spyOn(globalThis, 'setTimeout'), spyOn(globalThis, 'clearTimeout')];
    const closed = spyOn(UdpSocket.prototype, 'close');
    const patience = { rounds: [], loneRounds: [4_321], tcp: 5_432 };
    await askServers([server], QUESTION, patience, signal, new Pace());
    const listeners = added.mock.calls.map(([, listener]) => listener);
    expect(listeners).toHaveLength(wrong === 0 ? 1 : 2);
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(listeners);
    const timers = armed.mock.results.filter((_, at) =>
      [4_321, 5_432].includes(armed.mock.calls[at]?.[1] ?? 0),
    );
    const ended = cleared.mock.calls.map(([timer]): unknown => timer);
    const left = timers.filter(({ value }) => !ended.includes(value));
    expect([timers.length, left, closed.mock.calls.length]).toEqual([listeners.length, [], 1]);
    for (const spy of [armed, cleared, closed]) spy.mockRestore();
    if (wrong > 0) await hungUp.promise;
  }
});

test('a server without EDNS has the same time for the question without it', async () => {
  const server = await serve((question) => {
    const { id, additionals } = decode(question);
    if ((additionals ?? []).length === 0) return [];
    return [encode({ type: 'response', id, flags: 1, questions: [] })];
  });
  const patience = { rounds: [], loneRounds: [40], tcp: 3_600_000 };
  expect((await ask(server, patience)).answer).toEqual({
    kind: 'failed',
    reason: 'timeout (A a.test at 127.0.0.1)',
  });
});

test('a stop before the question has left sends none', async () => {
  const server = await serve(() => []);
  const stop = new AbortController();
  const sent = spyOn(UdpSocket.prototype, 'send');
  const asking = askServers([server], QUESTION, SHORT, stop.signal, new Pace());
  stop.abort();
  const { answer } = await asking;
  await new Promise((resolve) => setImmediate(resolve));
  const count = sent.mock.calls.length;
  sent.mockRestore();
  expect([answer, count]).toEqual([
    { kind: 'failed', reason: 'stopped (A a.test at 127.0.0.1)' },
    0,
  ]);
});

test('an answer that came whole counts, although the server has hung up before it was read', async () => {
  const hungUp = Promise.withResolvers<void>();
  class Crowded extends Pace {
    override async run<T>(work: () => T): Promise<T> {
      await hungUp.promise;
      await new Promise((resolve) => setImmediate(resolve));
      return work();
    }
  }
  let size = 0;
  const server = await serve(
    (question) => [truncated(question)],
    (socket, whole) => {
      size = whole.length - 2;
      socket.on('close', hungUp.resolve);
      socket.end(whole);
    },
  );
  const { signal } = new AbortController();
  const { answer } = await askServers([server], QUESTION, SHORT, signal, new Crowded());
  expect(answer).toEqual({
    kind: 'found',
    data: ['192.0.2.2'],
    ttlSeconds: 60,
    isAuthenticData: false,
    // What it weighs in the cache.
    bytes: size,
  });
});

test('questions over TCP have ids that nobody can guess', async () => {
  const ids = new Set<number>();
  const server = await serve((question) => [truncated(question)]);
  const written = spyOn(NetSocket.prototype, 'write');
  for (let count = 0; count < 4; count += 1) await ask(server);
  for (const [bytes] of written.mock.calls) ids.add((bytes as Buffer).readUInt16BE(2));
  written.mockRestore();
  expect(ids.size).toBeGreaterThan(1);
});
