/** A password that the operator chose: the first line of standard input, for `password` and `operator password`. */
import { afterAll, afterEach, beforeAll, expect, jest, spyOn, test } from 'bun:test';

import { CannedServer, reply } from './canned.ts';

let server: CannedServer;
beforeAll(async () => {
  server = await CannedServer.start();
});
afterAll(() => server.stop());
afterEach(() => jest.restoreAllMocks());

/** What is asked for and shown with `text` on standard input. */
async function run(text: string, ...words: string[]) {
  spyOn(Bun.stdin, 'text').mockResolvedValue(text);
  const { asked, ...ended } = await server.run(words, [
    words[0] === 'operator'
      ? reply('operator.password', { password: null })
      : reply('password.set', { password: null }),
  ]);
  return { ...ended, args: asked.map((one) => (one as { args: unknown }).args) };
}

test('the first line is the password, without its line end and whatever follows', async () => {
  for (const text of ['own word', 'own word\n', 'own word\r\nmore\n', 'own word\n\n']) {
    expect(await run(text, 'password', '--stdin')).toEqual({
      code: 0,
      out: 'The password is set. Every session of admin has ended.\n',
      err: '',
      args: [{ password: 'own word' }],
    });
  }
  expect(await run(' a\r\n', 'operator', 'password', 'ann', '--stdin')).toEqual({
    code: 0,
    out: 'The password is set. Every session of ann has ended.\n',
    err: '',
    args: [{ name: 'ann', password: ' a' }],
  });
});

test('it is not shown in JSON either', async () => {
  const shown = '{"password":null,"sessions_ended":true}\n';
  expect((await run('own', 'password', '--stdin', '--json')).out).toBe(shown);
  expect((await run('own', 'operator', 'password', 'ann', '--stdin', '--json')).out).toBe(shown);
});

test('an input without one is wrong usage, and nothing is asked for', async () => {
  const wrong = (usage: string) => ({
    code: 64,
    out: '',
    err: `Standard input has no password: write one line to it.\nUsage: postrider ${usage}\n`,
    args: [],
  });
  for (const text of ['', '\n', '\r\nown\n']) {
    expect(await run(text, 'password', '--stdin')).toEqual(wrong('password [--stdin]'));
  }
  expect(await run('', 'operator', 'password', 'ann', '--stdin')).toEqual(
    wrong('operator password NAME [--stdin]'),
  );
});

test('without --stdin it is not read', async () => {
  const read = spyOn(Bun.stdin, 'text').mockResolvedValue('own');
  const { asked } = await server.run(['password'], [reply('password.set', { password: 'made' })]);
  expect(asked).toMatchObject([{ args: { password: null } }]);
  expect(read).not.toHaveBeenCalled();
});
