/** Documents of the dashboard: a large one is in the memory budget until it is read, and a HEAD gets none of it. */
import { expect, test } from 'bun:test';
import { documentResponse } from '../../src/dashboard/document.ts';
import { ByteBudget } from '../../src/flow/byte-budget.ts';

const LARGE = Buffer.alloc(300_000, 'é');
const KIND = { kind: 'document', contentType: 'message/rfc822' } as const;

test('a large one takes its bytes until its end, and arrives whole', async () => {
  const budget = new ByteBudget();
  const response = documentResponse(budget, { ...KIND, body: LARGE, saveAs: 'ä.eml' }, { a: 'b' });
  expect(budget.bytes).toBe(LARGE.length);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes.equals(LARGE)).toBe(true);
  expect(budget.bytes).toBe(0);
  expect(Object.fromEntries(response.headers)).toEqual({
    a: 'b',
    'content-type': 'message/rfc822',
    'content-security-policy':
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
    'content-disposition': `attachment; filename="_.eml"; filename*=UTF-8''%C3%A4.eml`,
  });
});

test('a name that is no text keeps what is one', () => {
  const saveAs = `it's to a@b.example (1) * \uD800.eml`;
  const { headers } = documentResponse(new ByteBudget(), { ...KIND, body: '', saveAs }, {});
  expect(headers.get('content-disposition')).toBe(
    `attachment; filename="it_s to a@b.example _1_ _ _.eml"; filename*=UTF-8''it%27s%20to%20a%40b.example%20%281%29%20%2a%20%EF%BF%BD.eml`,
  );
});

test('one for which there is no memory is refused, and takes none', () => {
  const budget = new ByteBudget({ large: 500_000, small: 1 });
  const open = () => documentResponse(budget, { ...KIND, body: LARGE }, {});
  expect(open).toThrow('This service is handling too many large requests at the moment.');
  expect(budget.bytes).toBe(0);
});

test('a small one and a stream take nothing', async () => {
  const budget = new ByteBudget();
  expect(await documentResponse(budget, { ...KIND, body: 'small' }, {}).text()).toBe('small');
  const stream = new Response('streamed').body ?? '';
  expect(await documentResponse(budget, { ...KIND, body: stream }, {}).text()).toBe('streamed');
  expect(budget.bytes).toBe(0);
});

test.each([
  [LARGE, '300000'],
  ['née', '4'],
  [new ReadableStream<Uint8Array>(), null],
])('a HEAD has the length alone, where it is known', async (body, length) => {
  const response = documentResponse(null, { ...KIND, body }, {});
  expect(response.headers.get('content-length')).toBe(length);
  expect(response.headers.get('content-type')).toBe('message/rfc822');
  expect(await response.text()).toBe('');
});
