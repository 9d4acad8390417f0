/** Packed data: what comes out is what structured cloning of the value gives. */
import { expect, test } from 'bun:test';

import { Packer, Unpacker } from '../../src/base/packing.ts';
import { seeded } from '../mail/random.ts';
import type { Random } from '../mail/random.ts';

/** One direction between two threads. */
function line(): (value: unknown) => unknown {
  const packer = new Packer();
  const unpacker = new Unpacker();
  return (value) => unpacker.unpack(structuredClone(packer.pack(value)));
}

const NAMES = ['id', 'to', 'kind', 'date', 'constructor', 'length', '0', '17', '', 'größe'];

function anything(random: Random, depth: number): unknown {
  const few = random.int(5);
  const inner = (): unknown => anything(random, depth - 1);
  switch (random.int(depth > 0 ? 13 : 9)) {
    case 0:
      return null;
    case 1:
      return undefined;
    case 2:
      return random.chance(0.5);
    case 3:
      return random.pick([0, -0, -1, 3, Number.NaN, Infinity, 2 ** 53, 0.1]);
    case 4:
      return random.pick(['', 'date', 'a', 'ü\ud800', 'x'.repeat(few * 1_000)]);
    case 5:
      return 2n ** 70n;
    case 6:
      return new Date(random.int(2 ** 31));
    case 7:
      return new Uint8Array(few).fill(few);
    case 8:
      return new Map([[few, 'x']]);
    case 9:
    case 10:
      return Array.from({ length: few }, inner);
    default:
      return Object.fromEntries(Array.from({ length: few }, () => [random.pick(NAMES), inner()]));
  }
}

test('whatever is packed comes out as a clone would', () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9);
  const random = seeded(seed);
  const carry = line();
  for (let n = 0; n < 2_000; n += 1) {
    const value = anything(random, 4);
    const round = { seed, n };
    expect({ round, value: carry(value) }).toStrictEqual({ round, value: structuredClone(value) });
  }
});

test('an object whose fields nobody could list in advance crosses whole, however many there are', () => {
  const carry = line();
  for (let n = 0; n < 5_000; n += 1) {
    const value = { [`name-${n}`]: { n }, rest: [n] };
    expect(carry(value)).toStrictEqual(value);
  }
  // What has a shape already keeps it.
  expect(carry({ 'name-0': { n: -1 }, rest: [] })).toStrictEqual({ 'name-0': { n: -1 }, rest: [] });
});

test('a field named __proto__ stays a field', () => {
  const value = JSON.parse('{"a": 1, "__proto__": {"isAdmin": true}}') as object;
  const carried = line()({ value }) as { value: { isAdmin?: boolean } };
  expect(Object.getPrototypeOf(carried.value)).toBe(Object.prototype);
  expect(Object.keys(carried.value)).toEqual(['a', '__proto__']);
});

test('what was met first inside of an object that crosses whole is understood later', () => {
  const carry = line();
  carry(JSON.parse('{"first": {"nested": 1}, "__proto__": 1}'));
  expect(carry({ nested: 2 })).toStrictEqual({ nested: 2 });
});

test('what repeats costs no names', () => {
  const packer = new Packer();
  const record = { id: 'x', recipients: [{ address: 'a@example.com', attempts: 0 }] };
  const first = packer.pack(record);
  const second = packer.pack(record);
  expect(first).toContain('attempts');
  expect(second.filter((element) => typeof element === 'string')).toEqual(['x', 'a@example.com']);
});

test('of fields whose names a user chooses a thousand kinds are remembered, and no more', () => {
  const packer = new Packer();
  let remembered = 0;
  for (let at = 0; at < 5_000; at += 1) {
    // What is remembered crosses in pieces, anything else as the one object that it is.
    if (packer.pack({ [`field ${at}`]: at }).length > 1) remembered += 1;
  }
  expect(remembered).toBe(1_000);
});
