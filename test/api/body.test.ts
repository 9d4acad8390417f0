/** Request bodies: which lengths are taken before a byte is read, and how much of a stream is. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { createHash } from 'node:crypto';

import { checkLength, readBody, type RequestBody } from '../../src/api/body.ts';
import { ApiError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { KeptBytes } from '../../src/base/kept-bytes.ts';
import { ByteBudget } from '../../src/flow/byte-budget.ts';
import { LargeMessages } from '../../src/mail/large/large-messages.ts';

/** 14 MB, as docs/contract.md C17.4 says. */
const MOST = 14 * 1024 * 1024;

const MIB = 1024 * 1024;
const CHUNKED = { 'transfer-encoding': 'chunked' };

/** A request with these headers; `body` null: without one. */
function request(
  headers: Record<string, string>,
  body: string | Uint8Array | ReadableStream | null = 'x',
  method = 'POST',
): Request {
  return new Request('http://api.test/emails', { method, headers, ...(body !== null && { body }) });
}

/** Code and status of the refusal; null when there is none. */
async function refusalOf(work: () => unknown): Promise<[code: string, status: number] | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.code, error.status];
  }
}

describe('by its head', () => {
  const TOO_LARGE: [string, number] = ['payload_too_large', 413];
  const NO_LENGTH: [string, number] = ['length_required', 411];

  test.each([
    ['nothing', '0', null],
    ['as long as allowed', String(MOST), null],
    ['one byte more', String(MOST + 1), TOO_LARGE],
    ['more than a number holds', '9'.repeat(30), TOO_LARGE],
    ['less than nothing', '-1', TOO_LARGE],
    ['a number in another form', '1e3', TOO_LARGE],
  ])('a length of %s', async (_, length, refusal) => {
    for (const method of ['POST', 'PUT', 'PATCH']) {
      const asked = request({ 'content-length': length }, 'x', method);
      expect(await refusalOf(() => checkLength(asked))).toEqual(refusal);
    }
  });

  test('without a length only libraries that always stream are let in', async () => {
    const streamed = (agent: string) =>
      request({ 'user-agent': agent, 'transfer-encoding': 'chunked' }, new ReadableStream());
    for (const agent of ['resend-go/2.0', 'resend-sdk/1.0']) {
      expect(await refusalOf(() => checkLength(streamed(agent)))).toBeNull();
    }
    for (const agent of ['curl/8', '', 'my resend-go/2.0', 'Resend-Go/2.0', 'resend-python/2.0']) {
      expect(await refusalOf(() => checkLength(streamed(agent)))).toEqual(NO_LENGTH);
    }
    // Two statements about the length: the chunks are what comes.
    const both = request({ 'content-length': '1', 'transfer-encoding': 'chunked' });
    expect(await refusalOf(() => checkLength(both))).toEqual(NO_LENGTH);
  });

  test('no body needs no length, and one that no route reads is not looked at', async () => {
    expect(await refusalOf(() => checkLength(request({}, null)))).toBeNull();
    // Who says that chunks come must say how long they are, whatever comes.
    const none = request({ 'transfer-encoding': 'chunked' }, null);
    expect(await refusalOf(() => checkLength(none))).toEqual(NO_LENGTH);
    const long = request({ 'content-length': String(MOST + 1) }, null, 'DELETE');
    expect(await refusalOf(() => checkLength(long))).toBeNull();
  });
});

