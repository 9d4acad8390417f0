/**
 * What the fuzzer does to a valid request: one change at a time to its JSON, its bytes, its path, its query, its headers,
 * its method or its key.
 */
import type { Random } from '../../mail/random.ts';
import type { WireRequest } from './wire-client.ts';

/** A request before its body is bytes. */
export interface Draft extends Omit<WireRequest, 'body'> {
  json: unknown;
  /** Instead of `json`. */
  raw: Buffer | null;
}

type Mutation = (draft: Draft, random: Random) => void;

const ODD_TEXTS = [
  '',
  ' ',
  'x'.repeat(300),
  'y'.repeat(70_000),
  'ü🎉\u202e漢字',
  '\u0000',
  'a\r\nBcc: x@example.net',
  '\ud800',
  '"><script>',
  "'; DROP TABLE messages; --",
  '../../etc/passwd',
  '__proto__',
  'constructor',
  '%00%ff',
  '-1',
  'null',
  '2026-13-45T99:99:99Z',
  'a@b',
  '<>@,;:"[]()\\',
  '='.repeat(1_000),
  'e\u0301'.repeat(500),
  'http://169.254.169.254/latest',
  'https://user:pw@hook1.example.com/',
  'https://[::1]:8443/x',
  'https://hook1.example.com:99999/',
  'https://\u0445\u0443\u043a.example.com/\u2028',
  'xn--',
  'xn--zzzzzz.example.com',
  'a..example.com',
  '.example.com.',
  'com',
  '1.2.3.4',
  `${'l'.repeat(64)}.example.com`,
  `${'d.'.repeat(126)}example.com`,
  'b\u00fccher.example.com',
  '"q q"@example.net',
  'm\u00fcller@b\u00fccher.example',
  `${'l'.repeat(65)}@example.net`,
  'Ann <a@example.net>, Bob <b@example.net>',
  '<a@example.net',
  'a@[127.0.0.1]',
  'a@example.net\t',
  '=?utf-8?B?w7w=?= <a@example.net>',
];

function oddValue(random: Random): unknown {
  return random.pick<() => unknown>([
    () => random.pick(ODD_TEXTS),
    () => random.pick(ODD_TEXTS),
    () => null,
    () => true,
    () => random.pick([0, -1, 1.5, 1e308, 2 ** 53, -(2 ** 31)]),
    () => [],
    () => ({}),
    () => nested(1 + random.int(random.chance(0.2) ? 400 : 6)),
    () => Array.from({ length: random.int(200) }, () => random.pick(ODD_TEXTS.slice(0, 3))),
    () => ({ [random.pick(ODD_TEXTS)]: random.pick(ODD_TEXTS) }),
    () => ({ type: 'Buffer', data: [1, 2, 256] }),
  ])();
}

