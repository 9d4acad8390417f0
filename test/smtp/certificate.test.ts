/** Which certificate the listeners present, and that other software accepts the self-signed one. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import * as crypto from 'node:crypto';
import { X509Certificate, createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { certificateFile } from '../../src/flow/upkeep/certificates.ts';
import { checkPair, readPair, tlsPair } from '../../src/smtp/certificate.ts';
import { selfSigned } from '../../src/smtp/self-signed.ts';
import { testAuthority } from '../rig/certificates.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'certificate-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const config = (toml = '') =>
  parseConfig(
    `hostname = "mail.appliance.example"\ndata_dir = ${JSON.stringify(dir)}\n${toml}`,
    'x',
  );
const now = Date.now();
const print = (pem: string): string => new X509Certificate(pem).fingerprint256;

test('a self-signed one is created once, kept private, and valid for openssl', () => {
  const { cert, key } = tlsPair(config(), now);
  expect(tlsPair(config(), now)).toEqual({ cert, key });
  const file = join(dir, 'smtp-self-signed.pem');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const alone = join(dir, 'alone.pem');
  writeFileSync(alone, cert);
  const openssl = (...args: string[]): string => {
    const done = Bun.spawnSync(['openssl', ...args], { stdout: 'pipe', stderr: 'pipe' });
    return done.stdout.toString() + done.stderr.toString();
  };
  expect(
    openssl(
      'verify',
      '-x509_strict',
      '-CAfile',
      alone,
      '-verify_hostname',
      'mail.appliance.example',
      alone,
    ),
  ).toContain('OK');
  expect(openssl('verify', '-CAfile', alone, '-verify_hostname', 'other.example', alone)).toContain(
    'mismatch',
  );
  expect(new X509Certificate(cert).checkHost('mail.appliance.example')).toBe(
    'mail.appliance.example',
  );
});

test.each([
  ['before 2050, as UTCTime', Date.UTC(2026, 5, 1), '2036'],
  ['after it, as GeneralizedTime', Date.UTC(2045, 5, 1), '2055'],
])('its ten years end in %s', (_, from, year) => {
  expect(new X509Certificate(selfSigned('a.example', from).cert).validTo).toContain(year);
});

test('it is valid for a peer whose clock is a day behind', () => {
  const from = Date.UTC(2026, 5, 15);
  const { validFrom } = new X509Certificate(selfSigned('a.example', from).cert);
  expect(Date.parse(validFrom)).toBe(from - 86_400_000);
});

test('the order is [smtp], [http], ACME, self-signed', () => {
  const [smtp, http, acme] = ['a.example', 'b.example', 'c.example'].map((name) =>
    testAuthority().issue([name]),
  );
  if (smtp === undefined || http === undefined || acme === undefined)
    throw new Error('unreachable');
  const named = (
    table: string,
    { certFile, keyFile }: { certFile: string; keyFile: string },
  ): string => `[${table}]\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"\n`;
  // Made at the first start of most machines, before ACME has fetched anything.
  const own = tlsPair(config(), now).cert;
  const all = named('smtp', smtp) + named('http', http);
  expect(print(tlsPair(config(all), now).cert)).toBe(print(smtp.cert));
  expect(print(tlsPair(config(named('http', http)), now).cert)).toBe(print(http.cert));
  mkdirSync(join(dir, 'acme'));
  writeFileSync(certificateFile(dir), acme.key + acme.cert);
  expect(print(tlsPair(config(), now).cert)).toBe(print(acme.cert));
  rmSync(certificateFile(dir));
  expect(print(tlsPair(config(), now).cert)).toBe(print(own));
});

test('what cannot be used is refused by name', () => {
  const [one, other] = [testAuthority().issue(['a.example']), testAuthority().issue(['b.example'])];
  const pair = (cert: string, key: string) => () =>
    tlsPair(config(`[smtp]\ntls_cert = "${cert}"\ntls_key = "${key}"\n`), now);
  expect(pair(one.certFile, other.keyFile)).toThrow('does not match');
  // The config is checked first; a file may be deleted later.
  const gone = config(`[smtp]\ntls_cert = "${other.certFile}"\ntls_key = "${other.keyFile}"\n`);
  rmSync(other.keyFile);
  expect(() => tlsPair(gone, now)).toThrow('cannot be read (ENOENT)');
  writeFileSync(join(dir, 'junk.pem'), 'junk');
  expect(pair(join(dir, 'junk.pem'), one.keyFile)).toThrow(
    'junk.pem does not contain a usable certificate',
  );
  // Behind a good certificate too: no client could be shown such a chain.
  const chain = join(dir, 'chain.pem');
  const block = '-----BEGIN CERTIFICATE-----\njunk\n-----END CERTIFICATE-----\n';
  writeFileSync(chain, one.cert + block);
  expect(pair(chain, one.keyFile)).toThrow('chain.pem does not contain a usable certificate');
});

test('a long host name stands whole beside the common name, which has 64 characters', () => {
  const host = `${'a'.repeat(40)}.${'b'.repeat(40)}.example`;
  const made = new X509Certificate(selfSigned(host, now).cert);
  expect(made.subject).toBe(`CN=${host.slice(0, 64)}`);
  expect(made.subjectAltName).toBe(`DNS:${host}`);
  expect(made.checkHost(host)).toBe(host);
  expect(made.ca).toBe(false);
  expect(made.verify(made.publicKey)).toBe(true);
});

test('its lines have 64 characters, as RFC 7468 section 2 wants them, and the last one the rest', () => {
  const { cert } = selfSigned('a.example', now);
  expect(cert).toBe(new X509Certificate(cert).toString());
});

test('it is valid for ten years, and each has a number of its own', () => {
  const from = Date.UTC(2026, 5, 15);
  const [one, other] = [selfSigned('a.example', from), selfSigned('a.example', from)];
  const read = new X509Certificate(one.cert);
  expect(Date.parse(read.validTo) - from).toBe(3_650 * 86_400_000);
  expect(read.serialNumber).not.toBe(new X509Certificate(other.cert).serialNumber);
  expect(one.key).not.toBe(other.key);
});

test.each([
  [0xff, `7F${'FF'.repeat(15)}`],
  [0x00, `01${'00'.repeat(15)}`],
])('its number is above zero and in its shortest form: of octets %i it is %s', (octet, number) => {
  const drawn = spyOn(crypto, 'randomBytes').mockImplementation((count: number) =>
    Buffer.alloc(count, octet),
  );
  try {
    // RFC 5280 section 4.1.2.2: positive, at most 20 octets.
    expect(new X509Certificate(selfSigned('a.example', now).cert).serialNumber).toBe(number);
  } finally {
    drawn.mockRestore();
  }
});

test('where another one is there, none is made', () => {
  const { cert, key } = testAuthority().issue(['c.example']);
  mkdirSync(join(dir, 'acme'));
  writeFileSync(certificateFile(dir), key + cert);
  expect(print(tlsPair(config(), now).cert)).toBe(print(cert));
  expect(existsSync(join(dir, 'smtp-self-signed.pem'))).toBe(false);
  rmSync(certificateFile(dir));
  tlsPair(config(), now);
  expect(existsSync(join(dir, 'smtp-self-signed.pem'))).toBe(true);
  expect(existsSync(join(dir, 'smtp-self-signed.pem.new'))).toBe(false);
});

test('keys in the older forms are taken too, and other blocks are left out', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const old = privateKey.export({ type: 'sec1', format: 'pem' });
  expect(old).toContain('EC PRIVATE KEY');
  const { cert, key } = selfSigned('a.example', now);
  const sec1 = createPrivateKey(key).export({ type: 'sec1', format: 'pem' });
  const parameters =
    '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
  expect(checkPair(parameters + cert, parameters + sec1, 'f')).toEqual({ cert, key: sec1 });
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' });
  expect(checkPair(publicPem + cert, publicPem + key, 'f')).toEqual({ cert, key });
  expect(() => checkPair(cert, publicPem, 'f')).toThrow('f does not contain a usable certificate');
  expect(() => checkPair('', key, 'f')).toThrow('f does not contain a usable certificate');
});

test('a pair that the config names and that cannot be used is a wrong config, any other is not', () => {
  const one = testAuthority().issue(['a.example']);
  const named = config(`[http]\ntls_cert = "${one.certFile}"\ntls_key = "${one.keyFile}"\n`);
  writeFileSync(one.keyFile, 'junk');
  const failure = (work: () => unknown): [number, string] => {
    try {
      work();
    } catch (error) {
      if (error instanceof OperatorError) return [error.exitCode, error.message];
    }
    throw new Error('no refusal');
  };
  const [code, message] = failure(() => readPair(named, 'http'));
  expect([code, message]).toEqual([78, expect.stringContaining('http.tls_cert, tls_key: ')]);
  writeFileSync(join(dir, 'smtp-self-signed.pem'), 'junk');
  expect(failure(() => tlsPair(config(), now))[0]).toBe(1);
});

test('it can be read for a host name of any length: DER writes 127 bytes and more in two ways', () => {
  for (let length = 1; length <= 244; length += 1) {
    const host = `${'a.'.repeat(Math.floor(length / 2))}${'b'.repeat(1 + (length % 2))}.example`;
    const made = new X509Certificate(selfSigned(host, now).cert);
    expect([length, made.subjectAltName]).toEqual([length, `DNS:${host}`]);
  }
});

test('each refusal says which file, what is wrong with it and what to do', () => {
  const told = (work: () => unknown): [string, string | undefined] => {
    try {
      work();
    } catch (error) {
      if (error instanceof OperatorError) return [error.message, error.hint];
    }
    throw new Error('no refusal');
  };
  const [one, other] = [testAuthority().issue(['a.example']), testAuthority().issue(['b.example'])];
  expect(told(() => checkPair(one.cert, other.key, '/tls/a.pem'))).toEqual([
    'the private key does not match the certificate in /tls/a.pem',
    'Use the certificate and the private key that were issued together.',
  ]);
  expect(told(() => checkPair(one.cert, 'junk', '/tls/a.pem'))).toEqual([
    expect.stringMatching(
      /^\/tls\/a\.pem does not contain a usable certificate and private key \(.+\)$/,
    ),
    'Provide PEM: the certificate with its chain, and its private key without a passphrase.',
  ]);
  const named = config(`[smtp]\ntls_cert = "${one.certFile}"\ntls_key = "${one.keyFile}"\n`);
  rmSync(one.certFile);
  expect(told(() => tlsPair(named, now))).toEqual([
    `smtp.tls_cert, tls_key: the certificate file ${one.certFile} cannot be read (ENOENT)`,
    'Check that the file exists and that the service can read it.',
  ]);
});

test('the chain stays whole and in its order, and what stands between its blocks is left out', () => {
  const { cert, key } = selfSigned('a.example', now);
  const second = selfSigned('b.example', now).cert;
  const file = `Subject: a\n${cert}Subject: b\n${second}${key}`;
  expect(checkPair(file, file, 'f')).toEqual({ cert: `${cert}${second}`, key });
});
