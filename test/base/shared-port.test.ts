/** Several listeners on one port: the one that is chosen gets every new connection. */
import { afterAll, expect, test } from 'bun:test';

import { steerTo } from '../../src/base/shared-port.ts';

const listen = (name: string, port: number) =>
  Bun.serve({ hostname: '127.0.0.1', port, reusePort: true, fetch: () => new Response(name) });
const first = listen('first', 0);
const port = Number(first.port);
const servers = [first, listen('second', port), listen('third', port)];
afterAll(() => Promise.all(servers.map((server) => server.stop(true))));

async function answers(): Promise<string[]> {
  const names = new Set<string>();
  for (let count = 0; count < 12; count += 1) {
    const reply = await fetch(`http://127.0.0.1:${port}/`, { headers: { Connection: 'close' } });
    names.add(await reply.text());
  }
  return [...names];
}

test('the one that is named, by the order in which they began to listen', async () => {
  for (const [index, name] of ['first', 'second', 'third', 'first'].entries()) {
    expect(steerTo(port, index % 3)).toBe(true);
    expect(await answers()).toEqual([name]);
  }
});

test('a port on which nothing listens cannot be steered', () => {
  const gone = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') });
  const free = Number(gone.port);
  void gone.stop(true);
  expect(steerTo(free, 0)).toBe(false);
});

test('listeners on an address of IPv6 are steered too', async () => {
  const open = (name: string, at: number) =>
    Bun.serve({ hostname: '::1', port: at, reusePort: true, fetch: () => new Response(name) });
  const one = open('one', 0);
  const other = open('other', Number(one.port));
  const seen = async (): Promise<string[]> => {
    const names = new Set<string>();
    for (let count = 0; count < 12; count += 1) {
      const reply = await fetch(`http://[::1]:${one.port}/`, { headers: { Connection: 'close' } });
      names.add(await reply.text());
    }
    return [...names];
  };
  for (const [index, name] of ['one', 'other'].entries()) {
    expect(steerTo(Number(one.port), index)).toBe(true);
    expect(await seen()).toEqual([name]);
  }
  await Promise.all([one.stop(true), other.stop(true)]);
});
