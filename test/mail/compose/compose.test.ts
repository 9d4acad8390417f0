/** Composed messages read back as what went in, by a parser that is not ours. */
import { expect, test } from 'bun:test';
import PostalMime, { decodeWords, type Address } from 'postal-mime';
import { parseAddress } from '../../../src/mail/header/address.ts';
import { compose, type ComposeInput } from '../../../src/mail/compose/compose.ts';
import { isSevenBit, hasLongLine, normalizeLines } from '../../../src/mail/mime/lines.ts';
import { randomInput, seeded } from '../random.ts';

const SEED = 20_000;
const MESSAGES = 500;

const PLAIN: ComposeInput = {
  from: 'Ann <ann@example.com>',
  to: ['bob@example.org'],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  html: null,
  text: 'Hi Bob\n',
  headers: [],
  attachments: [],
  messageId: '<1@mail.example.com>',
  date: new Date('2026-11-21T01:02:03Z'),
  feedbackId: null,
};

/** Text as a reader shows it: line ends as LF, none at the end. */
function shown(text: string | null | undefined): string {
  return (text ?? '').replace(/\r\n|\r|\n/g, '\n').replace(/\n+$/, '');
}

function parties(list: string[]): { name: string; address: string }[] {
  return list.map((text) => {
    const mailbox = parseAddress(text);
    if ('error' in mailbox) throw new Error(mailbox.error);
    // Readers show a quoted local part without its quotation marks.
    const local = mailbox.local.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/g, '$1');
    return { name: mailbox.name, address: `${local}@${mailbox.domain}` };
  });
}

function read(list: Address[] | undefined): { name: string; address: string }[] {
  return (list ?? []).map(({ name, address }) => ({
    name,
    address: (address ?? '').replace(/^"(.*)"(?=@)/s, '$1').replace(/\\(.)/g, '$1'),
  }));
}

test(`${MESSAGES} random messages read back as they went in (seed ${SEED})`, async () => {
  for (let seed = SEED; seed < SEED + MESSAGES; seed += 1) {
    const input = randomInput(seeded(seed), seed);
    const bytes = await compose(input);
    expect([seed, hasLongLine(bytes)]).toEqual([seed, false]);
    expect([seed, isSevenBit(bytes)]).toEqual([seed, true]);
    expect([seed, normalizeLines(bytes) === bytes || normalizeLines(bytes).equals(bytes)]).toEqual([
      seed,
      true,
    ]);
    expect([seed, (await compose(input)).equals(bytes)]).toEqual([seed, true]);

    const email = await PostalMime.parse(bytes);
    expect([seed, read(email.from && [email.from])]).toEqual([seed, parties([input.from])]);
    expect([seed, read(email.to)]).toEqual([seed, parties(input.to)]);
    expect([seed, read(email.cc)]).toEqual([seed, parties(input.cc)]);
    expect([seed, read(email.replyTo)]).toEqual([seed, parties(input.replyTo)]);
    expect([seed, email.subject]).toEqual([seed, input.subject]);
    expect([seed, email.messageId, email.date]).toEqual([
      seed,
      input.messageId,
      new Date(Math.floor(input.date.getTime() / 1000) * 1000).toISOString(),
    ]);
    expect([seed, shown(email.html)]).toEqual([seed, shown(input.html)]);
    expect([seed, shown(email.text)]).toEqual([seed, shown(input.text)]);
    expect([seed, email.attachments.map(({ filename }) => filename ?? '').toSorted()]).toEqual([
      seed,
      input.attachments.map(({ filename }) => filename ?? '').toSorted(),
    ]);
    for (const file of input.attachments) {
      const found = email.attachments.find((other) => other.filename === file.filename);
      expect([
        seed,
        Buffer.from(found?.content as ArrayBuffer).equals(Buffer.from(file.content)),
      ]).toEqual([seed, true]);
      expect([seed, found?.contentId ?? null]).toEqual([
        seed,
        file.contentId === null ? null : `<${file.contentId}>`,
      ]);
    }
    expect([
      seed,
      email.headers.filter(({ key }) => key === 'x-text').map(({ value }) => decodeWords(value)),
    ]).toEqual([
      seed,
      input.headers.filter(([name]) => name === 'X-Text').map(([, value]) => value),
    ]);
  }
}, 60_000);

