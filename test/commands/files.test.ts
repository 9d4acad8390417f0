/** Files named on the command line, and standard input, which real processes read. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { OperatorError } from '../../src/base/errors.ts';
import { readBytes, readText } from '../../src/commands/files.ts';
import { CannedServer, reply } from './canned.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'files-'));
  writeFileSync(join(folder, 'ü'), 'Grüße');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What is said of a file that is refused. */
function refused(work: () => unknown): [message: string, hint: string, code: number] {
  try {
    work();
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return [error.message.replace(folder, 'DIR'), error.hint, error.exitCode];
  }
  throw new Error('it was read');
}

test('a file is read whole, as bytes or as UTF-8, up to its bound', () => {
  const file = join(folder, 'ü');
  expect(readBytes(file, 'Hint.').toString('hex')).toBe('4772c3bcc39f65');
  expect(readText(file, 'Hint.')).toBe('Grüße');
  expect(readText(file, 'Hint.', 7)).toBe('Grüße');
  expect(refused(() => readText(file, 'Hint.', 6))).toEqual([
    'DIR/ü is too large: 7 bytes of at most 6.',
    'Hint.',
    1,
  ]);
});

test('one that cannot be read is named with the reason', () => {
  expect(refused(() => readBytes(join(folder, 'none'), 'Name another.'))).toEqual([
    `Cannot read DIR/none: ENOENT: no such file or directory, stat '${folder}/none'`,
    'Name another.',
    1,
  ]);
  expect(refused(() => readText(folder, 'Name a file.'))[0]).toStartWith('Cannot read DIR: EISDIR');
});

test('send reads its text from standard input where none is given, and what - names', async () => {
  const server = await CannedServer.start();
  const sent = async (input: string, ...words: string[]): Promise<unknown> => {
    const all = ['send', '--from', 'a@x.example', '--subject', 's', '--to', 'b@x.example'];
    const replies = [reply('email.send', { id: 'msg-1', status: 'queued' })];
    const { asked, ...ended } = await server.spawn([...all, ...words], replies, input);
    expect(ended).toEqual({ code: 0, out: 'msg-1\n', err: '' });
    const [{ args }] = asked as [{ args: { email: string } }];
    const { text, html, attachments } = JSON.parse(args.email) as Record<string, unknown>;
    return { text, html, attachments };
  };
  expect(await sent('Grüße\n')).toEqual({ text: 'Grüße\n', attachments: [] });
  expect(await sent('bytes', '--text', 't', '--attachment', '-')).toEqual({
    text: 't',
    attachments: [{ filename: 'standard-input', content: 'Ynl0ZXM=' }],
  });
  expect(await sent('the text', '--text-file', '-', '--html', '<p>h</p>')).toEqual({
    text: 'the text',
    html: '<p>h</p>',
    attachments: [],
  });
  expect(await sent('<p>in</p>', '--html-file', '-', '--text', 't')).toEqual({
    text: 't',
    html: '<p>in</p>',
    attachments: [],
  });
  await server.stop();
}, 60_000);
