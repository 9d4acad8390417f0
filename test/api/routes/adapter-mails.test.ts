/**
 * Emails as adapters of frameworks send them, accepted over the API, signed as for delivery, and read by two parsers
 * that are not ours: postal-mime and Python's email package.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import PostalMime, { decodeWords } from 'postal-mime';
import { SignedMessages } from '../../../src/flow/deliver/signed-messages.ts';
import { describeWith } from '../../rig/programs.ts';
import { openBench, type Bench } from '../bench.ts';

const SCRIPT = join(import.meta.dir, 'read_email.py');
const EMAIL = { from: 'Shop <shop@own.example.com>', to: 'bob@example.org', subject: 'Your order' };

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  const account = await bench.account('adapters', 'fast');
  await bench.domain(account, 'own.example.com');
  await bench.domain(account, 'robots.example.com');
  key = await bench.key(account);
});

afterAll(() => bench.close());

/** What both parsers see: leaves as type and text without its closing line end, fields in lower case. */
interface Seen {
  types: string[];
  texts: string[];
  fields: Record<string, string[]>;
}

/** The bytes that a receiver gets of an email in a batch. */
async function delivered(over: object): Promise<Buffer> {
  const sent = await bench.ask({ path: '/emails/batch', key, body: [{ ...EMAIL, ...over }] });
  expect([sent.status, sent.text]).toEqual([200, expect.any(String)]);
  const { outgoing } = await new SignedMessages(bench.ctx).acquire(sent.json.data[0].id);
  return Buffer.from(outgoing.bytes);
}

async function readByPython(message: Buffer): Promise<Seen> {
  const child = Bun.spawn(['/usr/bin/python3', SCRIPT], { stdin: message, stdout: 'pipe' });
  const seen: Seen = JSON.parse(await new Response(child.stdout).text());
  return seen;
}

async function readByPostalMime(message: Buffer): Promise<Seen> {
  const { text, html, headers } = await PostalMime.parse(message);
  const fields: Record<string, string[]> = {};
  for (const { key: name, value } of headers) (fields[name] ??= []).push(decodeWords(value));
  const leaves = [
    ['text/plain', text],
    ['text/html', html],
  ].filter(([, content]) => content !== undefined);
  return {
    types: leaves.map(([type]) => type ?? ''),
    texts: leaves.map(([, content]) => (content ?? '').trimEnd()),
    fields,
  };
}

const CASES: readonly { says: string; over: object; seen: Partial<Seen>; fields?: object }[] = [
  {
    says: 'an empty html beside a text makes no part',
    over: { text: 'Thank you.', html: '', headers: [] },
    seen: { types: ['text/plain'], texts: ['Thank you.'] },
  },
  {
    says: 'an email with both has both',
    over: { text: 'Thank you.', html: '<p>Thank you.</p>', cc: '', bcc: [], reply_to: '' },
    seen: { types: ['text/plain', 'text/html'], texts: ['Thank you.', '<p>Thank you.</p>'] },
    fields: { cc: undefined, 'reply-to': undefined },
  },
  {
    says: 'headers of a mail library are written once, Date and Return-Path are ours',
    over: {
      text: 'Hi',
      reply_to: 'Help <help@own.example.com>',
      headers: {
        'Reply-To': 'Help <help@own.example.com>',
        Date: 'Thu, 01 Jan 1970 00:00:00 +0000',
        'Return-Path': '<elsewhere@example.net>',
        'Message-ID': '<order.7@shop.own.example.com>',
        Sender: '"Robot, Jörg" <robot@robots.example.com>',
        'X-Order': '7',
      },
    },
    seen: { types: ['text/plain'] },
    fields: {
      'reply-to': ['Help <help@own.example.com>'],
      'message-id': ['<order.7@shop.own.example.com>'],
      'return-path': undefined,
      'x-order': ['7'],
      date: [expect.not.stringContaining('1970')],
      sender: [expect.stringContaining('<robot@robots.example.com>')],
    },
  },
  {
    says: 'encoded words are read and written once, a list of values makes a field of each',
    over: {
      text: 'Hi',
      to: '=?utf-8?q?Doe=2C_J=C3=B6rg?= <joerg@example.org>',
      reply_to: 'help@own.example.com',
      headers: {
        'Reply-To': 'Help <help@own.example.com>, b@own.example.com',
        'X-Customer': '=?utf-8?Q?J=C3=B6rg_M=C3=BC?=\r\n =?utf-8?Q?ller?=',
        'X-Tag': ['welcome', 'new user'],
      },
    },
    seen: { types: ['text/plain'] },
    fields: {
      to: [expect.stringMatching(/^"?Doe, Jörg"? <joerg@example.org>$/)],
      'reply-to': ['Help <help@own.example.com>, b@own.example.com'],
      'x-customer': ['Jörg Müller'],
      'x-tag': ['welcome', 'new user'],
    },
  },
];

describeWith(['python3'], 'what receivers read of emails from adapters', () => {
  for (const { says, over, seen, fields } of CASES) {
    test(says, async () => {
      const message = await delivered(over);
      for (const read of [await readByPostalMime(message), await readByPython(message)]) {
        expect(read).toMatchObject(seen);
        for (const [name, value] of Object.entries(fields ?? {})) {
          expect([name, read.fields[name]]).toEqual([name, value]);
        }
      }
    });
  }

  test('html alone gets a text part, beside attachments too; the API shows what was sent', async () => {
    const html = '<h1>Café</h1><p>Pay <a href="https://own.example.com/7">here</a>.</p>';
    const text = 'Café\n\nPay here <https://own.example.com/7>.';
    const attachments = [{ filename: 'a.csv', content: 'YQ==' }];
    for (const over of [{ html }, { html, text: '' }, { html, attachments }]) {
      const message = await delivered(over);
      const [ours, python] = [await readByPostalMime(message), await readByPython(message)];
      for (const read of [ours, python]) {
        expect(read.types.slice(0, 2)).toEqual(['text/plain', 'text/html']);
        const texts = read.texts.map((one) => one.replaceAll('\r\n', '\n'));
        expect(texts.slice(0, 2)).toEqual([text, html]);
      }
      const [{ id }] = (await bench.ask({ path: '/emails?limit=1', key })).json.data;
      expect((await bench.ask({ path: `/emails/${id}`, key })).json).toMatchObject({
        html,
        text: null,
      });
    }
    const { live } = bench.ctx.config;
    bench.config.replaceLive({ ...live, api: { ...live.api, textFromHtml: false } });
    expect((await readByPython(await delivered({ html }))).types).toEqual(['text/html']);
    bench.config.replaceLive(live);
  });

  test('text cannot bring in a part, although the sender chose the Message-ID', async () => {
    const messageId = '<order.8@own.example.com>';
    const guess = createHash('sha256').update(messageId).digest('hex').slice(0, 32);
    const text = `Dear\n--=_pr-${guess}\nContent-Type: text/html\n\n<b>forged</b>`;
    const headers = { 'Message-ID': messageId };
    const message = await delivered({ text, html: '<p>Hi</p>', headers });
    for (const read of [await readByPostalMime(message), await readByPython(message)]) {
      expect(read.types).toEqual(['text/plain', 'text/html']);
      expect(read.texts[0]?.replaceAll('\r\n', '\n')).toBe(text);
      expect(read.texts[1]).toBe('<p>Hi</p>');
    }
  });
});
