/** The SNTP question against a server of the test's own: offset, forged answers, silence. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { createSocket, Socket as UdpSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

import { clockOffset } from '../../src/wire/sntp.ts';

const NTP_EPOCH_SECONDS = 2_208_988_800;
let server: Socket;

afterEach(() => server.close());

async function serve(answer: (request: Buffer) => Buffer | null): Promise<number> {
  server = createSocket('udp4');
  server.on('message', (request, peer) => {
    const bytes = answer(request);
    if (bytes !== null) server.send(bytes, peer.port, peer.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

function reply(request: Buffer, aheadMs: number, stratum = 2): Buffer {
  const answer = Buffer.alloc(48);
  answer[0] = 0x24;
  answer[1] = stratum;
  request.copy(answer, 24, 40, 48);
  const now = Date.now() + aheadMs;
  answer.writeUInt32BE(Math.floor(now / 1000) + NTP_EPOCH_SECONDS, 40);
  answer.writeUInt32BE(Math.floor(((now % 1000) / 1000) * 2 ** 32), 44);
  return answer;
}

test('a server that is a minute ahead: our clock is a minute behind', async () => {
  const port = await serve((request) => reply(request, 60_000));
  const offsetMs = await clockOffset('127.0.0.1', port, 2_000);
  expect(Math.abs((offsetMs ?? 0) + 60_000)).toBeLessThan(1_000);
});

test('an answer that does not echo our time is not believed', async () => {
  const port = await serve((request) => {
    const answer = reply(request, 60_000);
    answer[24] = (answer[24] ?? 0) ^ 1;
    return answer;
  });
  expect(await clockOffset('127.0.0.1', port, 200)).toBeNull();
});

test('what does not echo it is passed over, and the answer behind it counts', async () => {
  const port = await serve(() => null);
  server.on('message', (request, peer) => {
    const wrong = reply(request, 3_600_000);
    wrong[24] = (wrong[24] ?? 0) ^ 1;
    for (const bytes of [wrong, wrong.subarray(0, 40), reply(request, 60_000)]) {
      server.send(bytes, peer.port, peer.address);
    }
  });
  const offsetMs = await clockOffset('127.0.0.1', port, 2_000);
  expect(Math.abs((offsetMs ?? 0) + 60_000)).toBeLessThan(1_000);
});

test('a server that is not synchronised itself (stratum 0) is no witness', async () => {
  const port = await serve((request) => reply(request, 60_000, 0));
  expect(await clockOffset('127.0.0.1', port, 2_000)).toBeNull();
});

test('silence is null', async () => {
  const port = await serve(() => null);
  expect(await clockOffset('127.0.0.1', port, 100)).toBeNull();
});

test('a server that is behind: our clock is ahead', async () => {
  const port = await serve((request) => reply(request, -1_500));
  const offsetMs = await clockOffset('127.0.0.1', port, 2_000);
  expect(Math.abs((offsetMs ?? 0) - 1_500)).toBeLessThan(400);
});

test.each([
  ['of stratum 1', 1, 0x24, true],
  ['of stratum 15', 15, 0x24, true],
  ['of stratum 16', 16, 0x24, false],
  ['of another mode', 2, 0x23, false],
  ['that broadcasts', 2, 0x25, false],
])('an answer %s', async (_, stratum, first, isTaken) => {
  const port = await serve((request) => {
    const answer = reply(request, 0, stratum);
    answer[0] = first;
    return answer;
  });
  expect((await clockOffset('127.0.0.1', port, 2_000)) !== null).toBe(isTaken);
});

test('the question is one of a client of version 4, and each is another', async () => {
  const asked: Buffer[] = [];
  const port = await serve((request) => {
    asked.push(Buffer.from(request));
    return reply(request, 0);
  });
  await clockOffset('127.0.0.1', port, 2_000);
  await clockOffset('127.0.0.1', port, 2_000);
  expect(asked.map((request) => [request.length, request[0]])).toEqual([
    [48, 0x23],
    [48, 0x23],
  ]);
  expect(asked[0]?.subarray(40)).not.toEqual(asked[1]?.subarray(40));
});

test('the offset is taken from the middle of question and answer, to a fraction of a millisecond', async () => {
  const [sentAt, heardAt] = [1_800_000_000_000, 1_800_000_000_100];
  const port = await serve((request) => {
    const answer = reply(request, 0);
    answer.writeUInt32BE(1_799_999_999 + NTP_EPOCH_SECONDS, 40);
    // 0.25 s.
    answer.writeUInt32BE(2 ** 30, 44);
    return answer;
  });
  const times = [sentAt, heardAt];
  // The server of the test asks for the time, too, and gets it from the clock.
  const read = Date.now.bind(Date);
  const clock = spyOn(Date, 'now').mockImplementation(() =>
    new Error('x').stack?.includes('src/wire/sntp.ts') === true ? (times.shift() ?? 0) : read(),
  );
  const offsetMs = await clockOffset('127.0.0.1', port, 2_000);
  clock.mockRestore();
  expect(offsetMs).toBe(sentAt + 50 - 1_799_999_999_250);
});

test('nothing stays open, whatever the end', async () => {
  const closed = spyOn(UdpSocket.prototype, 'close');
  const cleared = spyOn(globalThis, 'clearTimeout');
  const armed = spyOn(globalThis, 'setTimeout');
  const port = await serve((request) => reply(request, 0));
  const ends = [await clockOffset('127.0.0.1', port, 4_321_000)];
  const failing = new Error('no way');
  const sent = spyOn(UdpSocket.prototype, 'send').mockImplementation(((
    ...[, , , done]: [unknown, unknown, unknown, (error: Error) => void]
  ) => done(failing)) as never);
  ends.push(await clockOffset('127.0.0.1', port, 4_321_000));
  sent.mockImplementation(function (this: Socket) {
    queueMicrotask(() => this.emit('error', failing));
  } as never);
  ends.push(await clockOffset('127.0.0.1', port, 4_321_000));
  sent.mockRestore();
  expect(ends).toEqual([expect.any(Number), null, null]);
  const timers = armed.mock.calls.flatMap(([, ms], at) =>
    ms === 4_321_000 ? [armed.mock.results[at]?.value] : [],
  );
  const ended = cleared.mock.calls.map(([timer]): unknown => timer);
  expect([timers.length, timers.filter((timer) => !ended.includes(timer))]).toEqual([3, []]);
  expect(closed).toHaveBeenCalledTimes(3);
  for (const spy of [closed, cleared, armed]) spy.mockRestore();
});

test('a server with an IPv6 address is asked over IPv6', async () => {
  server = createSocket('udp6');
  server.on('message', (request, peer) => {
    server.send(reply(request, 0), peer.port, peer.address);
  });
  server.bind(0, '::1');
  await once(server, 'listening');
  expect(await clockOffset('::1', server.address().port, 2_000)).not.toBeNull();
});

test('a packet that is too short is no answer', async () => {
  const port = await serve((request) => reply(request, 0).subarray(0, 47));
  expect(await clockOffset('127.0.0.1', port, 200)).toBeNull();
});
