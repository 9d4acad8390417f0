/** What the log leaves out of a request: only what is stored with the message. */
import { expect, test } from 'bun:test';
import { requestBodyOf, withoutContent } from '../../../src/flow/content/logged-request.ts';

const html = '<p>long</p>'.repeat(200);

test('html and text that are stored with the message are left out, in the order of the request', () => {
  const rest = withoutContent({ html, to: 'a', text: 'short' }, { html, text: 'short' });
  expect(JSON.stringify(rest)).toBe('{"html":true,"to":"a","text":true}');
});

test('the request itself stays as it was', () => {
  const request = { html };
  withoutContent(request, { html, text: null });
  expect(request.html).toBe(html);
});

test.each([
  ['is not in the request', { html }, { html, text: html }, { html: true }],
  ['is null there', { html, text: null }, { html, text: null }, { html: true, text: null }],
  ['differs', { html, text: 'a' }, { html, text: 'b' }, { html: true, text: 'a' }],
])('what %s stays', (_words, request, content, rest) => {
  expect(withoutContent(request, content)).toEqual(rest);
});

test.each([
  ['a list', [{ html }]],
  ['no value', undefined],
  ['text', html],
  ['an email whose content is not that of the message', { html: `${html} ` }],
])('nothing is left out of %s', (_words, request) => {
  expect(withoutContent(request, { html, text: null })).toBeNull();
});

test('nothing is left out where hardly anything would be saved', () => {
  expect(withoutContent({ text: 'Hi.' }, { html: null, text: 'Hi.' })).toBeNull();
});

test('what is put back together is cut like every body of the log', async () => {
  const long = 'é'.repeat(20_000);
  const request = JSON.stringify({ to: 'a@example.com', text: true });
  const store = {
    contentSizes: () => Promise.resolve(null),
    listedBody: () => Promise.resolve({ body: { html: null, text: long, raw: null } }),
  };
  const row = { accountId: 'account', messageId: 'message', requestBody: request };
  const shown = await requestBodyOf({ store } as never, row as never);
  const whole = JSON.stringify({ to: 'a@example.com', text: long });
  expect(shown?.endsWith('é')).toBe(true);
  expect(whole.startsWith(shown ?? '-')).toBe(true);
  const bytes = Buffer.byteLength(shown ?? '');
  expect(bytes === 16_384 || bytes === 16_383).toBe(true);
});
