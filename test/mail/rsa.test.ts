/** RSA signatures: alone by the runtime, many at once by the signing thread, all of them right. */
import { expect, test } from 'bun:test';
import { generateKeyPairSync, verify } from 'node:crypto';

import { RsaKey } from '../../src/mail/rsa.ts';

const pairs = [2048, 3072].map((modulusLength) => generateKeyPairSync('rsa', { modulusLength }));
const keys = pairs.map(
  ({ privateKey }) => new RsaKey(privateKey.export({ type: 'pkcs8', format: 'pem' })),
);

test('one alone is right', async () => {
  const data = Buffer.from('alone, with a byte above 127: \u00e9', 'latin1');
  const signature = await keys[0]?.sign(data.toString('latin1'));
  expect(signature).toHaveLength(256);
  expect(verify('sha256', data, pairs[0]?.publicKey ?? '', signature ?? data)).toBe(true);
});

test('many at once, of several keys, belong to their data', async () => {
  // Again and again: the first ones come before the thread is up.
  for (let round = 0; round < 5; round += 1) {
    const jobs = Array.from({ length: 60 }, async (_, job) => {
      const data = Buffer.from(`message ${round} ${job} ${'x'.repeat(job * 20)}`);
      const signature = await keys[job % 2]?.sign(data.toString('latin1'));
      return verify('sha256', data, pairs[job % 2]?.publicKey ?? '', signature ?? data);
    });
    expect((await Promise.all(jobs)).every(Boolean)).toBe(true);
  }
});

test('knows the length of its signatures, and refuses what is no RSA key', () => {
  expect(keys.map((key) => key.signatureBytes)).toEqual([256, 384]);
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  expect(() => new RsaKey(pem)).toThrow('RSA');
});
