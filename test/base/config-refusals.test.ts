/** The words in which each format of the config refuses a value: what would be right, and what was found instead. */
import { expect, spyOn, test } from 'bun:test';
import * as fs from 'node:fs';

import * as formats from '../../src/base/config-formats.ts';

function refusal(format: formats.Format<unknown>, value: unknown): unknown {
  try {
    return ['taken', format.read(value)];
  } catch (error) {
    if (error instanceof formats.WrongValue) return error.message;
    throw error;
  }
}

const TEXT = 'must be text in quotes, not 5';
const DURATION = 'must be a duration such as "90s", "48h" or "30d", not';
const LISTEN = 'must be an IP address and a port such as "127.0.0.1:8025", not';
const HOST = 'must be a full host name such as "mail.example.com", not';
const URL_WORDS = 'must be a URL such as "https://mail.example.com", not';
const SERVICE = 'must be a URL such as "http://127.0.0.1:11333"';
const SIZE = 'must be a number of bytes or a size such as "10MB", not';
const ROWS = 'must be rows of [days, limit] with ascending days';
const PLAN = 'must be 1 to 40 lower-case letters, digits, "-" or "_"';
const PREFIX = 'must be 2 to 10 lower-case letters and digits, a letter first';

test.each<[name: string, format: formats.Format<unknown>, value: unknown, words: string]>([
  ['text', formats.text, 5, TEXT],
  ['secret', formats.secret, false, 'must be text in quotes'],
  ['flag', formats.flag, 'yes', 'must be true or false, not "yes"'],
  ['flag', formats.flag, [true], 'must be true or false, not a list'],
  ['flag', formats.flag, { a: 1 }, 'must be true or false, not a table'],
  ['flag', formats.flag, undefined, 'must be true or false, not nothing'],
  ['number', formats.wholeNumber(2, 5), 6, 'must be a whole number from 2 to 5, not 6'],
  ['number', formats.wholeNumber(2, 5), '3', 'must be a whole number from 2 to 5, not "3"'],
  ['one of', formats.oneOf('a', 'b'), 'A', 'must be one of "a", "b", not "A"'],
  ['list', formats.listOf(formats.text), 'a', 'must be a list in [ ], not "a"'],
  ['list', formats.listOf(formats.text), ['a', 5], `item 2 ${TEXT}`],
  ['some', formats.someOf(formats.text, 'must name one'), [], 'must name one'],
  ['some', formats.someOf(formats.text, 'must name one'), [5], `item 1 ${TEXT}`],
  ['duration', formats.duration(0), '1w', `${DURATION} "1w"`],
  ['duration', formats.duration(0), 5, `${DURATION} 5`],
  ['duration', formats.duration(1_000), '0', `${DURATION} "0"`],
  ['duration', formats.duration(90_000), '89s', 'must be at least "90s", not "89s"'],
  ['duration', formats.duration(86_400_000), '23h', 'must be at least "1d", not "23h"'],
  ['listen', formats.listenAddress, '8025', `${LISTEN} "8025"`],
  ['listen', formats.listenAddress, '127.0.0.1:65536', `${LISTEN} "127.0.0.1:65536"`],
  ['listen', formats.listenAddress, '127.0.0.256:25', `${LISTEN} "127.0.0.256:25"`],
  ['listen', formats.listenAddress, '127.0.0.1:000025', `${LISTEN} "127.0.0.1:000025"`],
  ['listen', formats.listenAddress, 5, TEXT],
  ['address', formats.ipAddress, 'a', 'must be an IP address, not "a"'],
  ['address', formats.ipAddress, 5, TEXT],
  [
    'network',
    formats.network,
    '10.0.0.0',
    'must be a network such as "10.0.0.0/8", not "10.0.0.0"',
  ],
  ['network', formats.network, 'a/8', 'must be a network such as "10.0.0.0/8", not "a/8"'],
  ['network', formats.network, 5, TEXT],
  ['host', formats.hostName, 'mail', `${HOST} "mail"`],
  ['host', formats.hostName, '10.0.0.1', `${HOST} "10.0.0.1"`],
  ['host', formats.hostName, 5, TEXT],
  ['destination', formats.connectHost, 'a_b', `${HOST} "a_b"`],
  ['domain', formats.domainPattern, '*.example', `${HOST} "example"`],
  ['pattern', formats.hostPattern, 'example', `${HOST} "example"`],
  ['URL', formats.baseUrl, 'mail.example', `${URL_WORDS} "mail.example"`],
  ['URL', formats.baseUrl, 'ftp://a.example', `${URL_WORDS} "ftp://a.example"`],
  ['URL', formats.baseUrl, 'https://a.example/?b', `${URL_WORDS} "https://a.example/?b"`],
  ['URL', formats.baseUrl, 'https://a.example/#b', `${URL_WORDS} "https://a.example/#b"`],
  [
    'URL with a login',
    formats.baseUrl,
    'https://u:p@a.example',
    'must have no user name and no password',
  ],
  [
    'URL with a user name',
    formats.baseUrl,
    'https://u@a.example',
    'must have no user name and no password',
  ],
  [
    'URL with a password',
    formats.siteUrl,
    'https://:p@a.example',
    'must have no user name and no password',
  ],
  [
    'ACME with a password',
    formats.httpsUrl,
    'https://:p@a.example/d',
    'must have no user name and no password',
  ],
  [
    'site',
    formats.siteUrl,
    'https://a.example/b',
    'must have no path: "https://a.example", not "https://a.example/b"',
  ],
  ['ACME', formats.httpsUrl, 'http://a.example', 'must begin with https:// (RFC 8555 section 6.1)'],
  ['service', formats.serviceUrl, 'a.example', SERVICE],
  ['service', formats.serviceUrl, 'unix:/run/x', SERVICE],
  ['service', formats.serviceUrl, 'http://u@a.example', 'must have no user name and no password'],
  ['service', formats.serviceUrl, 'http://a.example/?b', 'must have no query and no fragment'],
  ['path', formats.absolutePath, 'a/b', 'must be a path that begins with "/", not "a/b"'],
  ['file', formats.readableFile, 'a', 'must be a path that begins with "/", not "a"'],
  ['file', formats.secretFile, '/no/such', 'names a file that cannot be read: /no/such'],
  ['size', formats.size, -1, `${SIZE} -1`],
  ['size', formats.size, '10 mb', `${SIZE} "10 mb"`],
  ['size', formats.size, true, `${SIZE} true`],
  ['rows', formats.limitsByAge, [[0]], ROWS],
  ['rows', formats.limitsByAge, [[0, 1, 2]], ROWS],
  ['rows', formats.limitsByAge, [5], 'item 1 must be a list in [ ], not 5'],
  [
    'rows',
    formats.limitsByAge,
    [[0, 1_000_000_001]],
    'item 1 item 2 must be a whole number from 0 to 1000000000, not 1000000001',
  ],
  ['plan', formats.planId, 'A', PLAN],
  ['prefix', formats.keyPrefix, '1a', PREFIX],
])('%s', (_, format, value, words) => expect(refusal(format, value)).toBe(words));

