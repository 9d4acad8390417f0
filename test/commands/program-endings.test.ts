/** How a command ends: what is printed of each kind of error, the exit code, and which config file it reads. */
import { afterEach, expect, test } from 'bun:test';

import { ApiError, OperatorError, validationFailed } from '../../src/base/errors.ts';
import { DEFAULT_CONFIG_FILE } from '../../src/commands/command.ts';
import type { Call } from '../../src/commands/command.ts';
import { UsageError } from '../../src/commands/parameter.ts';
import { runProgram } from '../../src/commands/program.ts';

/** The output of a command that does `work`. */
async function ended(work: (call: Call) => unknown, ...words: string[]) {
  const said = { out: '', err: '' };
  const run = async (call: Call): Promise<number | void> => (await work(call)) as number | void;
  const table = { act: { summary: 'Act', run }, of: { summary: 'Of', actions: {} } };
  const code = await runProgram(table, ['act', ...words], {
    print: (text) => void (said.out += `${text}\n`),
    write: (text) => (said.out += text) !== '',
    say: (text) => void (said.err += `${text}\n`),
    note: (text) => void (said.err += text),
  });
  return { code, ...said };
}

function thrown(error: unknown): () => never {
  return () => {
    throw error;
  };
}

const withoutStack = new Error('no stack');
delete withoutStack.stack;
const full = Object.assign(new Error('SQLITE_FULL: full'), { code: 'SQLITE_FULL' });
const issues = [
  { path: 'to[0]', message: 'First.' },
  { path: 'from', message: 'Second.' },
];

test.each<[string, unknown, number, string]>([
  ['a refusal', new OperatorError('Wrong.', 'Do this.'), 1, 'Wrong.\nDo this.\n'],
  ['one of the config', new OperatorError('Wrong.', 'Do this.', 78), 78, 'Wrong.\nDo this.\n'],
  ['one without a hint', new OperatorError('Wrong.', ''), 1, 'Wrong.\n'],
  ['wrong usage', new UsageError('Not so.'), 64, 'Not so.\nUsage: postrider act\n'],
  ['a refusal of the API', new ApiError('not_found', 'None.'), 1, 'None.\n'],
  ['one with its issues', validationFailed(issues), 1, 'First.\nSecond.\n'],
  ['a full disk', full, 1, 'The disk is full.\nFree some space on it, then try again.\n'],
  ['a fault without a stack', withoutStack, 1, 'no stack\n'],
  ['a fault that is no Error', 'text', 1, 'text\n'],
])('%s', async (_name, error, code, err) => {
  expect(await ended(thrown(error))).toEqual({ code, out: '', err });
});

test('a fault of ours is told with its stack', async () => {
  const { code, out, err } = await ended(thrown(new TypeError('ours')));
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(/TypeError: ours\n +at .*program-endings\.test\.ts/);
});

test('a command without a result ends with 0, another with its own', async () => {
  expect(await ended(() => undefined)).toEqual({ code: 0, out: '', err: '' });
  expect(await ended(() => 0)).toEqual({ code: 0, out: '', err: '' });
  expect(await ended(() => 1)).toEqual({ code: 1, out: '', err: '' });
});

test('the version is a command, and an option of old; its own words stay', async () => {
  const table = {
    version: {
      summary: 'Version',
      run: (call: Call) => Promise.resolve(call.print({ n: 1 }, 'one')),
    },
  };
  const printed: string[] = [];
  const ignore = (): void => undefined;
  const output = {
    print: (text: string): void => void printed.push(text),
    write: () => true,
    say: ignore,
    note: ignore,
  };
  for (const words of [['version'], ['--version'], ['-V', '--json'], ['version', '--json']]) {
    expect(await runProgram(table, words, output)).toBe(0);
  }
  expect(printed).toEqual(['one', 'one', '{"n":1}', '{"n":1}']);
});

const before = process.env['POSTRIDER_CONFIG'];
afterEach(() => {
  if (before === undefined) delete process.env['POSTRIDER_CONFIG'];
  else process.env['POSTRIDER_CONFIG'] = before;
});

test('the config file is that of --config, else of the environment, else the usual one', async () => {
  const read = async (...words: string[]): Promise<string> => {
    const print = (call: Call): void => call.print(null, call.configFile());
    return (await ended(print, ...words)).out;
  };
  delete process.env['POSTRIDER_CONFIG'];
  expect(await read()).toBe(`${DEFAULT_CONFIG_FILE}\n`);
  process.env['POSTRIDER_CONFIG'] = '';
  expect(await read()).toBe('/etc/postrider/postrider.toml\n');
  process.env['POSTRIDER_CONFIG'] = '/env.toml';
  expect(await read()).toBe('/env.toml\n');
  expect(await read('--config', '/own.toml')).toBe('/own.toml\n');
});