describe('its bytes', () => {
  const read = (asked: Request, budget = new ByteBudget()): Promise<RequestBody> =>
    readBody(asked, budget.open('account'));

  /** `count` pieces of a MiB, and `more` bytes. */
  function stream(count: number, more = 0): { body: ReadableStream; taken: () => number } {
    let at = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          at += 1;
          if (at <= count) controller.enqueue(new Uint8Array(1024 * 1024));
          else {
            if (more > 0) controller.enqueue(new Uint8Array(more));
            controller.close();
          }
        },
      },
      { highWaterMark: 0 },
    );
    return { body, taken: () => at };
  }

  test('are all of them, with a length and without', async () => {
    const whole = await read(request({ 'content-length': '5' }, 'höre'));
    expect(whole.unread(5)).toBe('höre');
    expect((await read(request(CHUNKED, stream(2, 3).body))).length).toBe(2 * 1024 * 1024 + 3);
    expect(await read(request({}, null))).toHaveLength(0);
  });

  test('of a large one come piece by piece, while other work is let in', async () => {
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      timer = setImmediate(tick);
    };
    let timer = setImmediate(tick);
    const body = await read(request({ 'content-length': String(4 * MIB) }, stream(4).body));
    clearImmediate(timer);
    expect([body.length, body.unread(MOST)?.length]).toEqual([4 * MIB, 4 * MIB]);
    expect(ticks).toBeGreaterThan(0);
  });

  test('of a stream are as many as of any other body, and no more is read', async () => {
    expect(await read(request(CHUNKED, stream(14).body))).toHaveLength(MOST);
    expect(await refusalOf(() => read(request(CHUNKED, stream(14, 1).body)))).toEqual([
      'payload_too_large',
      413,
    ]);
    const endless = stream(10_000);
    expect(await refusalOf(() => read(request(CHUNKED, endless.body)))).toEqual([
      'payload_too_large',
      413,
    ]);
    expect(endless.taken()).toBeLessThan(20);
  });

  test('of a body with a length are as many, whatever the length says', async () => {
    const of = (bytes: number) => request({ 'content-length': '5' }, new Uint8Array(bytes));
    expect(await read(of(MOST))).toHaveLength(MOST);
    expect(await refusalOf(() => read(of(MOST + 1)))).toEqual(['payload_too_large', 413]);
  });

  test('are not taken where there is no memory for them', async () => {
    const small = (): ByteBudget => new ByteBudget({ large: 2 * 1024 * 1024, small: 1_000 });
    const BUSY: [string, number] = ['platform_halted', 503];
    const long = request({ 'content-length': String(MOST) }, new Uint8Array(MOST));
    expect(await refusalOf(() => read(long, small()))).toEqual(BUSY);
    expect(long.bodyUsed).toBe(false);
    expect(await refusalOf(() => read(request(CHUNKED, stream(14).body), small()))).toEqual(BUSY);
  });

  test('of a stream that is too long are refused as such, also where the rest has no memory', async () => {
    // One owner has half of it.
    const exact = (): ByteBudget => new ByteBudget({ large: 2 * MOST, small: 0 });
    expect(await read(request(CHUNKED, stream(14).body), exact())).toHaveLength(MOST);
    expect(await refusalOf(() => read(request(CHUNKED, stream(14, 1).body), exact()))).toEqual([
      'payload_too_large',
      413,
    ]);
  });

  test('are not unpacked: a compressed body is refused by its head', async () => {
    for (const encoding of ['gzip', ' BR ', 'identity, gzip']) {
      const packed = request({ 'content-encoding': encoding, 'content-length': '1' });
      expect(await refusalOf(() => read(packed))).toEqual(['validation_failed', 400]);
      expect(packed.bodyUsed).toBe(false);
    }
    for (const encoding of ['identity', 'Identity', '']) {
      const plain = request({ 'content-encoding': encoding, 'content-length': '1' });
      expect(await read(plain)).toHaveLength(1);
    }
    expect(await read(request({ 'content-encoding': 'gzip' }, null))).toHaveLength(0);
  });

  test('that end too early are the client’s fault', async () => {
    const broken = new ReadableStream({
      pull(controller) {
        controller.error(new Error('the connection was closed'));
      },
    });
    const dropped = spyOn(KeptBytes.prototype, 'drop');
    expect(await refusalOf(() => read(request(CHUNKED, broken)))).toEqual([
      'validation_failed',
      400,
    ]);
    // What had come is not left to the collector.
    expect(dropped).toHaveBeenCalledTimes(1);
    dropped.mockRestore();
  });
});

