/** Addresses as callers write them: each form, each fault with its path, and how far a list is looked at. */
import { expect, test } from 'bun:test';

import { readAddress, readAddresses, tidyAddresses } from '../../../src/api/shapes/addresses.ts';
import type { Fault } from '../../../src/api/shapes/check.ts';
import { formatAddress } from '../../../src/mail/header/address.ts';

type Value = Parameters<typeof readAddress>[0];

/** The address as it is shown, or the fault of it at `path`. */
function read(value: Value, path = 'to'): string | Fault[] {
  const faults: Fault[] = [];
  const mailbox = readAddress(value, path, faults);
  return mailbox === null ? faults : formatAddress(mailbox);
}

test.each([
  ['a@b.example', 'a@b.example'],
  ['Ann Lee <a@b.example>', 'Ann Lee <a@b.example>'],
  [{ email: 'a@b.example' }, 'a@b.example'],
  [{ email: 'a@b.example', name: '' }, 'a@b.example'],
  [{ email: 'a@b.example', name: 'Lee, Ann' }, '"Lee, Ann" <a@b.example>'],
  ['=?UTF-8?Q?Gr=C3=BC=C3=9Fe?= <a@b.example>', 'Grüße <a@b.example>'],
  ['Ann =?UTF-8?Q?Gr=C3=BC=C3=9Fe?= <a@b.example>', 'Ann Grüße <a@b.example>'],
  // In the form of an object a name is what it says.
  [{ email: 'a@b.example', name: '=?UTF-8?Q?x?=' }, '=?UTF-8?Q?x?= <a@b.example>'],
  // An address within a name stays a name.
  ['=?UTF-8?Q?x=40y.example?= <a@b.example>', '"x@y.example" <a@b.example>'],
] as [Value, string][])('%j is %s', (value, shown) => {
  expect(read(value)).toBe(shown);
});

test.each([
  ['nobody', 'must be of the form name@domain'],
  ['', 'must not be empty'],
  [{ email: 'nobody' }, 'must be of the form name@domain'],
  [{ email: 'Ann <a@b.example>' }, 'must have its address once, between "<" and ">"'],
  [{ email: 'a@b.example', name: 'a\nb' }, 'must not contain a line break'],
  ['=?UTF-8?Q?a=0Ab?= <a@b.example>', 'must not contain a line break'],
] as [Value, string][])('%j %s', (value, words) => {
  const fault = (path: string) => [{ path, message: `${path} ${words}.`, isMissing: false }];
  expect([read(value), read(value, '[3].cc[1]')]).toEqual([fault('to'), fault('[3].cc[1]')]);
});

test('of a list each address is read; what was refused before is left out, and the rest beyond the faults', () => {
  const list = ['a@b.example', 'x', 'c@d.example', 'y', 'e@f.example', 'z'];
  const readList = (
    value: Parameters<typeof readAddresses>[0],
    before: string[],
    most?: number,
  ) => {
    const faults = before.map((path): Fault => ({ path, message: '', isMissing: false }));
    const found = readAddresses(value, 'to', faults, most);
    return [found.map(({ local }) => local).join(''), faults.map(({ path }) => path).join(' ')];
  };
  expect(readList(undefined, [])).toEqual(['', '']);
  expect(readList([], [])).toEqual(['', '']);
  expect(readList('a@b.example', [])).toEqual(['a', '']);
  expect(readList('x', [])).toEqual(['', 'to']);
  expect(readList(list, [])).toEqual(['ace', 'to[1] to[3] to[5]']);
  expect(readList(list, ['to[1].name', 'to[2]'])).toEqual(['ae', 'to[1].name to[2] to[3] to[5]']);
  expect(readList(list, [], 3)).toEqual(['ace', 'to[1] to[3] to[5]']);
  expect(readList(list, [], 2)).toEqual(['ac', 'to[1] to[3]']);
  expect(readList(list, [], 1)).toEqual(['a', 'to[1]']);
  expect(readList(list, ['other'], 1)).toEqual(['', 'other']);
  const bad = Array.from({ length: 102 }, () => 'x');
  expect(readList(bad, [])[1]?.split(' ')).toHaveLength(100);
});

test('a name that is null is none, in a list too', () => {
  const address = { email: 'a@b.example', name: null };
  const bare = { email: 'a@b.example' };
  expect(tidyAddresses(address)).toEqual(bare);
  expect(tidyAddresses([address, 'x', null, 5])).toEqual([bare, 'x', null, 5]);
  expect([tidyAddresses('x'), tidyAddresses(null), tidyAddresses(5)]).toEqual(['x', null, 5]);
});
