/** The system's libcrypto: it takes RSA keys alone, signs as the runtime does, and keeps nothing of a key given back. */
import { expect, test } from 'bun:test';
import { generateKeyPairSync, sign } from 'node:crypto';

import { Libcrypto } from '../../../src/mail/dkim/libcrypto.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const der = privateKey.export({ type: 'pkcs8', format: 'der' });

/** Every Debian since 12 has it, and so has each machine that runs the tests. */
function library(): Libcrypto {
  const opened = Libcrypto.open();
  if (opened === null) throw new Error('libcrypto.so.3 is missing: install libssl3');
  return opened;
}

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
});
