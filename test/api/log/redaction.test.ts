/** Each secret of a body is hidden by itself, whatever stands beside it. */
import { expect, spyOn, test } from 'bun:test';

import { logBody, logLargeBody, logRest } from '../../../src/api/log/redaction.ts';
import { LEFT_OUT } from '../../../src/flow/content/logged-request.ts';

const SECRET = 'Zm9vYmFyLXNlY3JldA';

test.each([
  [{ token: SECRET }],
  [{ key: SECRET }],
  [{ secret: SECRET }],
  [{ signing_secret: SECRET }],
  [{ signingSecret: SECRET }],
  [{ download_url: `https://mail.example/v1/content?signature=${SECRET}` }],
  [{ data: [{ size: 3, download_url: SECRET }] }],
  [{ content: SECRET }],
  [{ attachments: [{ data: SECRET }] }],
  [{ attachment: [{ Content: SECRET }] }],
])('%j', (body) => {
  const text = JSON.stringify({ name: 'kept', ...body });
  for (const isJson of [false, true]) {
    const shown = logBody(text, { isJson }) ?? '';
    expect(shown).not.toContain(SECRET);
    expect(JSON.parse(shown)).toMatchObject({ name: 'kept' });
  }
});

test('a secret is hidden where the name of its field is written with escapes', () => {
  for (const isJson of [true, false]) {
    expect(logBody(`{"t\\u006fken":"${SECRET}","name":"kept"}`, { isJson })).toBe(
      '{"token":"[hidden]","name":"kept"}',
    );
  }
});

test('what is empty is shown as empty', () => {
  const text = JSON.stringify({ secret: null, content: null, key: null });
  expect(logBody(text)).toBe(text);
});

test('a key is hidden in any field, also when it was cut short', () => {
  for (const secret of ['A'.repeat(36), 'A'.repeat(8)]) {
    expect(logBody(JSON.stringify({ note: `use pr_live_${secret} now` }))).toBe(
      '{"note":"use pr_live_[hidden] now"}',
    );
  }
  // What lists show of a key stays.
  expect(logBody('{"prefix":"pr_live_Ab3d"}')).toBe('{"prefix":"pr_live_Ab3d"}');
});

const CONTENT = 'Dear Ann, your results are in';
const HIDDEN_CONTENT = `[hidden, ${CONTENT.length} characters]`;

test('of an attachment its names are shown, its content and what has another name is hidden', () => {
  const names = {
    filename: 'a.txt',
    path: 'https://x.example/a',
    content_id: 'c1',
    contentId: 'c2',
    content_type: 'text/plain',
    contentType: 'text/html',
    inline_content_id: 'c3',
    inlineContentId: 'c4',
  };
  const attachment = { ...names, content: CONTENT, data: CONTENT, Content: CONTENT };
  expect(JSON.parse(logBody(JSON.stringify({ attachments: [attachment] })) ?? '')).toEqual({
    attachments: [
      { ...names, content: HIDDEN_CONTENT, data: HIDDEN_CONTENT, Content: HIDDEN_CONTENT },
    ],
  });
});

test.each([
  'html',
  'text',
  'headers',
  'body',
  'htmlBody',
  'text_body',
  'filename',
  'content_id',
  'inlineContentId',
  'path',
])('%s is hidden where rows outlive content, and shown where they do not', (field) => {
  const text = JSON.stringify({ subject: 'kept', [field]: CONTENT });
  expect(JSON.parse(logBody(text, { isContentHidden: true }) ?? '')).toEqual({
    subject: 'kept',
    [field]: HIDDEN_CONTENT,
  });
  expect(logBody(text)).toBe(text);
});

test('what no email has is hidden in one where rows outlive content, in one of a batch too', () => {
  const email = {
    from: 'a@x.example',
    to: ['b@x.example'],
    cc: ['b@x.example'],
    bcc: ['b@x.example'],
    reply_to: 'a@x.example',
    replyTo: 'a@x.example',
    subject: 's',
    tags: [{ name: 'n', value: 'v' }],
    scheduled_at: null,
    attachments: [],
  };
  const said = { isEmail: true, isContentHidden: true };
  for (const list of [false, true]) {
    const of = (one: unknown): unknown => (list ? [one] : one);
    const shown = logBody(JSON.stringify(of({ ...email, bodytext: CONTENT, extra: 7 })), said);
    expect(JSON.parse(shown ?? '')).toEqual(
      of({ ...email, bodytext: HIDDEN_CONTENT, extra: '[hidden]' }),
    );
  }
});

test('of an email that is no object nothing is hidden but its fields', () => {
  const said = { isEmail: true, isContentHidden: true };
  for (const text of ['7', 'null', 'true', '"text"', '["x",3,null,[{}]]', '{"extra":null}']) {
    expect(logBody(text, said)).toBe(text);
  }
});

