/** Message-IDs: which a sender may choose, and which name an email of this service. */
import { expect, test } from 'bun:test';

import { checkMessageId, ownMessageId } from '../../../src/mail/header/message-id.ts';

const FORM = 'must have the form <left@right> of RFC 5322';

test.each([
  ['<1@shop.example>', null],
  ["<a.b!#$%&'*+-/=?^_`{|}~@shop.example>", null],
  ['<1@localhost>', null],
  ['<1@[192.0.2.1]>', null],
  ['<1@[IPv6:2001:db8::1]>', null],
  ['<1@[]>', null],
  ['1@shop.example', FORM],
  ['<1@shop.example', FORM],
  ['<1>', FORM],
  ['<@shop.example>', FORM],
  ['<1@>', FORM],
  ['<1@@shop.example>', FORM],
  ['<a..b@shop.example>', FORM],
  ['<.a@shop.example>', FORM],
  ['<a@shop..example>', FORM],
  ['<"a"@shop.example>', FORM],
  ['<a b@shop.example>', FORM],
  ['<a@shop.example> ', FORM],
  ['<a@shop.example><b@shop.example>', FORM],
  ['<a@[b[c]>', FORM],
  ['<ü@shop.example>', FORM],
  ['', FORM],
  [`<${'a'.repeat(485)}@shop.example>`, null],
  [`<${'a'.repeat(486)}@shop.example>`, 'must not be longer than 500 characters'],
])('%s', (value, reason) => expect(checkMessageId(value)).toBe(reason));

const ID = '01913c7e-89ab-7cde-8f01-23456789abcd';

test.each([
  [`<${ID}@mail.example>`, ID],
  [`${ID}@mail.example`, ID],
  [`<${ID.toUpperCase()}@MAIL.example>`, ID],
  [`<${ID}@other.example>`, null],
  [`<${ID}@sub.mail.example>`, null],
  [`<${ID}>`, null],
  [`<x${ID}@mail.example>`, null],
  [`<${ID}@mail>.example>`, null],
  [`<<${ID}@mail.example>`, null],
  ['<1@mail.example>', null],
  ['', null],
  [null, null],
])('%p names the email %p', (value, id) => expect(ownMessageId(value, 'mail.example')).toBe(id));