test('a refusal in a list says which item it is', () => {
  const index = (format: formats.Format<unknown>, value: unknown): unknown => {
    try {
      return format.read(value);
    } catch (error) {
      return error instanceof formats.WrongValue ? error.index : error;
    }
  };
  expect(index(formats.listOf(formats.text), ['a', 'b', 5])).toBe(2);
  expect(index(formats.text, 5)).toBeNull();
});

test('what is no refusal is not made one', () => {
  const broken = {
    words: '',
    read: () => {
      throw new RangeError('x');
    },
  };
  expect(() => formats.listOf(broken).read([1])).toThrow(RangeError);
});

test.each<[name: string, format: formats.Format<unknown>, value: unknown, expected: unknown]>([
  ['size', formats.size, '1B', 1],
  ['size', formats.size, '2kB', 2_000],
  ['size', formats.size, '2KB', 2_000],
  ['size', formats.size, '2MB', 2_000_000],
  ['size', formats.size, '2GB', 2_000_000_000],
  ['size', formats.size, '2KiB', 2_048],
  ['size', formats.size, '2MiB', 2_097_152],
  ['size', formats.size, '2GiB', 2_147_483_648],
  ['duration', formats.duration(0), '2ms', 2],
  ['duration', formats.duration(0), '2s', 2_000],
  ['duration', formats.duration(0), '2m', 120_000],
  ['duration', formats.duration(0), '2h', 7_200_000],
  ['duration', formats.duration(0), '2d', 172_800_000],
  ['limitsByAge', formats.limitsByAge, [[0, 1_000_000_000]], [[0, 1_000_000_000]]],
  ['limitsByAge', formats.limitsByAge, [], []],
  ['connectHost', formats.connectHost, 'LOCALHOST', 'localhost'],
  ['siteUrl', formats.siteUrl, 'https://a.example//', 'https://a.example'],
  ['baseUrl', formats.baseUrl, 'https://a.example/b/c/', 'https://a.example/b/c'],
])('%s', (_, format, value, expected) => expect(format.read(value)).toEqual(expected));

test('a file that is there must be readable too', () => {
  const access = spyOn(fs, 'accessSync').mockImplementation((_, mode) => {
    if (mode === fs.constants.R_OK) throw new Error('EACCES');
  });
  const said = refusal(formats.readableFile, '/etc/key.pem');
  access.mockRestore();
  expect(said).toBe('names a file that cannot be read: /etc/key.pem');
});
