/** Answers of very many records: some are read, the rest is not, and a crowd of them leaves the event loop free. */
import { afterEach, expect, test } from 'bun:test';
import { matchAnswer } from '../../../src/wire/dns/message.ts';
import { Pace } from '../../../src/wire/dns/pace.ts';
import { Lookups } from '../../rig/lookups.ts';
import { answerWith } from '../../rig/raw-dns.ts';

const lookups = new Lookups();
afterEach(() => lookups.close());

test('of 2,000 addresses the first 200 are read', async () => {
  const server = await lookups.names();
  const addresses = Array.from({ length: 2_000 }, (_, n) => `192.0.${n >> 8}.${n & 255}`);
  server.set('a.test', 'A', addresses);
  const answer = await lookups.resolver([server]).a('a.test');
  expect(answer).toMatchObject({ kind: 'found', records: addresses.slice(0, 200) });
});

test('200 TXT records are all read', async () => {
  const server = await lookups.names();
  const texts = Array.from({ length: 200 }, (_, n) => `text ${n}`);
  server.set('a.test', 'TXT', texts);
  const answer = await lookups.resolver([server]).txt('a.test');
  expect(answer).toMatchObject({ kind: 'found', records: texts });
});

test('a packet of two questions is no answer', () => {
  const question = Buffer.from('\x01a\x04test\0\0\x01\0\x01', 'latin1');
  const query = {
    id: 7,
    name: 'a.test',
    type: 'A',
    question,
    isRecursionDesired: true,
    udpBytes: 512,
  } as const;
  const packet = answerWith(query, {});
  expect(matchAnswer(packet, 7, { name: 'a.test', type: 'A' })).not.toBeNull();
  packet.writeUInt16BE(2, 4);
  expect(matchAnswer(packet, 7, { name: 'a.test', type: 'A' })).toBeNull();
});

test('work in a crowd is done in order, one piece a round', async () => {
  const pace = new Pace();
  const done: number[] = [];
  let rounds = 0;
  const count = (): void => {
    rounds += 1;
    if (done.length < 20) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(Array.from({ length: 20 }, (_, n) => pace.run(() => done.push(n))));
  expect(done).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(rounds).toBeGreaterThanOrEqual(19);
});
