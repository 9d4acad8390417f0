/**
 * What only shows on a socket of the compiled binary: framing, lengths, streaming, HEAD, odd Hosts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { BinaryAppliance } from '../rig/binary.ts';

const MEGABYTE = 1024 * 1024;
const LIMIT = 14 * MEGABYTE;
const EMAIL = JSON.stringify({
  from: 'a@any.example.com',
  to: 'someone@example.com',
  subject: 'Streamed',
  text: 't',
});

let appliance: BinaryAppliance;
let key: string;

beforeAll(async () => {
  appliance = await BinaryAppliance.start({ config: '[delivery]\nmode = "capture"\n' });
  const made = await appliance.json([
    'key',
    'create',
    '--account',
    'default',
    '--name',
    'w',
    '--permission',
    'full_access',
    '--test',
  ]);
  key = String(made['token']);
}, 60_000);

afterAll(() => appliance.stop());

interface Received {
  status: number;
  headers: Map<string, string>;
  text: string;
}

/** A client that writes given bytes and reads one response. */
class RawClient {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #wake: () => void = () => {};
  #isClosed = false;

  constructor() {
    const { hostname, port } = new URL(appliance.url);
    this.socket = connect(Number(port), hostname);
    this.socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    const close = (): void => {
      this.#isClosed = true;
      this.#wake();
    };
    this.socket.on('close', close);
    this.socket.on('error', close);
  }

  write(head: string[], body: string | Uint8Array = ''): this {
    this.socket.write(`${head.join('\r\n')}\r\n\r\n`);
    if (body.length > 0) this.socket.write(body);
    return this;
  }