test('what is left of an accepted email is shown where rows do not outlive content', () => {
  const rest = { html: LEFT_OUT, text: CONTENT, subject: 's', headers: { 'X-Note': CONTENT } };
  expect(logRest(rest, false)).toBe(JSON.stringify(rest));
  const attachments = [{ filename: 'a.txt', content: CONTENT }];
  expect(logRest({ ...rest, attachments }, false)).toBe(
    JSON.stringify({ ...rest, attachments: [{ filename: 'a.txt', content: HIDDEN_CONTENT }] }),
  );
});

test('what is left of an accepted email loses its content where rows outlive it, with attachments or without', () => {
  const rest = { html: LEFT_OUT, text: CONTENT, subject: 's', path: CONTENT };
  const shown = { html: LEFT_OUT, text: HIDDEN_CONTENT, subject: 's', path: HIDDEN_CONTENT };
  expect(logRest(rest, true)).toBe(JSON.stringify(shown));
  const attachments = [{ filename: 'a.txt', content: CONTENT }];
  expect(logRest({ ...rest, attachments }, true)).toBe(
    JSON.stringify({
      ...shown,
      attachments: [{ filename: '[hidden, 5 characters]', content: HIDDEN_CONTENT }],
    }),
  );
});

test('what is left of an accepted email is kept up to 16 KiB, and not at all beyond', () => {
  const frame = JSON.stringify({ html: LEFT_OUT, subject: '' }).length;
  for (const [length, isKept] of [
    [16_384, true],
    [16_385, false],
  ] as const) {
    const rest = { html: LEFT_OUT, subject: 's'.repeat(length - frame) };
    expect(logRest(rest, false)).toBe(isKept ? JSON.stringify(rest) : null);
  }
});

test('a secret in what is left of an accepted email is hidden without attachments too, and a key in any field', () => {
  const rest = { html: LEFT_OUT, headers: { Token: SECRET }, subject: `pr_live_${'A'.repeat(36)}` };
  expect(logRest(rest, false)).toBe(
    '{"html":true,"headers":{"Token":"[hidden]"},"subject":"pr_live_[hidden]"}',
  );
});

test('an attachment under its misspelled name in the singular keeps its content as little', () => {
  const body = JSON.stringify({ attachment: [{ filename: 'a', data: 'secret bytes' }] });
  expect(logBody(body)).toBe('{"attachment":[{"filename":"a","data":"[hidden, 12 characters]"}]}');
});

test('an attachment that is no object is hidden, and what stands beside it is shown', () => {
  const attachments = [null, 7, SECRET, { filename: 'a.txt' }];
  const shown = [
    '[hidden]',
    '[hidden]',
    `[hidden, ${SECRET.length} characters]`,
    { filename: 'a.txt' },
  ];
  const text = JSON.stringify({ subject: 's', attachments });
  expect(logBody(text)).toBe(JSON.stringify({ subject: 's', attachments: shown }));
});

test('what is no JSON is measured in characters, whatever they take in bytes', () => {
  for (const text of ['{"ü€', 'näh', '{"token":"ü']) {
    expect(logBody(text)).toBe(`[${text.length} characters that are not JSON]`);
  }
  expect([logBody(''), logBody(null), logBody('', { isJson: true })]).toEqual([null, null, null]);
});

test('of a large body each text is cut before it is written, and secrets are hidden as in any other', () => {
  const shown = { isContentHidden: false, isEmail: true };
  const value = {
    subject: 's',
    token: SECRET,
    attachments: [{ filename: 'a', content: new Uint8Array(2_000_000), data: SECRET }],
    html: 'ü'.repeat(3_000_000),
    text: `pr_live_${'Ab3d'.repeat(9)}`,
  };
  const stringify = spyOn(JSON, 'stringify');
  const text = logLargeBody(value, shown);
  const written = stringify.mock.results.map((one) => String(one.value).length);
  stringify.mockRestore();
  expect(written).toEqual([16_584]);
  expect(Buffer.byteLength(text)).toBe(16_384);
  expect(text).toStartWith(
    '{"subject":"s","token":"[hidden]","attachments":[{"filename":"a","content":"[hidden, 2000000 bytes]","data":"[hidden, 18 characters]"}],"html":"üü',
  );
  expect(logLargeBody({ ...value, html: null }, shown)).toContain('"text":"pr_live_[hidden]"');
  const hidden = logLargeBody({ ...value, other: 'x' }, { isContentHidden: true, isEmail: true });
  expect(JSON.parse(hidden)).toEqual({
    subject: 's',
    token: '[hidden]',
    attachments: [
      {
        filename: '[hidden, 1 characters]',
        content: '[hidden, 2000000 bytes]',
        data: '[hidden, 18 characters]',
      },
    ],
    html: '[hidden, 3000000 characters]',
    text: '[hidden, 44 characters]',
    other: '[hidden, 1 characters]',
  });
  // A field that no email has is content only where an email was sent.
  const other = { isContentHidden: true, isEmail: false };
  expect(logLargeBody({ name: 'x', list: ['y'.repeat(20_000)] }, other)).toBe(
    `{"name":"x","list":["${'y'.repeat(16_384 - '{"name":"x","list":["'.length)}`,
  );
});
