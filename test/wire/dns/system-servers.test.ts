/** Without servers in the config, those of the machine are asked, and a change of them is noticed within half a minute. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { Socket } from 'node:dgram';
import * as fs from 'node:fs';

import type { Listen } from '../../../src/base/config.ts';
import { createResolver } from '../../../src/wire/dns/dns.ts';
import { TestClock } from '../../rig/clock.ts';
import { Lookups, SHORT } from '../../rig/lookups.ts';
import { aRecord } from '../../rig/raw-dns.ts';

const lookups = new Lookups();
const closing: (() => void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) close();
  await lookups.close();
});

/** A resolver whose machine names `servers`, which a test changes; `reads` counts how often it looked. */
function open(servers: Listen[], configured: Listen[] = []) {
  const clock = new TestClock();
  let reads = 0;
  const dns = createResolver({
    servers: configured,
    clock,
    patience: SHORT,
    readSystem() {
      reads += 1;
      return servers.map((server) => ({ ...server }));
    },
  });
  closing.push(() => dns.close());
  let asked = 0;
  /** Asks for a name that nobody has asked for. */
  const ask = async (): Promise<string> => {
    const answer = await dns.a(`n${(asked += 1)}.test`);
    return answer.kind === 'found' ? (answer.records[0] ?? '') : answer.kind;
  };
  return { clock, ask, reads: () => reads };
}

/** A server that answers every question with this address. */
const answering = (address: string) => lookups.raw(({ query }) => [aRecord(query, address)]);

test('the servers are read again after 30 s, and not before', async () => {
  const [one, other] = [await answering('192.0.2.1'), await answering('192.0.2.2')];
  const servers = [one.listen];
  const { clock, ask, reads } = open(servers);
  expect([await ask(), await ask(), reads()]).toEqual(['192.0.2.1', '192.0.2.1', 1]);
  servers.splice(0, 1, other.listen);
  // The wall clock says nothing of how long ago that was.
  clock.jump(3_600_000);
  await clock.advance(29_999);
  expect([await ask(), reads()]).toEqual(['192.0.2.1', 1]);
  await clock.advance(1);
  expect([await ask(), await ask(), reads()]).toEqual(['192.0.2.2', '192.0.2.2', 2]);
});

test('a list that stays the same remembers which server answers', async () => {
  let questions = 0;
  const silent = await lookups.raw(() => {
    questions += 1;
    return [];
  });
  const good = await answering('192.0.2.1');
  const { clock, ask, reads } = open([silent.listen, good.listen]);
  expect(await ask()).toBe('192.0.2.1');
  const before = questions;
  expect(before).toBeGreaterThan(0);
  await clock.advance(30_000);
  expect([await ask(), reads(), questions]).toEqual(['192.0.2.1', 2, before]);
});

test('with servers in the config the machine is not asked for any', async () => {
  const good = await answering('192.0.2.1');
  const { ask, reads } = open([], [good.listen]);
  expect([await ask(), reads()]).toEqual(['192.0.2.1', 0]);
});

test('the machine names its servers in /etc/resolv.conf', async () => {
  const read = spyOn(fs, 'readFileSync').mockReturnValue('nameserver 192.0.2.53\n');
  const dialled: unknown[] = [];
  const connect = spyOn(Socket.prototype, 'connect').mockImplementation(function (
    this: Socket,
    ...to: unknown[]
  ) {
    dialled.push(to.slice(0, 2));
    queueMicrotask(() => this.emit('error', new Error('gone')));
  });
  const dns = createResolver({ servers: [], clock: new TestClock() });
  const answer = await dns.a('a.test');
  const files = read.mock.calls.map(([file]) => file);
  for (const spy of [read, connect]) spy.mockRestore();
  dns.close();
  expect(answer).toEqual({ kind: 'failed', reason: 'gone (A a.test at 192.0.2.53)' });
  expect<unknown[]>([files, dialled]).toEqual([['/etc/resolv.conf'], [[53, '192.0.2.53']]]);
});
