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
});
