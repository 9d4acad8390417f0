/** RSA signatures by the runtime and by the system's library: equal, and right. */
import { expect, test } from 'bun:test';
import { createPrivateKey, generateKeyPairSync, verify } from 'node:crypto';

import { DkimSigner } from '../../../src/mail/dkim/dkim.ts';
import { Libcrypto } from '../../../src/mail/dkim/libcrypto.ts';
import { RsaKey } from '../../../src/mail/dkim/rsa.ts';

const pairs = [2048, 3072].map((modulusLength) => generateKeyPairSync('rsa', { modulusLength }));
const pems = pairs.map(({ privateKey }) => privateKey.export({ type: 'pkcs8', format: 'pem' }));

test('both ways give the same signature, which verifies', async () => {
  for (const [index, pem] of pems.entries()) {
    const [patient, other] = [new RsaKey(pem, Libcrypto.open()), new RsaKey(pem)];
    for (const text of ['', 'x', 'a byte above 127: \u00e9', 'long '.repeat(5_000)]) {
      const data = Buffer.from(text, 'latin1');
      const signature = await other.sign(text);
      expect(signature).toHaveLength(other.signatureBytes);
      // PKCS #1 v1.5 has no randomness.
      expect(await patient.sign(text)).toEqual(signature);
      expect(verify('sha256', data, pairs[index]?.publicKey ?? '', signature)).toBe(true);
    }
    patient.free();
  }
});

test('where the library could not sign, the runtime does', async () => {
  const [pem = ''] = pems;
  let asked = 0;
  const key = { sign: () => ((asked += 1), null), free: () => undefined };
  const failing = { readKey: () => key } as unknown as Libcrypto;
  expect(await new RsaKey(pem, failing).sign('x')).toEqual(await new RsaKey(pem).sign('x'));
  expect(asked).toBe(1);
});

test('a key, and the signer that has it, gives back what the library holds, once', () => {
  const [pem = ''] = pems;
  let given = 0;
  const library = {
    readKey: () => ({ sign: () => null, free: () => void (given += 1) }),
  } as unknown as Libcrypto;
  new RsaKey(pem, library).free();
  expect(given).toBe(1);
  new DkimSigner({ domain: 'd.example', selector: 's', privateKeyPem: pem }, library).free();
  expect(given).toBe(2);
  // Without a library there is nothing to give back.
  new RsaKey(pem).free();
  expect(given).toBe(2);
});

test('knows the length of its signatures, and refuses what is no RSA key', () => {
  expect(pems.map((pem) => new RsaKey(pem).signatureBytes)).toEqual([256, 384]);
  const { privateKey } = generateKeyPairSync('ed25519');
  // A DSA key has a length too; the runtime reads one and makes none.
  const make = 'openssl dsaparam -genkey 1024 | openssl pkcs8 -topk8 -nocrypt';
  const dsa = Bun.spawnSync(['sh', '-c', make], { stderr: 'ignore' }).stdout.toString();
  expect(createPrivateKey(dsa).asymmetricKeyType).toBe('dsa');
  for (const pem of [privateKey.export({ type: 'pkcs8', format: 'pem' }), dsa]) {
    expect(() => new RsaKey(pem)).toThrow('a DKIM key must be an RSA key');
  }
});