function nested(depth: number): unknown {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Changes the value somewhere inside `json`; gives the new whole. */
function changed(json: unknown, random: Random): unknown {
  if (typeof json !== 'object' || json === null || random.chance(0.1)) return oddValue(random);
  if (Array.isArray(json)) {
    const at = random.int(json.length + 1);
    const rest = json.filter((_, index) => index !== at);
    if (random.chance(0.2)) return rest;
    if (random.chance(0.2)) return [...json, ...json, oddValue(random)];
    return json.map((item, index) => (index === at ? changed(item, random) : item));
  }
  const entries = Object.entries(json);
  const at = random.int(entries.length + 1);
  if (at === entries.length || random.chance(0.15)) {
    return {
      ...json,
      [random.pick([...ODD_TEXTS, 'scheduled_at', 'template', 'id'])]: oddValue(random),
    };
  }
  if (random.chance(0.2)) return Object.fromEntries(entries.filter((_, index) => index !== at));
  return Object.fromEntries(
    entries.map(([key, value], index) => [key, index === at ? changed(value, random) : value]),
  );
}

/** JSON that no library writes. */
const RAW_BODIES: ((text: string, random: Random) => Buffer)[] = [
  () => Buffer.alloc(0),
  (text) => Buffer.from(text.slice(0, -1)),
  (text) => Buffer.from(`${text}${text}`),
  (text) => Buffer.from(`\ufeff${text}`),
  (text) => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 0xc3])]),
  (text) => Buffer.from(text.replace(/"/, '"\ud800').replace(/"/g, "'")),
  (text) => Buffer.from(text, 'utf16le'),
  () => Buffer.from('{"to":"a@example.net","to":"b@example.net"}'),
  () => Buffer.from('{"__proto__":{"from":1},"from":"\\ud800","x":1e999}'),
  () => Buffer.from(`${'['.repeat(5_000)}${']'.repeat(5_000)}`),
  () => Buffer.from(`{"a":${'9'.repeat(400)}}`),
  () => Buffer.from('NaN'),
  () => Buffer.from('from=a%40example.com&to=b%40example.net'),
  (_, random) => Buffer.from(Array.from({ length: random.int(400) }, () => random.int(256))),
];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const CONTENT_TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  '',
  'x',
];
const ODD_HEADERS: [name: string, value: string][] = [
  ['Idempotency-Key', ''],
  ['Idempotency-Key', 'k'.repeat(257)],
  ['Idempotency-Key', 'caf\xe9'],
  ['x-batch-validation', 'permissive'],
  ['x-batch-validation', 'PERMISSIVE'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity'],
  ['User-Agent', 'u'.repeat(3_000)],
  ['User-Agent', 'caf\xe9 \x80'],
  ['X-Forwarded-For', '1.2.3.4, ::1, nonsense'],
  ['X-Request-Id', 'mine'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Accept', 'text/html'],
  ['Accept-Encoding', 'br;q=1, *;q=0'],
  ['Range', 'bytes=0-1'],
  ['If-None-Match', '*'],
  ['Origin', 'https://evil.example'],
  ['Cookie', 'session=1; =; ;;'],
  ['Upgrade', 'h2c'],
  ['TE', 'trailers'],
  ['X-Long', 'v'.repeat(4_000)],
];
const ODD_KEYS = [
  'Bearer',
  'Bearer ',
  'Basic eDp5',
  'Bearer pr_live_x',
  'bearer  x y',
  'Bearer \xe9',
  '',
];
const ODD_SEGMENTS = [
  '%00',
  '%ff%fe',
  '%zz',
  '%2e%2e',
  '%2F',
  'x'.repeat(2_000),
  '%F0%9F%8E%89',
  'batch',
  'null',
  '0',
  "'",
  'a%40b',
  'constructor',
];
const ODD_QUERIES = [
  'limit=0',
  'limit=-1',
  'limit=1e2',
  'limit=',
  'limit=999999999999999999999',
  'limit=5&limit=6',
  'after=x',
  'after=%00',
  'before=01913c7e-89ab-7cde-8f01-23456789abcd',
  'q=%25%27%22_%5C',
  'q=%ff',
  `q=${'z'.repeat(201)}`,
  'q=%E6%BC%A2*%22(AND',
  'status=nonsense',
  'method=TRACE',
  'page=0',
  'page=10000',
  'constructor=1&__proto__[x]=2',
  'origin=bounce',
  '%zz=%zz',
  '&&&===',
];

export const MUTATIONS: Record<string, Mutation> = {
  json(draft, random) {
    draft.json = changed(draft.json, random);
  },
  raw(draft, random) {
    draft.raw = random.pick(RAW_BODIES)(JSON.stringify(draft.json ?? {}), random);
  },
  method(draft, random) {
    draft.method = random.pick(METHODS);
  },
  type(draft, random) {
    put(draft, ['Content-Type', random.pick(CONTENT_TYPES)]);
  },
  header(draft, random) {
    put(draft, random.pick(ODD_HEADERS));
  },
  key(draft, random) {
    put(draft, ['Authorization', random.pick(ODD_KEYS)]);
  },
  noKey(draft) {
    draft.headers = draft.headers.filter(([name]) => name !== 'Authorization');
  },
  path(draft, random) {
    const [path = '', query] = draft.target.split('?');
    const segments = path.split('/');
    segments[1 + random.int(segments.length)] = random.pick(ODD_SEGMENTS);
    draft.target = segments.join('/') + (query === undefined ? '' : `?${query}`);
  },
  query(draft, random) {
    const mark = draft.target.includes('?') ? '&' : '?';
    draft.target += `${mark}${random.pick(ODD_QUERIES)}`;
  },
};

/** More often what reaches deeper. */
const WEIGHTED = [
  'json',
  'json',
  'json',
  'json',
  'json',
  'json',
  'json',
  'json',
  'raw',
  'query',
  'query',
  'path',
  'header',
  'header',
];
const NAMES = [...WEIGHTED, ...Object.keys(MUTATIONS)];

export function mutate(draft: Draft, random: Random): void {
  const name = random.pick(NAMES);
  // A request without a body has no JSON to change.
  const hasBody = draft.json !== undefined;
  const chosen = !hasBody && (name === 'json' || name === 'type') ? 'query' : name;
  MUTATIONS[chosen]?.(draft, random);
}

function put(draft: Draft, [name, value]: [string, string]): void {
  const rest = draft.headers.filter(([known]) => known.toLowerCase() !== name.toLowerCase());
  draft.headers = [...rest, [name, value]];
}