test('a plain message is exactly what the RFCs ask for', async () => {
  expect((await compose(PLAIN)).toString()).toBe(
    [
      'From: Ann <ann@example.com>',
      'To: bob@example.org',
      'Subject: Hello',
      'Date: Sat, 21 Nov 2026 01:02:03 +0000',
      'Message-ID: <1@mail.example.com>',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'Hi Bob',
      '',
    ].join('\r\n'),
  );
});

test('text and HTML are alternatives, text first', async () => {
  const message = (await compose({ ...PLAIN, html: '<p>Hi</p>' })).toString();
  expect(message).toContain('Content-Type: multipart/alternative;');
  const boundary = /boundary="([^"]+)"/.exec(message)?.[1] ?? '';
  expect(message.slice(message.indexOf('\r\n\r\n') + 4)).toBe(
    [
      `--${boundary}`,
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'Hi Bob',
      '',
      `--${boundary}`,
      'Content-Type: text/html; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      '<p>Hi</p>',
      `--${boundary}--`,
      '',
    ].join('\r\n'),
  );
});

test('an image the HTML shows stands beside it, others are attached', async () => {
  const image = {
    filename: 'a.png',
    contentType: 'image/png',
    contentId: 'logo',
    content: Buffer.from('x'),
  };
  const related = (
    await compose({ ...PLAIN, html: '<img src="cid:logo">', attachments: [image] })
  ).toString();
  expect(related).toContain('multipart/related');
  expect(related).toContain('Content-Disposition: inline');
  expect(related).toContain('Content-ID: <logo>');
  const mixed = (
    await compose({ ...PLAIN, html: '<p>no image</p>', attachments: [image] })
  ).toString();
  expect(mixed).not.toContain('multipart/related');
  expect(mixed).toContain('multipart/mixed');
  expect(mixed).toContain('Content-ID: <logo>');
});

test('names of attachments are written for old and new readers', async () => {
  const message = (
    await compose({
      ...PLAIN,
      attachments: [
        {
          filename: 'Übersicht "2026".pdf',
          contentType: 'application/pdf',
          contentId: null,
          content: Buffer.from('x'),
        },
      ],
    })
  ).toString();
  expect(message).toMatch(/filename\*0\*=utf-8''%C3%9Cbersicht/);
  expect(message).toMatch(/name="=\?UTF-8\?[QB]\?/);
});

test('an attached message stays a message, or becomes a file when it is not 7-bit', async () => {
  const attach = async (content: string): Promise<string> =>
    (
      await compose({
        ...PLAIN,
        attachments: [
          {
            filename: 'm.eml',
            contentType: 'message/rfc822',
            contentId: null,
            content: Buffer.from(content),
          },
        ],
      })
    ).toString();
  const plain = await attach('From: a@example.com\n\nbody\n');
  expect(plain).toContain('Content-Type: message/rfc822');
  expect(plain).toContain('Content-Transfer-Encoding: 7bit');
  expect(plain).toContain('\r\n\r\nFrom: a@example.com\r\n\r\nbody\r\n');
  for (const odd of ['From: a@example.com\n\nbödy\n', `X: ${'x'.repeat(1_000)}\n\n`, 'a\0b']) {
    expect(await attach(odd)).toContain('Content-Type: application/octet-stream');
  }
});

test('an attachment cannot bring in MIME parts of its own', async () => {
  for (const contentType of [
    'multipart/mixed',
    'Multipart/Mixed; boundary=x',
    'text',
    'text/plain; x',
    '',
  ]) {
    const file = {
      filename: 'f',
      contentType,
      contentId: null,
      content: Buffer.from('--x\r\n\r\nhi\r\n--x--'),
    };
    expect(compose({ ...PLAIN, attachments: [file] })).rejects.toThrow(/attachment "f" must/);
  }
});

test('an attached file may be empty', async () => {
  const file = {
    filename: 'empty.bin',
    contentType: 'application/pdf',
    contentId: null,
    content: Buffer.alloc(0),
  };
  const email = await PostalMime.parse(await compose({ ...PLAIN, attachments: [file] }));
  expect(email.attachments.map(({ filename }) => filename)).toEqual(['empty.bin']);
});

test('the header names only the recipients it was given', async () => {
  const message = (await compose({ ...PLAIN, to: [], cc: [] })).toString();
  expect(message).toContain('To: undisclosed-recipients:;\r\n');
  expect(message).not.toMatch(/^bcc/im);
});

test('a non-ASCII local part goes out in UTF-8, or as an empty group where that is not taken', async () => {
  const input = { ...PLAIN, to: ['bob@example.org', 'Zoë <zoë@example.org>'] };
  expect((await compose(input)).toString()).toContain('<zoë@example.org>');
  const plain = await compose({ ...input, mayUseUtf8: false });
  expect(isSevenBit(plain)).toBe(true);
  const email = await PostalMime.parse(plain);
  expect(email.to).toEqual([
    { name: '', address: 'bob@example.org' },
    { name: 'Zoë <zoë@example.org>', group: [] },
  ] as never);
});

test('long header values are folded and unfold to themselves', async () => {
  const value = Array.from({ length: 400 }, (_, index) => `word${index}`).join(' ');
  const message = await compose({
    ...PLAIN,
    headers: [['X-Long', value]],
    subject: 'x'.repeat(5_000),
  });
  expect(hasLongLine(message.subarray(0, message.indexOf('\r\n\r\n')), 78)).toBe(false);
  const email = await PostalMime.parse(message);
  expect(email.headers.find(({ key }) => key === 'x-long')?.value).toBe(value);
  expect(email.subject).toBe('x'.repeat(5_000));
});

test('a message with copies alone has no To', async () => {
  const message = (await compose({ ...PLAIN, to: [], cc: ['cc@example.org'] })).toString();
  expect(message.match(/^(?:To|Cc):.*$/gm)).toEqual(['Cc: cc@example.org']);
});

test('the boundary cannot be told from a Message-ID that the sender chose', async () => {
  const boundary = async (feedbackId: string | null, messageId = PLAIN.messageId) => {
    const message = await compose({ ...PLAIN, html: '<p>x</p>', feedbackId, messageId });
    return /boundary="([^"]+)"/.exec(message.toString())?.[1];
  };
  expect(await boundary('a:b:c:d')).toBe(await boundary('a:b:c:d'));
  expect(await boundary('a:b:c:d')).not.toBe(await boundary('a:b:c:e'));
  expect(await boundary('a:b:c:d')).not.toBe(await boundary('a:b:c:d', '<2@mail.example.com>'));
});

