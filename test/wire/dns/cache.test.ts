/** The bound of the resolver's memory, whatever the answers are like and however they leave the cache. */
import { expect, test } from 'bun:test';

import { DnsCache } from '../../../src/wire/dns/cache.ts';
import { TestClock } from '../../rig/clock.ts';

const MAX_BYTES = 8 * 1024 * 1024;
const LARGE = { kind: 'found', ttlSeconds: 60, bytes: MAX_BYTES / 16 };

function opened() {
  const clock = new TestClock();
  const cache = new DnsCache<{ kind: string; ttlSeconds?: number; bytes?: number }>(clock);
  cache.put('first', { kind: 'found', ttlSeconds: 3_600, bytes: 100 });
  return { clock, cache };
}

test('small answers count with their names and what it takes to keep them', () => {
  const { cache } = opened();
  for (let index = 0; index < 30_000; index += 1) {
    cache.put(`A ${index}.${'n'.repeat(200)}`, { kind: 'nodata', ttlSeconds: 60, bytes: 12 });
  }
  // Each takes 212 bytes of name and answer and some 200 more.
  expect(cache.size).toBeLessThan(MAX_BYTES / 400);
  expect(cache.size).toBeGreaterThan(MAX_BYTES / 600);
});

test('an answer that was replaced, has expired or was forgotten takes nothing any more', async () => {
  const { clock, cache } = opened();
  for (let index = 0; index < 40; index += 1) {
    cache.put('replaced', LARGE);
    cache.put(`forgotten ${index}`, LARGE);
    cache.deleteWhere((key) => key.startsWith('forgotten'));
  }
  for (let index = 0; index < 40; index += 1) {
    cache.put('expires', LARGE);
    await clock.advance(60_001);
    expect(cache.get('expires')).toBeNull();
  }
  expect(cache.get('first')).not.toBeNull();
  expect(cache.get('replaced')).toBeNull();
  expect(cache.size).toBe(1);
});

test('an answer that may not be kept takes nothing either', () => {
  const { cache } = opened();
  for (const kind of ['found', 'nodata', 'nxdomain']) {
    cache.put(`none ${kind}`, { kind, ttlSeconds: 0, bytes: 1 });
  }
  expect(cache.size).toBe(1);
});

test('an answer takes its bytes, the length of its name and 200 more', () => {
  const cache = new DnsCache<{ kind: string; ttlSeconds: number; bytes: number }>(new TestClock());
  const put = (at: number, weight: number): void => {
    cache.put(String(at).padStart(8, '0'), { kind: 'found', ttlSeconds: 60, bytes: weight - 208 });
  };
  for (let at = 0; at < 1_024; at += 1) put(at, MAX_BYTES / 1_024);
  expect(cache.size).toBe(1_024);
  put(1_023, MAX_BYTES / 1_024 + 1);
  expect(cache.size).toBe(1_023);
});

test('an answer that expires takes its own weight with it, not that of the others', async () => {
  const { clock, cache } = opened();
  for (let index = 0; index < 10; index += 1) cache.put(`${index}`, { ...LARGE, ttlSeconds: 600 });
  cache.put('expires', { ...LARGE, bytes: 1 });
  await clock.advance(60_001);
  expect(cache.get('expires')).toBeNull();
  for (let index = 0; index < 10; index += 1) cache.put(`more ${index}`, LARGE);
  expect(cache.size).toBeLessThanOrEqual(16);
});

test('the longest unused goes first, and as few as possible', () => {
  const { cache } = opened();
  for (let index = 0; index < 15; index += 1) cache.put(`${index}`, LARGE);
  expect(cache.size).toBe(16);
  expect(cache.get('first')).not.toBeNull();
  cache.put('one more', LARGE);
  expect(cache.get('0')).toBeNull();
  const kept = ['first', '1', '14', 'one more'].filter((key) => cache.get(key) !== null);
  expect(kept).toHaveLength(4);
  expect(cache.size).toBe(16);
});

test.each([
  ['an answer as long as it says', { kind: 'found', ttlSeconds: 90 }, 90],
  ['and for an hour at most', { kind: 'found', ttlSeconds: 86_400 }, 3_600],
  ['its absence for a minute at most', { kind: 'nodata', ttlSeconds: 900 }, 60],
  ['that of the name too', { kind: 'nxdomain', ttlSeconds: 900 }, 60],
  ['or for less', { kind: 'nxdomain', ttlSeconds: 7 }, 7],
  ['an alias for a minute at most', { kind: 'alias', ttlSeconds: 900 }, 60],
  ['a failure for five seconds', { kind: 'failed' }, 5],
  ['what must not be kept, not at all', { kind: 'found', ttlSeconds: 0 }, 0],
])('kept: %s', async (_, value, seconds) => {
  const clock = new TestClock();
  const cache = new DnsCache<{ kind: string; ttlSeconds?: number }>(clock);
  cache.put('a', value);
  if (seconds > 0) {
    expect(cache.get('a')?.secondsLeft).toBe(seconds);
    await clock.advance(1);
    // Whole seconds: never more than it has.
    expect(cache.get('a')?.secondsLeft).toBe(seconds - 1);
    await clock.advance(seconds * 1_000 - 2);
    expect(cache.get('a')).not.toBeNull();
    await clock.advance(1);
  }
  expect(cache.get('a')).toBeNull();
});

test.each([43_200_000, -43_200_000])(
  'a wall clock that was set by %p ms changes nothing about how long',
  async (ms) => {
    const clock = new TestClock();
    const cache = new DnsCache<{ kind: string; ttlSeconds?: number }>(clock);
    cache.put('before', { kind: 'found', ttlSeconds: 90 });
    clock.jump(ms);
    cache.put('after', { kind: 'found', ttlSeconds: 90 });
    expect([cache.get('before')?.secondsLeft, cache.get('after')?.secondsLeft]).toEqual([90, 90]);
    await clock.advance(90_000);
    expect([cache.get('before'), cache.get('after')]).toEqual([null, null]);
  },
);
