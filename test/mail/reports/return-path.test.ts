/** Return paths find their recipient again, and nobody else can make one. */
import { expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { newId } from '../../rig/ids.ts';
import {
  RETURN_PATH_OCTETS,
  decodeReturnPath,
  encodeReturnPath,
} from '../../../src/mail/reports/return-path.ts';

const macOf = (key: string) => (text: string) => createHmac('sha256', key).update(text).digest();
const mac = macOf('ours');

test('what was encoded decodes, whatever the case', () => {
  for (let count = 0; count < 200; count += 1) {
    const id = newId(1_790_000_000_000 + count);
    const local = encodeReturnPath(id, mac);
    expect(local).toMatch(/^[a-z0-9-]{1,64}$/);
    expect(local).toHaveLength(RETURN_PATH_OCTETS);
    expect(decodeReturnPath(local, mac)).toBe(id);
    expect(decodeReturnPath(local.toUpperCase(), mac)).toBe(id);
  }
});

test('a changed, foreign or malformed local part does not decode', () => {
  const local = encodeReturnPath(newId(1_790_000_000_000), mac);
  expect(decodeReturnPath(local, macOf('theirs'))).toBeNull();
  for (let at = 0; at < local.length; at += 1) {
    const changed = local[at] === '0' ? '1' : '0';
    expect(decodeReturnPath(local.slice(0, at) + changed + local.slice(at + 1), mac)).toBeNull();
  }
  for (const other of [
    '',
    'b-',
    'postmaster',
    `${local}0`,
    ` ${local}`,
    `${local}\n`,
    `b-${'0'.repeat(32)}-${'0'.repeat(16)}`,
  ]) {
    expect(decodeReturnPath(other, mac)).toBeNull();
  }
});

test('the tag is the first eight bytes of the HMAC of the id in hexadecimal', () => {
  const id = newId(1_790_000_000_000);
  const hex = id.replaceAll('-', '');
  expect(encodeReturnPath(id, mac)).toBe(`b-${hex}-${mac(hex).toString('hex').slice(0, 16)}`);
});