  /** The next response. Throws when the connection ends before it. */
  async answer(hasBody = true): Promise<Received> {
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n');
      if (end !== -1) {
        const [first = '', ...lines] = this.#received.subarray(0, end).toString().split('\r\n');
        const headers = new Map(
          lines.map((line) => [
            line.slice(0, line.indexOf(':')).toLowerCase(),
            line.slice(line.indexOf(':') + 1).trim(),
          ]),
        );
        if (hasBody && headers.get('transfer-encoding') === 'chunked') {
          // A refusal ends when the body that nobody reads has come, or stays away (docs/runtime-hazards.md H7).
          const body = this.#received.subarray(end + 4).toString('latin1');
          const last = body.indexOf('0\r\n\r\n');
          if (last !== -1) {
            this.#received = this.#received.subarray(end + 4 + last + '0\r\n\r\n'.length);
            const text = body.slice(0, last).replace(/(?:^|\r\n)[0-9a-f]+\r\n|\r\n$/g, '');
            return { status: Number(first.split(' ')[1]), headers, text };
          }
          await this.#more();
          continue;
        }
        const length = hasBody ? Number(headers.get('content-length') ?? 0) : 0;
        if (this.#received.length >= end + 4 + length) {
          const text = this.#received.subarray(end + 4, end + 4 + length).toString();
          this.#received = this.#received.subarray(end + 4 + length);
          return { status: Number(first.split(' ')[1]), headers, text };
        }
      }
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    if (this.#isClosed) throw new Error(`closed after ${this.#received.toString()}`);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  end(): void {
    this.socket.destroy();
  }
}

async function exchange(
  head: string[],
  body: string | Uint8Array = '',
  hasBody = true,
): Promise<Received> {
  const client = new RawClient().write(head, body);
  try {
    return await client.answer(hasBody);
  } finally {
    client.end();
  }
}

const post = (path: string, ...headers: string[]): string[] => [
  `POST ${path} HTTP/1.1`,
  'Host: mail.rig.test',
  `Authorization: Bearer ${key}`,
  'Content-Type: application/json',
  ...headers,
];

function chunked(...parts: string[]): string {
  const chunks = parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`);
  return `${chunks.join('')}0\r\n\r\n`;
}

describe('a body without a length', () => {
  test.each(['resend-go/3.12.0', 'resend-sdk/0.11.0 dotnet/9.0'])(
    'is read from %s',
    async (agent) => {
      const head = post('/v1/emails', 'Transfer-Encoding: chunked', `User-Agent: ${agent}`);
      const { status, text } = await exchange(head, chunked(EMAIL.slice(0, 20), EMAIL.slice(20)));
      expect([status, JSON.parse(text).status]).toEqual([200, 'sent']);
    },
  );

  test.each(['curl/8.0', 'x resend-go/3.12.0', 'Resend-Go/3.12.0'])(
    'is 411 from %s',
    async (agent) => {
      const head = post('/v1/emails', 'Transfer-Encoding: chunked', `User-Agent: ${agent}`);
      const { status, text, headers } = await exchange(head, chunked(EMAIL));
      expect([status, JSON.parse(text).code]).toEqual([411, 'length_required']);
      expect(headers.get('x-request-id')).toBe(JSON.parse(text).request_id);
    },
  );

  test('is cut off at 14 MB', async () => {
    const head = post('/v1/emails', 'Transfer-Encoding: chunked', 'User-Agent: resend-go/3.12.0');
    const client = new RawClient().write(head);
    const chunk = `${MEGABYTE.toString(16)}\r\n${'x'.repeat(MEGABYTE)}\r\n`;
    for (let sent = 0; sent < 16; sent += 1) client.socket.write(chunk);
    client.socket.write('0\r\n\r\n');
    const { status, text } = await client.answer();
    client.end();
    expect([status, JSON.parse(text).code]).toEqual([413, 'payload_too_large']);
  }, 20_000);

  test('that is no body at all is fine', async () => {
    const id = '01913c7e-89ab-7cde-8f01-23456789abcd';
    for (const headers of [[], ['Content-Length: 0']]) {
      const { status } = await exchange(post(`/domains/${id}/verify`, ...headers));
      expect(status).toBe(404);
    }
  });
});

describe('a body over 14 MB', () => {
  test('is refused before it is read, and the connection stays open', async () => {
    const head = post('/v1/emails', `Content-Length: ${LIMIT + 1}`);
    const { status, text, headers } = await exchange(head);
    expect([status, JSON.parse(text).code]).toEqual([413, 'payload_too_large']);
    expect(headers.get('connection')).toBeUndefined();
  });

  test('is refused also when the client sends it anyway', async () => {
    const response = await appliance.api('POST', '/v1/emails', 'x'.repeat(20 * MEGABYTE));
    expect(response.status).toBe(413);
    expect(((await response.json()) as { code: string }).code).toBe('payload_too_large');
  }, 20_000);

  test.each([
    ['POST', '/v1/emails'],
    ['POST', '/nothing'],
    ['PUT', '/v1/emails'],
  ])('of any length is refused in JSON: %s %s', async (method, path) => {
    for (const length of [64 * MEGABYTE + 1, 99_999_999_999]) {
      const head = [`${method} ${path} HTTP/1.1`, 'Host: x', `Content-Length: ${length}`];
      const { status, text, headers } = await exchange(head);
      expect([status, JSON.parse(text).code]).toEqual([413, 'payload_too_large']);
      expect(headers.get('x-request-id')).toBe(JSON.parse(text).request_id);
    }
  });

  test('of exactly 14 MB is read', async () => {
    const padding = ' '.repeat(LIMIT - EMAIL.length);
    const { status } = await exchange(
      post('/v1/emails', `Content-Length: ${LIMIT}`),
      EMAIL + padding,
    );
    expect(status).toBe(200);
  }, 20_000);
});

test('a client that disconnects in the middle of a body is not logged as a fault', async () => {
  const client = new RawClient().write(
    post('/v1/emails', 'Content-Length: 1000000'),
    'x'.repeat(500),
  );
  // The next response on another connection comes after the first request has been begun.
  await exchange(['GET /v1/usage HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`]);
  client.end();
  const sentAt = Date.now();
  for (;;) {
    const { text } = await exchange([
      'GET /v1/logs?q=/v1/emails&status=400&limit=1 HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${key}`,
    ]);
    const [row] = JSON.parse(text).data as { created_at: string }[];
    if (row !== undefined && Date.parse(row.created_at) > sentAt - 5_000) break;
    await Bun.sleep(20);
  }
  expect(appliance.log.items.filter(({ event }) => event === 'request_failed')).toEqual([]);
}, 20_000);

