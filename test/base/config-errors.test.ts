/** The whole error of a config that cannot be used: file and line of each problem, in order, the hint and the exit code. */
import { expect, test } from 'bun:test';

import { loadConfig, parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';

function errorOf(load: () => unknown): { message: string; hint: string; exitCode: number } {
  try {
    load();
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const { message, hint, exitCode } = error;
    return { message, hint, exitCode };
  }
  throw new Error('it was taken');
}

const parse = (...lines: string[]) => errorOf(() => parseConfig(lines.join('\n'), '/etc/c.toml'));

test('a file that cannot be read', () => {
  expect(errorOf(() => loadConfig('/no/such'))).toEqual({
    message:
      "cannot read the config file /no/such: ENOENT: no such file or directory, open '/no/such'",
    hint: 'Name another file with --config, or write one with `postrider init --hostname mail.example.com`.',
    exitCode: 78,
  });
});

test('one wrong line', () => {
  expect(parse('hostname = "mail.example.com"', '[http]', 'listen = 5')).toEqual({
    message: '/etc/c.toml:3: http.listen must be text in quotes, not 5',
    hint: 'Fix this line, then run `postrider check`.',
    exitCode: 78,
  });
});

test('several, in the order of their lines', () => {
  expect(parse('data-dir = 1', 'hostname = "mail"', '[http]', 'listen = 5')).toEqual({
    message: [
      '/etc/c.toml:1: data-dir is not a known key: did you mean data_dir?',
      '/etc/c.toml:2: hostname must be a full host name such as "mail.example.com", not "mail"',
      '/etc/c.toml:4: http.listen must be text in quotes, not 5',
    ].join('\n'),
    hint: 'Fix these lines, then run `postrider check`.',
    exitCode: 78,
  });
});

test.each([1, 2, 3, 4])('TOML that breaks in line %i of four', (line) => {
  const lines = ['hostname = "mail.example.com"', '[http]', 'public_url = ""', '[smtp]'];
  lines[line - 1] = 'password = secret';
  const error = parse(...lines);
  expect(error.message).toStartWith(`/etc/c.toml:${line}: `);
  expect(error.message).not.toContain('secret');
  expect([error.hint, error.exitCode]).toEqual(['Fix this line, then run `postrider check`.', 78]);
});

test('a key that stands twice is told at the second line', () => {
  const error = parse('data_dir = "/a"', '[http]', '[smtp]', '[http]', 'public_url = ""');
  expect(error.message).toStartWith('/etc/c.toml:4: ');
});