test('a Sender is written as an address, whatever its name', async () => {
  const headers: [string, string][] = [['sender', 'Zoë, Robot <robot@example.com>']];
  const message = (await compose({ ...PLAIN, headers })).toString();
  expect(message).toMatch(/^Sender: =\?UTF-8\?[QB]\?[^ ]+\?= <robot@example\.com>\r$/m);
  expect(compose({ ...PLAIN, headers: [['Sender', 'nobody']] })).rejects.toThrow('address');
});

test.each(['From', 'bcc', 'Content-Type', 'DKIM-Signature', 'X A', ''])(
  'a custom header %j is never written',
  (name) => {
    expect(compose({ ...PLAIN, headers: [[name, 'x']] })).rejects.toThrow('not a custom header');
  },
);

test.each([
  ['plain words', '7bit'],
  ['a line of 76 characters '.padEnd(76, 'x'), '7bit'],
  ['a line of 77 characters '.padEnd(77, 'x'), 'quoted-printable'],
  ['From here', 'quoted-printable'],
  ['.', 'quoted-printable'],
  ['aaaaaü', 'quoted-printable'],
  ['aaü', 'quoted-printable'],
  ['aü', 'base64'],
  ['漢字', 'base64'],
])('%s goes out in %s', async (text, encoding) => {
  const message = (await compose({ ...PLAIN, text })).toString();
  expect(message).toContain(`Content-Transfer-Encoding: ${encoding}\r\n`);
  expect(message).toEndWith('\r\n');
  expect(shown((await PostalMime.parse(message)).text)).toBe(text);
});

test('the Feedback-ID stands in the header, and only where there is one', async () => {
  expect((await compose({ ...PLAIN, feedbackId: 'a:b:c:d' })).toString()).toContain(
    '\r\nFeedback-ID: a:b:c:d\r\n',
  );
  expect((await compose(PLAIN)).toString()).not.toContain('Feedback-ID');
});
