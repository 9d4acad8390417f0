/** More policies, and longer ones, than the cache keeps. */
import { describe, expect, test } from 'bun:test';

import { StsCache } from '../../../src/wire/tls/sts-cache.ts';
import type { KeptPolicy } from '../../../src/wire/tls/sts-cache.ts';

const KIB = 1_024;
const LIMITS = { policies: 10_000, bytes: 4 * KIB * KIB };

function kept(mode: KeptPolicy['policy']['mode'], bytes = 20): KeptPolicy {
  const mxPatterns = Array.from({ length: Math.ceil(bytes / 20) }, (_, at) => `mx${at}.a.test`);
  return { id: 'one', policy: { mode, mxPatterns, maxAgeSeconds: 604_800 }, fetchedAt: 0 };
}

describe('the cache of policies', () => {
  test('50,000 domains: it keeps 10,000, and of those that are enforced all that are in use', () => {
    const cache = new StsCache(LIMITS);
    const inUse = Array.from({ length: 2_000 }, (_, at) => `bank${at}.test`);
    for (const domain of inUse) cache.set(domain, kept('enforce'));
    for (let at = 0; at < 50_000; at += 1) {
      cache.set(`shop${at}.test`, kept(at % 2 === 0 ? 'testing' : 'none'));
    }
    expect(cache.size).toBe(10_000);
    expect(inUse.filter((domain) => cache.get(domain) === null)).toEqual([]);
    // Enforced ones beyond the bound: the least lately used go.
    for (let at = 0; at < 9_000; at += 1) {
      cache.set(`own${at}.test`, kept('enforce'));
      cache.get(inUse[at % inUse.length] ?? '');
    }
    expect(cache.size).toBe(10_000);
    expect(inUse.filter((domain) => cache.get(domain) === null)).toEqual([]);
    expect(cache.get('own0.test')).toBeNull();
    expect(cache.get('own8999.test')).not.toBeNull();
  });

  test('policies of 60 KiB do not push out short ones, and the bytes stay bounded', () => {
    const cache = new StsCache(LIMITS);
    for (let at = 0; at < 3_000; at += 1) cache.set(`bank${at}.test`, kept('enforce'));
    for (let at = 0; at < 500; at += 1) {
      cache.set(`long${at}.test`, kept('enforce', 60 * KIB));
      expect(cache.bytes).toBeLessThanOrEqual(4 * KIB * KIB);
    }
    for (let at = 0; at < 3_000; at += 1) expect(cache.get(`bank${at}.test`)).not.toBeNull();
    expect(cache.get('long499.test')).not.toBeNull();
    expect(cache.get('long0.test')).toBeNull();
  });

  test('a policy that changes, expires or is replaced gives its bytes back', () => {
    const cache = new StsCache({ policies: 10, bytes: 10 * KIB });
    for (const mode of ['enforce', 'testing', 'none', 'enforce'] as const) {
      cache.set('a.test', kept(mode, 2 * KIB));
      expect(cache.size).toBe(1);
    }
    const { bytes } = cache;
    cache.set('b.test', kept('testing'));
    cache.delete('b.test');
    expect(cache.bytes).toBe(bytes);
    cache.delete('a.test');
    expect([cache.size, cache.bytes]).toEqual([0, 0]);
  });

  test('one that is larger than the whole is not kept, and what protects stays', () => {
    const cache = new StsCache({ policies: 10, bytes: 4 * KIB });
    cache.set('a.test', kept('enforce'));
    cache.set('b.test', kept('enforce', 60 * KIB));
    expect(cache.get('a.test')).not.toBeNull();
    expect(cache.get('b.test')).toBeNull();
    expect(cache.enforced().map(([domain]) => domain)).toEqual(['a.test']);
  });

  const one = (mode: KeptPolicy['policy']['mode'], ...mxPatterns: string[]): KeptPolicy => ({
    id: 'i',
    policy: { mode, mxPatterns, maxAgeSeconds: 1 },
    fetchedAt: 0,
  });

  test('each counts with its texts and what it takes to keep it', () => {
    const cache = new StsCache(LIMITS);
    cache.set('ab', one('none'));
    expect(cache.bytes).toBe(200 + 2 + 1);
    cache.set('abc', one('enforce', 'mx.test', 'mx'));
    expect(cache.bytes).toBe(203 + 200 + 3 + 1 + 15 + 10);
    cache.delete('nobody');
    expect([cache.bytes, cache.size]).toEqual([432, 2]);
  });

  test('as many and as much as the limits say stay, with one more the first of its rank goes', () => {
    const kept = (limits: { policies: number; bytes: number }): string[] => {
      const cache = new StsCache(limits);
      for (const name of ['a', 'b', 'c']) cache.set(name, one('testing'));
      return ['a', 'b', 'c'].filter((name) => cache.get(name) !== null);
    };
    expect(kept({ policies: 3, bytes: 606 })).toEqual(['a', 'b', 'c']);
    expect(kept({ policies: 2, bytes: 606 })).toEqual(['b', 'c']);
    expect(kept({ policies: 3, bytes: 605 })).toEqual(['b', 'c']);
  });

  test('unenforced ones go before long ones, long ones before the others', () => {
    const cache = new StsCache({ policies: 3, bytes: LIMITS.bytes });
    // A long one has more than 1,024 bytes in all.
    const sized = (bytes: number): KeptPolicy => one('enforce', 'x'.repeat(bytes - 200 - 2 - 8));
    cache.set('e', sized(1_024));
    cache.set('l', sized(1_025));
    cache.set('n', one('none'));
    expect(cache.enforced().map(([domain]) => domain)).toEqual(['l', 'e']);
    cache.set('f', sized(1_024));
    expect(['e', 'l', 'n', 'f'].filter((name) => cache.get(name) !== null)).toEqual([
      'e',
      'l',
      'f',
    ]);
    cache.set('g', sized(1_024));
    expect(cache.enforced().map(([domain]) => domain)).toEqual(['e', 'f', 'g']);
    // Asked for last, kept longest.
    cache.get('e');
    cache.set('h', sized(1_024));
    expect(cache.enforced().map(([domain]) => domain)).toEqual(['g', 'e', 'h']);
    expect(cache.get('e')).toEqual(sized(1_024));
  });
});
