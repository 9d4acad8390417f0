/** Each format of the config: what it takes, as what, and why it refuses the rest. */
import { describe, expect, test } from 'bun:test';

import * as formats from '../../src/base/config-formats.ts';

/** The appliance's own value, or the refusal. */
function read(format: formats.Format<unknown>, value: unknown): unknown {
  try {
    return format.read(value);
  } catch (error) {
    if (error instanceof formats.WrongValue) return `refused: ${error.message}`;
    throw error;
  }
}

const REFUSED: unknown = expect.stringMatching(/^refused: must /);

type Rows = [value: unknown, expected: unknown][];

const long = `${'a'.repeat(61)}.`.repeat(4);

const TABLE: Record<string, [format: formats.Format<unknown>, rows: Rows]> = {
  hostName: [
    formats.hostName,
    [
      ['Mail.Example.com', 'mail.example.com'],
      ['a-1.example', 'a-1.example'],
      [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
      [`${'a'.repeat(64)}.example`, REFUSED],
      [`${long}abcde`, `${long}abcde`],
      [`${long}abcdef`, REFUSED],
      ['mail', REFUSED],
      ['-a.example', REFUSED],
      ['a-.example', REFUSED],
      ['a..example', REFUSED],
      ['a.example.', REFUSED],
      ['a_b.example', REFUSED],
      ['bücher.example', REFUSED],
      ['192.0.2.1', REFUSED],
      [5, REFUSED],
    ],
  ],
  connectHost: [
    formats.connectHost,
    [
      ['LocalHost', 'localhost'],
      ['192.0.2.1', '192.0.2.1'],
      ['2001:DB8::1', '2001:db8::1'],
      ['relay.example', 'relay.example'],
      ['a b', REFUSED],
      ['', REFUSED],
    ],
  ],
  domainPattern: [
    formats.domainPattern,
    [
      ['Corp.example', 'corp.example'],
      ['*.Corp.example', '*.corp.example'],
      ['*.example', REFUSED],
      ['*corp.example', REFUSED],
      ['a.*.example', REFUSED],
    ],
  ],
  hostPattern: [
    formats.hostPattern,
    [
      ['mx.example.net', 'mx.example.net'],
      ['*.mx.example.net', '.mx.example.net'],
    ],
  ],
  network: [
    formats.network,
    [
      ['10.0.0.0/8', '10.0.0.0/8'],
      ['192.0.2.1/32', '192.0.2.1/32'],
      ['0.0.0.0/0', '0.0.0.0/0'],
      ['fd00::/8', 'fd00::/8'],
      ['::1/128', '::1/128'],
      ['10.0.0.0/33', REFUSED],
      ['fd00::/129', REFUSED],
      ['10.0.0.0', REFUSED],
      ['10.0.0.0/', REFUSED],
      ['10.0.0.0/8/8', REFUSED],
      ['10.0.0.0/0008', REFUSED],
      [
        '10.0.0.1/8',
        'refused: must begin at the first address of the network: "10.0.0.0/8", or "10.0.0.1/32" for this address alone, not "10.0.0.1/8"',
      ],
      [
        'fd00::1/64',
        'refused: must begin at the first address of the network: "fd00::/64", or "fd00::1/128" for this address alone, not "fd00::1/64"',
      ],
    ],
  ],
  ipAddress: [
    formats.ipAddress,
    [
      ['192.0.2.1', '192.0.2.1'],
      ['::1', '::1'],
      ['192.0.2', REFUSED],
      ['localhost', REFUSED],
    ],
  ],
  listenAddress: [
    formats.listenAddress,
    [
      ['[::1]:25', { host: '::1', port: 25 }],
      ['0.0.0.0:587', { host: '0.0.0.0', port: 587 }],
      ['::1:25', REFUSED],
      ['[127.0.0.1]:25', { host: '127.0.0.1', port: 25 }],
      ['127.0.0.1', REFUSED],
      ['127.0.0.1:', REFUSED],
      ['localhost:25', REFUSED],
      [':25', REFUSED],
    ],
  ],
  siteUrl: [
    formats.siteUrl,
    [
      ['https://Mail.example.com/', 'https://mail.example.com'],
      ['http://127.0.0.1:8025', 'http://127.0.0.1:8025'],
      ['https://mail.example.com/a', REFUSED],
    ],
  ],
  baseUrl: [
    formats.baseUrl,
    [
      ['https://a.example/b//', 'https://a.example/b'],
      ['https://a.example/?', 'https://a.example/?'],
      ['https://a.example/?b', REFUSED],
      ['https://a.example/#b', REFUSED],
      ['https://u@a.example/', REFUSED],
      ['ftp://a.example/', REFUSED],
      ['a.example', REFUSED],
    ],
  ],
  httpsUrl: [
    formats.httpsUrl,
    [
      ['https://a.example/dir', 'https://a.example/dir'],
      ['http://a.example/https:', REFUSED],
    ],
  ],
  serviceUrl: [
    formats.serviceUrl,
    [
      ['http://127.0.0.1:11333/', 'http://127.0.0.1:11333'],
      ['https://a.example/b/', 'https://a.example/b'],
      ['http://u@a.example', 'refused: must have no user name and no password'],
      ['http://:p@a.example', 'refused: must have no user name and no password'],
      ['http://a.example/?', 'refused: must have no query and no fragment'],
      ['http://a.example/#', 'refused: must have no query and no fragment'],
    ],
  ],
  absolutePath: [
    formats.absolutePath,
    [
      ['/srv/p', '/srv/p'],
      ['srv/p', REFUSED],
      ['./srv', REFUSED],
      ['', REFUSED],
    ],
  ],
  readableFile: [
    formats.readableFile,
    [
      ['/dev/null', '/dev/null'],
      ['/no/such', 'refused: names a file that cannot be read: /no/such'],
    ],
  ],
  size: [
    formats.size,
    [
      ['10 MB', 10_000_000],
      ['3GB', 3_000_000_000],
      ['8MiB', 8_388_608],
      ['1KB', 1_000],
      ['10mb', REFUSED],
      ['1.5MB', REFUSED],
      ['10  MB', REFUSED],
      [Number.MAX_SAFE_INTEGER + 1, REFUSED],
    ],
  ],
  duration: [
    formats.duration(0),
    [
      ['90s', 90_000],
      ['250ms', 250],
      ['1.5h', REFUSED],
      ['-1s', REFUSED],
      ['1 s', REFUSED],
      ['1w', REFUSED],
      ['99999999999d', REFUSED],
      [0, REFUSED],
    ],
  ],
  keyPrefix: [
    formats.keyPrefix,
    [
      ['acme1', 'acme1'],
      ['a', REFUSED],
    ],
  ],
  text: [
    formats.text,
    [
      ['', ''],
      [true, 'refused: must be text in quotes, not true'],
      [[1], 'refused: must be text in quotes, not a list'],
      [{}, 'refused: must be text in quotes, not a table'],
    ],
  ],
  secret: [
    formats.secret,
    [
      ['x', 'x'],
      // It is not repeated.
      [12_345, 'refused: must be text in quotes'],
    ],
  ],
  flag: [
    formats.flag,
    [
      [true, true],
      [false, false],
      ['true', REFUSED],
      [1, REFUSED],
    ],
  ],
  oneOf: [
    formats.oneOf('a', 'b'),
    [
      ['b', 'b'],
      ['c', 'refused: must be one of "a", "b", not "c"'],
    ],
  ],
  listOf: [
    formats.listOf(formats.flag),
    [
      [[], []],
      [[true, 1], 'refused: item 2 must be true or false, not 1'],
      [true, 'refused: must be a list in [ ], not true'],
    ],
  ],
  someOf: [
    formats.someOf(formats.flag, 'must have one'),
    [
      [[], 'refused: must have one'],
      [[true], [true]],
    ],
  ],
  orEmpty: [
    formats.orEmpty(formats.ipAddress),
    [
      ['', null],
      ['::1', '::1'],
      ['x', REFUSED],
    ],
  ],
  textOrEmpty: [
    formats.textOrEmpty(formats.ipAddress),
    [
      ['', ''],
      ['::1', '::1'],
      ['x', REFUSED],
    ],
  ],
};

for (const [name, [format, rows]] of Object.entries(TABLE)) {
  describe(name, () => {
    test.each(rows)('%j', (value, expected) => expect(read(format, value)).toEqual(expected));
  });
}

test('the item of a list that is wrong is named by its position', () => {
  const wrong = (): unknown => formats.listOf(formats.flag).read([true, false, 1]);
  expect(wrong).toThrow(expect.objectContaining({ index: 2 }));
});
