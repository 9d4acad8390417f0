/** Sealed values open only under their own key and label, whole; MACs differ by purpose. */
import { expect, test } from 'bun:test';

import { MASTER_KEY_BYTES, SecretBox } from '../../src/base/secret-box.ts';

const keyOf = (byte: number): Buffer => Buffer.alloc(MASTER_KEY_BYTES, byte);
const box = new SecretBox(keyOf(1));

test('a sealed value opens under its own label only', () => {
  const sealed = box.seal('a secret ✓', 'dkim:one');
  expect(box.open(sealed, 'dkim:one')).toBe('a secret ✓');
  for (const label of ['dkim:two', 'dkim:on', 'dkim:one ', '']) {
    expect(() => box.open(sealed, label)).toThrow();
    expect(box.opens(sealed, label)).toBe(false);
  }
  expect(box.opens(sealed, 'dkim:one')).toBe(true);
});

test('a sealed value opens under its own key only, and with every byte as it was', () => {
  const sealed = box.seal('secret', 'label');
  expect(new SecretBox(keyOf(2)).opens(sealed, 'label')).toBe(false);
  for (let at = 0; at < sealed.length; at += 1) {
    const altered = Uint8Array.from(sealed);
    altered[at] = (altered[at] ?? 0) ^ 1;
    expect([at, box.opens(altered, 'label')]).toEqual([at, false]);
  }
  expect(box.opens(sealed.subarray(0, -1), 'label')).toBe(false);
});

test('the same text is sealed to other bytes each time', () => {
  const [one, other] = [box.seal('secret', 'label'), box.seal('secret', 'label')];
  expect(Buffer.from(one).equals(Buffer.from(other))).toBe(false);
});

test('a MAC depends on key, purpose and text, and not on where one ends and the other begins', () => {
  const hex = (by: SecretBox, purpose: string, text: string): string =>
    by.mac(purpose, text).toString('hex');
  const all = [
    hex(box, 'session', 'x'),
    hex(box, 'link', 'x'),
    hex(box, 'session', 'y'),
    hex(box, 'sessio', 'nx'),
    hex(new SecretBox(keyOf(2)), 'session', 'x'),
  ];
  expect(new Set(all).size).toBe(all.length);
  expect(hex(new SecretBox(keyOf(1)), 'session', 'x')).toBe(hex(box, 'session', 'x'));
});

test('the key of MACs goes with a box to another master key, and opens under no third', () => {
  const next = box.withMasterKey(keyOf(2));
  expect(next.mac('session', 'x').equals(box.mac('session', 'x'))).toBe(true);
  expect(next.fingerprint).not.toBe(box.fingerprint);
  const sealed = next.sealMacKey();
  const third = new SecretBox(keyOf(3));
  expect(() => third.withSealedMacKey(keyOf(3), sealed)).toThrow();
  const taken = new SecretBox(keyOf(2)).withSealedMacKey(keyOf(2), sealed);
  expect(taken.mac('session', 'x').equals(box.mac('session', 'x'))).toBe(true);
});

test('a master key of another length is refused', () => {
  for (const bytes of [MASTER_KEY_BYTES - 1, MASTER_KEY_BYTES + 1]) {
    expect(() => new SecretBox(Buffer.alloc(bytes))).toThrow('32 bytes');
  }
});

test('what an earlier version sealed, signed and noted is what this one opens, makes and knows', () => {
  const hex = (text: string): Buffer => Buffer.from(text, 'hex');
  // HKDF (RFC 5869) and HMAC computed by another program; the sealed values as version 0.1.0 has written them.
  expect(box.fingerprint).toBe('9554e10614c15075816b1f2735b7778786f0cc3370068881614d55b941c75c90');
  expect(box.mac('return-path', 'x').toString('hex')).toBe(
    'a45719a6d80ca6cf3f328b0ba4c4e48ce2474bcc6c96d7945e1bba0203fd38ca',
  );
  const sealed = hex('014b984bccc8b49124340e4dab87e685b86b9b804b08ee723f0cb0af671cd6aca4ae74ae85');
  expect(box.open(sealed, 'dkim:one')).toBe('a secret');
  const macKey = hex(
    '01bcd519d7bfb9707c5271e516ba8ee56abb89780aff3fc3f0ed190242a7bd43b565638e113066e7f70c86fbb245b507d13c123aeaa744104caed041d8332c430d5502b73855047ef328de2a5bc69f0a171b21d53ecd159ab1e09f46f1',
  );
  const other = new SecretBox(keyOf(1), keyOf(9)).withSealedMacKey(keyOf(1), macKey);
  expect(other.mac('return-path', 'x')).toEqual(box.mac('return-path', 'x'));
});

test('a label counts to its end: rows whose ids begin alike do not open each other', () => {
  const label = 'dkim:0192f3a4-7c11-7b3e-9f20-c1d2e3f4a5b';
  const sealed = box.seal('secret', `${label}6`);
  expect([box.opens(sealed, `${label}6`), box.opens(sealed, `${label}7`)]).toEqual([true, false]);
});

test("a key of MACs is the box's own: plain bytes do, and it stays when they are overwritten", () => {
  const bytes = new Uint8Array(32).fill(9);
  const [one, other] = [new SecretBox(keyOf(1), bytes), new SecretBox(keyOf(1), keyOf(9))];
  bytes.fill(0);
  const mac = other.mac('session', 'x');
  expect(one.mac('session', 'x')).toEqual(mac);
  expect(box.withSealedMacKey(keyOf(1), one.sealMacKey()).mac('session', 'x')).toEqual(mac);
});
