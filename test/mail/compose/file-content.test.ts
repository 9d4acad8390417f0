/** Files in the JSON of a body become bytes where they stand; what is none stays for the schema. */
import { expect, test } from 'bun:test';

import { makeFileBytes } from '../../../src/mail/compose/file-content.ts';

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

/** What becomes of the content of a file. */
function made(content: unknown): unknown {
  const body = { subject: 's', attachments: [{ filename: 'a', content }] };
  makeFileBytes(body);
  expect(body.subject).toBe('s');
  const [first] = body.attachments;
  return first?.content instanceof Uint8Array ? Uint8Array.from(first.content) : first?.content;
}

test.each([
  ['YWJj', bytes('abc')],
  ['', bytes('')],
  ['BEGIN:VCALENDAR ü', bytes('BEGIN:VCALENDAR ü')],
  [[97, 0, 255], Uint8Array.of(97, 0, 255)],
  [[], bytes('')],
  [{ type: 'Buffer', data: [97] }, bytes('a')],
  ['no base64!', 'no base64!'],
  [[1, 256], false],
  [['a'], false],
  [{ type: 'Buffer', data: [-1] }, false],
  [{ type: 'Blob', data: [1] }, false],
  [{ type: 'Buffer', data: [1], more: 1 }, false],
  [{ type: 'Buffer' }, { type: 'Buffer' }],
  [7, 7],
  [null, null],
  [undefined, undefined],
])('%j becomes %j', (content, expected) => {
  expect(made(content)).toEqual(expected as never);
});

test('in one email or a list of them; what is no email or no list of files stays as it is', () => {
  const list = [{ attachments: [{ content: 'YQ==' }] }, { attachments: [{ content: [98] }] }];
  makeFileBytes(list);
  expect(list.map(({ attachments }) => String(attachments[0]?.content))).toEqual(['a', 'b']);
  for (const other of [
    null,
    7,
    'x',
    [null, 'x', [[]]],
    { attachments: 'x' },
    { attachments: { content: 'YQ==' } },
    { attachments: [null, 'YQ==', [1], {}] },
    { content: 'YQ==' },
  ]) {
    const copy: unknown = structuredClone(other);
    makeFileBytes(other);
    expect(other as unknown).toEqual(copy);
  }
});

test('many bytes are shared between threads, whatever they were', () => {
  const count = 70_000;
  const body = {
    attachments: [
      { content: Buffer.alloc(count, 1).toString('base64') },
      { content: Array.from({ length: count }, () => 1) },
      { content: `BEGIN:VCALENDAR${'x'.repeat(count)}` },
    ],
  };
  makeFileBytes(body);
  for (const { content } of body.attachments as { content: unknown }[]) {
    if (!(content instanceof Uint8Array)) throw new Error('no bytes');
    expect(content.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(content.length).toBeGreaterThanOrEqual(count);
  }
});