describe('the head', () => {
  test.each(['a', 'ab', 'abc', 'mail.rig.test:25', '[::1]', '127.0.0.1'])(
    'Host %s does not shift the path',
    async (host) => {
      const get = (path: string): string[] => [
        `GET ${path} HTTP/1.1`,
        `Host: ${host}`,
        `Authorization: Bearer ${key}`,
      ];
      expect((await exchange(get('/v1/domains'))).status).toBe(200);
      expect((await exchange(get('/zz/domains'))).status).toBe(404);
      expect((await exchange(get('/zz/v1/domains'))).status).toBe(404);
    },
  );

  test.each(['a b', 'a/b', 'a/v1/usage?', 'a#b', 'u@h', 'a:99999', '[::1', ''])(
    'a Host that is none (%p) is no fault of ours',
    async (host) => {
      const get = (path: string): string[] => [
        `GET ${path} HTTP/1.1`,
        `Host: ${host}`,
        `Authorization: Bearer ${key}`,
      ];
      expect((await exchange(get('/v1/domains?x=1'))).text).toContain('"list"');
      expect((await exchange(get('/zz/domains'))).status).toBe(404);
    },
  );

  test('HTTP/1.0 without a Host gets a response, with a body too', async () => {
    const authorization = `Authorization: Bearer ${key}`;
    for (const path of ['/v1/domains', '/health', '/dashboard']) {
      const { status, headers } = await exchange([`GET ${path} HTTP/1.0`, authorization]);
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
    const length = `Content-Length: ${EMAIL.length}`;
    const { text } = await exchange(['POST /v1/emails HTTP/1.0', authorization, length], EMAIL);
    expect(JSON.parse(text).status).toBe('sent');
  });

  test('every response has X-Request-Id', async () => {
    for (const path of ['/health', '/ready', '/metrics', '/dashboard', '/unsubscribe/x', '/docs']) {
      const ids = await Promise.all(
        ['GET', 'HEAD', 'PUT'].map(async (method) => {
          const { headers } = await fetch(appliance.url + path, { method });
          return headers.get('x-request-id');
        }),
      );
      expect(new Set(ids).size).toBe(3);
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    }
  });

  test('says the limits of the built-in plan: 300 reads a minute, 100 sends a second', async () => {
    const limit = ({ headers }: Received): unknown => headers.get('ratelimit-limit');
    const authorization = `Authorization: Bearer ${key}`;
    expect(limit(await exchange(['GET /v1/usage HTTP/1.1', 'Host: x', authorization]))).toBe('300');
    const length = `Content-Length: ${EMAIL.length}`;
    expect(limit(await exchange(post('/v1/emails', length), EMAIL))).toBe('100');
  });

  test('HEAD returns the length of the GET response and no body', async () => {
    const ask = (method: string): string[] => [
      `${method} /v1/domains HTTP/1.1`,
      'Host: mail.rig.test',
      `Authorization: Bearer ${key}`,
    ];
    const got = await exchange(ask('GET'));
    const client = new RawClient().write(ask('HEAD'));
    const head = await client.answer(false);
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(String(got.text.length));
    expect(head.headers.get('x-request-id')).toBeDefined();
    // The next response on the connection is the proof that no body came.
    const next = await client.write(ask('GET')).answer();
    client.end();
    expect(next.text).toBe(got.text);
  });

  test('a request with two lengths, or a length and chunks, is never read as two', async () => {
    const inner = 'GET /v1/usage HTTP/1.1\r\nHost: x\r\n\r\n';
    for (const headers of [
      ['Content-Length: 4', 'Content-Length: 60'],
      ['Content-Length: 4', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked, identity'],
    ]) {
      const client = new RawClient().write(post('/v1/emails', ...headers), `0\r\n\r\n${inner}`);
      const first = await client.answer().catch(() => null);
      expect([400, 411, null]).toContain(first?.status ?? null);
      client.end();
    }
  });
});
