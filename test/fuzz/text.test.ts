/**
 * Fuzzing of what operators and callers write: the config file, JSON, emails in JSON, search text.
 */
import { afterAll, expect } from 'bun:test';
import { Database } from 'bun:sqlite';
import { FullEmail } from '../../src/api/shapes/email-fields.ts';
import { exampleOf } from '../../src/api/shapes/example.ts';
import { parseJson } from '../../src/base/json.ts';
import { readEmail } from '../../src/api/shapes/read-email.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { defaultConfigText } from '../../src/base/config-text.ts';
import { ApiError, OperatorError } from '../../src/base/errors.ts';
import { fold, gramQuery } from '../../src/store/sqlite/grams.ts';
import { fuzz } from './fuzzing.ts';

const CONFIG = defaultConfigText('mail.example.com', '/var/lib/postrider');
const TABLES = CONFIG.split(/\n(?=\[)/).map((table) => `hostname = "mail.example.com"\n${table}`);
const PLAIN = CONFIG.replaceAll(/^# (?=\[|\w+ = )/gm, '');

fuzz('config file', {
  corpus: [CONFIG, PLAIN, ...TABLES],
  read(text) {
    // A file is read as UTF-8, where no lone surrogate can stand.
    return refused(OperatorError, () => parseConfig(text.toWellFormed(), 'postrider.toml'));
  },
});

const EMAILS = [
  exampleOf(FullEmail),
  {
    from: { email: 'a@example.com', name: 'Ann, "Lee"' },
    to: ['b@example.net', { email: 'c@example.net' }],
    cc: 'Bob <d@example.net>',
    reply_to: [],
    subject: 'ü',
    html: '<p>x</p>',
    text: '',
    headers: { 'X-Tags': 'a', 'Message-ID': '<1@example.com>' },
    tags: [{ name: 'kind', value: 'receipt' }],
    attachments: [
      { filename: 'a.pdf', content: 'aGVsbG8=', content_id: 'logo' },
      { filename: 'b.txt', content: { type: 'Buffer', data: [1, 2] }, contentType: 'text/plain' },
    ],
  },
].map((email) => JSON.stringify(email));

fuzz('JSON', {
  corpus: [...EMAILS, '{"a":[1,-2.5e3,true,null,"\\u00fc\\n"],"a":{}}', '[[[[[]]]]]'],
  read(text) {
    return refused(ApiError, async () => {
      const value = await parseJson(text);
      expect(await parseJson(JSON.stringify(value))).toEqual(value);
    });
  },
});

fuzz('email in JSON', {
  corpus: EMAILS,
  async read(text) {
    const value = await parsed(text);
    for (const kind of ['singular', 'plural', 'full'] as const) {
      const result = readEmail(value, { kind, at: '', mayLink: false, needsContent: true });
      if (!Array.isArray(result)) expect(result.draft.to.length).toBeGreaterThan(0);
      else expect(result.length).toBeGreaterThan(0);
    }
  },
});

const index = new Database(':memory:');
afterAll(() => index.close());
index.run('CREATE VIRTUAL TABLE grams USING fts5(text)');
const matching = index.prepare<{ rowid: number }, [string]>(
  'SELECT rowid FROM grams WHERE grams MATCH ?',
);

fuzz('search text', {
  corpus: ['receipt', 'Ann Lee <ann@example.com>', '"a" AND NOT b*', 'NEAR(漢字, 2)', 'é ü', 'x'],
  read(text) {
    // The route refuses control characters before it asks the index.
    const folded = fold(text.slice(0, 200).replaceAll(/\p{Cc}/gu, ''));
    if (folded === '') return;
    const { terms } = gramQuery(['mark'], folded);
    // Nothing of the text is syntax to the index.
    expect(matching.all(terms.join(' AND '))).toEqual([]);
  },
});

/** Runs `read`; throws unless it ends, or throws an error of the one kind it may. */
async function refused(kind: new (...args: never[]) => Error, read: () => unknown): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!(error instanceof kind)) throw error;
  }
}

/** The value of JSON; the text itself when it is none. */
async function parsed(text: string): Promise<unknown> {
  try {
    return await parseJson(text);
  } catch {
    return text;
  }
}