describe('its JSON', () => {
  const read = async (text: string, headers: Record<string, string> = {}) => {
    const head = { 'content-length': String(Buffer.byteLength(text)), ...headers };
    const asked = request(head, new Blob([text]).stream());
    return readBody(asked, new ByteBudget().open('account'));
  };
  const log = createLog(
    () => undefined,
    () => 0,
  );
  const large = new LargeMessages({ log });
  afterAll(() => large.stop());
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

  test('is read with its text below a MiB, and without it from there on', async () => {
    const before = JSON.stringify({ a: 'ü'.repeat((MIB - 100) / 2), b: 1 });
    for (const bytes of [MIB - 1, MIB, MIB + 1]) {
      const text = before.padEnd(before.length + bytes - Buffer.byteLength(before));
      for (const headers of [{}, CHUNKED]) {
        const body = await read(text, headers);
        expect(body.length).toBe(bytes);
        expect(await body.readJson(large)).toEqual(JSON.parse(text));
        expect(body.value).toEqual(JSON.parse(text));
        expect([body.text, body.hash()]).toEqual([bytes < MIB ? text : null, sha256(text)]);
      }
    }
  });

  test('of an empty body is nothing', async () => {
    const body = await read('');
    expect([
      await body.readJson(large),
      body.value,
      body.text,
      body.unread(0),
      body.hash(),
    ]).toEqual([undefined, undefined, null, '', sha256('')]);
  });

  test('that is none leaves the bytes to be looked at, up to a size', async () => {
    const body = await read('{"ü');
    expect(await refusalOf(() => body.readJson(large))).toEqual(['validation_failed', 400]);
    expect([body.text, body.value]).toEqual([null, undefined]);
    expect([body.unread(4), body.unread(3)]).toEqual(['{"ü', null]);
    // In several parts, of which a character may be in two.
    const parts = await read('ü'.repeat(100_001), CHUNKED);
    expect(parts.unread(MOST)).toBe('ü'.repeat(100_001));
  });
});

test('each refusal of a body says what is wrong with it, whole', async () => {
  const refused = async (work: () => unknown) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { code, status, errorName, message, detail, headers } = error;
      return [code, status, errorName, message, detail ?? null, headers];
    }
    throw new Error('it was read');
  };
  const budget = (bytes?: number): ByteBudget =>
    bytes === undefined ? new ByteBudget() : new ByteBudget({ large: bytes, small: 0 });
  const read = (asked: Request, bytes?: number) =>
    refused(() => readBody(asked, budget(bytes).open('account')));
  const issue = (path: string, message: string) => [message, { issues: [{ path, message }] }, {}];
  const invalid = ['validation_failed', 400, 'validation_error'];
  const tooLarge = [
    'payload_too_large',
    413,
    'validation_error',
    'The body must be at most 14 MB (14,680,064 bytes).',
    { max_bytes: MOST },
    {},
  ];
  expect(await refused(() => checkLength(request({ 'content-length': `${MOST + 1}` })))).toEqual(
    tooLarge,
  );
  expect(await refused(() => checkLength(request({}, new ReadableStream())))).toEqual([
    'length_required',
    411,
    'validation_error',
    'A request with a body must have a Content-Length header.',
    null,
    {},
  ]);
  expect(await read(request({ 'content-encoding': 'br', 'content-length': '1' }))).toEqual([
    ...invalid,
    ...issue('Content-Encoding', 'Content-Encoding is not supported. Send the body uncompressed.'),
  ]);
  const broken = new ReadableStream({
    pull(controller) {
      controller.error(new Error('the secret cause'));
    },
  });
  expect(await read(request({}, broken))).toEqual([
    ...invalid,
    ...issue('', 'The connection ended before the whole body had arrived.'),
  ]);
  // More than was declared is measured too.
  expect(await read(request({ 'content-length': '1' }, new Uint8Array(MOST + 1)))).toEqual(
    tooLarge,
  );
  expect(await read(request({ 'content-length': '9' }), 0)).toEqual([
    'platform_halted',
    503,
    'application_error',
    'This service is handling too many large requests at the moment. Try again later.',
    null,
    { 'Retry-After': '5' },
  ]);
});

test('a body takes its declared length of the memory, and a stream what has arrived', async () => {
  const taken = async (asked: Request): Promise<number[]> => {
    const all: number[] = [];
    const share = { grow: (bytes: number) => all.push(bytes) > 0 } as never;
    await readBody(asked, share);
    return all;
  };
  expect(await taken(request({ 'content-length': '3' }, 'xyz'))).toEqual([3]);
  expect(await taken(request({}, null))).toEqual([]);
  const pieces = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const size of [5, 7]) controller.enqueue(new Uint8Array(size));
      controller.close();
    },
  });
  // A length beside the chunks is not believed.
  const both = { 'content-length': '1', 'transfer-encoding': 'chunked' };
  expect(await taken(request(both, pieces))).toEqual([5, 7]);
});
