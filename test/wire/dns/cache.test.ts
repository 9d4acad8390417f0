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
