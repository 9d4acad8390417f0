/** The system's libcrypto: it takes RSA keys alone, signs as the runtime does, and keeps nothing of a key given back. */
import { afterEach, expect, mock, test } from 'bun:test';
import * as ffi from 'bun:ffi';
import { generateKeyPairSync, sign, verify } from 'node:crypto';

import { Libcrypto } from '../../../src/mail/dkim/libcrypto.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const der = privateKey.export({ type: 'pkcs8', format: 'der' });

/** Every Debian since 12 has it, and so has each machine that runs the tests. */
function library(): Libcrypto {
  const opened = Libcrypto.open();
  if (opened === null) throw new Error('libcrypto.so.3 is missing: install libssl3');
  return opened;
}

const realFfi = { ...ffi };
afterEach(() => mock.module('bun:ffi', () => realFfi));

/** What is made and given back in a library that is opened from now on: `key 1`, `free key 1`, `context 2`, … */
async function watched(): Promise<string[]> {
  const told: string[] = [];
  const names = new Map<unknown, string>();
  const made = (kind: string, pointer: unknown): unknown => {
    if (pointer === null) return null;
    names.set(pointer, `${kind} ${told.filter((one) => one.startsWith(kind)).length + 1}`);
    told.push(names.get(pointer) ?? '');
    return pointer;
  };
  const freed = (pointer: unknown): void => void told.push(`free ${names.get(pointer) ?? 'other'}`);
  type Call = (...given: unknown[]) => unknown;
  await mock.module('bun:ffi', () => ({
    ...realFfi,
    dlopen: (...given: Parameters<typeof realFfi.dlopen>) => {
      const opened = realFfi.dlopen(...given);
      const real = opened.symbols as unknown as Record<string, Call>;
      const free =
        (name: string): Call =>
        (pointer) => (freed(pointer), real[name]?.(pointer));
      const symbols = {
        ...real,
        d2i_AutoPrivateKey: (...args: unknown[]) =>
          made('key', real['d2i_AutoPrivateKey']?.(...args)),
        EVP_PKEY_CTX_new: (...args: unknown[]) =>
          made('context', real['EVP_PKEY_CTX_new']?.(...args)),
        EVP_PKEY_free: free('EVP_PKEY_free'),
        EVP_PKEY_CTX_free: free('EVP_PKEY_CTX_free'),
      };
      return { ...opened, symbols };
    },
  }));
  return told;
}

test('whatever is made of a key is given back: with it, and at once where it is refused', async () => {
  const told = await watched();
  const opened = library();
  const key = opened.readKey(der);
  // The context alone keeps what it needs to sign.
  expect(told.splice(0)).toEqual(['key 1', 'context 1', 'free key 1']);
  expect(key?.sign(Buffer.from('x'))).toEqual(sign('sha256', Buffer.from('x'), privateKey));
  expect(told).toEqual([]);
  key?.free();
  expect(told.splice(0)).toEqual(['free context 1']);
  const curve = generateKeyPairSync('ed25519').privateKey;
  expect(opened.readKey(curve.export({ type: 'pkcs8', format: 'der' }))).toBeNull();
  expect(told.splice(0)).toEqual(['key 1', 'context 1', 'free key 1', 'free context 1']);
  expect(opened.readKey(Buffer.from('no key'))).toBeNull();
  expect(told).toEqual([]);
});

test('a signature of 8,192 bits fits', () => {
  // Four primes, of which the runtime makes none, are found in a fraction of the time that two take.
  const options = ['rsa_keygen_bits:8192', 'rsa_keygen_primes:4'].flatMap((one) => [
    '-pkeyopt',
    one,
  ]);
  const run = (args: string[], stdin?: Uint8Array): Buffer =>
    Bun.spawnSync(['openssl', ...args], { stdin: stdin ?? null, stderr: 'ignore' }).stdout;
  const large = run(['genpkey', '-algorithm', 'RSA', ...options, '-outform', 'DER']);
  const published = run(['pkey', '-inform', 'DER', '-pubout'], large).toString();
  const key = library().readKey(large);
  const signature = key?.sign(Buffer.from('x')) ?? Buffer.alloc(0);
  expect(signature).toHaveLength(1_024);
  expect(verify('sha256', Buffer.from('x'), published, signature)).toBe(true);
  key?.free();
}, 120_000);

test('one key signs one text after the other, as the runtime does', () => {
  const key = library().readKey(der);
  for (const text of ['', 'a', 'b'.repeat(100_000)]) {
    const data = Buffer.from(text);
    expect(key?.sign(data)).toEqual(sign('sha256', data, privateKey));
  }
  key?.free();
});

test('what is no RSA key, no key or no library gives null', () => {
  const curve = generateKeyPairSync('ed25519').privateKey;
  expect(library().readKey(curve.export({ type: 'pkcs8', format: 'der' }))).toBeNull();
  expect(library().readKey(der.subarray(0, 100))).toBeNull();
  expect(library().readKey(Buffer.from('no key'))).toBeNull();
  expect(Libcrypto.open('libcrypto.so.none')).toBeNull();
});

test('thousands of keys that were read and given back leave no memory behind', () => {
  const open = library();
  const readAll = (count: number): void => {
    for (let at = 0; at < count; at += 1) open.readKey(der)?.free();
  };
  readAll(1_000);
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  readAll(6_000);
  Bun.gc(true);
  const grownMiB = (process.memoryUsage.rss() - before) / 2 ** 20;
  // Each that stays takes about 3 KiB, and one context as much again.
  expect(grownMiB).toBeLessThan(9);
}, 120_000);
