/** Commands whose output goes on, or is made whole: a reader that leaves, the version, completion scripts. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { VERSION } from '../../src/base/version.ts';
import { bashScript, fishScript, zshScript } from '../../src/commands/completion-scripts.ts';
import { COMMANDS } from '../../src/commands/list.ts';
import { CannedServer, reply } from './canned.ts';

let server: CannedServer;
beforeAll(async () => {
  server = await CannedServer.start();
});
afterAll(() => server.stop());

const EVENT = {
  id: 'evt-1',
  type: 'email.sent',
  created_at: '2026-11-21T09:40:00.000Z',
  account_id: 'acc-1',
  account: 'shop',
  email_id: 'msg-1',
  from: 'a@x.example',
  recipient: 'ann@y.example',
  to: ['ann@y.example'],
  subject: 'Receipt',
  reason: null,
};

test('tail ends with 0 and without a word when its reader has closed the pipe', async () => {
  const chunks = [EVENT, EVENT, EVENT].map((event) => `${JSON.stringify(event)}\n`);
  for (const words of [['tail'], ['tail', '--json']]) {
    let writes = 0;
    const { code, out, err } = await server.run(
      words,
      [reply('tail', null, { chunks })],
      () => (writes += 1) < 2,
    );
    expect([code, err, writes, out.trimEnd().split('\n').length]).toEqual([
      0,
      '',
      2,
      words.length === 1 ? 2 : 1,
    ]);
  }
});

test('tail tells any other failure, such as an event that it cannot read', async () => {
  const odd = reply('tail', null, { chunks: ['{"id":1}\n'] });
  const { code, out, err } = await server.run(['tail'], [odd]);
  expect([code, out]).toEqual([1, '']);
  expect(err).not.toBe('');
});

test('an export goes on to its end whoever reads it', async () => {
  let writes = 0;
  const done = await server.run(
    ['suppression', 'export'],
    [reply('suppression.export', null, { chunks: ['a', 'b', 'c'] })],
    () => (writes += 1) < 1,
  );
  expect([done.code, done.err, writes]).toEqual([0, '', 3]);
});

test('the version names program, runtime and commit, and needs neither config nor server', async () => {
  const { version, bun, commit } = VERSION;
  const words = await server.run(['version'], []);
  expect([words.code, words.out, words.asked]).toEqual([
    0,
    `postrider ${version} (Bun ${bun}, ${commit})\n`,
    [],
  ]);
  const json = await server.run(['--version', '--json'], []);
  expect(JSON.parse(json.out)).toEqual({ version, bun, commit });
});

test.each([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
])('completion %s prints the script of every command', async (shell, script) => {
  const text = script(COMMANDS);
  expect((await server.run(['completion', shell], [])).out).toBe(`${text.trimEnd()}\n`);
  const json = await server.run(['completion', shell, '--json'], []);
  expect(JSON.parse(json.out)).toEqual({ shell, script: text });
});
