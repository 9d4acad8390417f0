/** Request bodies: which lengths are taken before a byte is read, and how much of a stream is. */
import { describe, expect, test } from 'bun:test';

import { checkLength, readBody } from '../../src/api/body.ts';
import { ApiError } from '../../src/base/errors.ts';
import { ByteBudget } from '../../src/flow/byte-budget.ts';

/** 14 MB, as docs/contract.md C17.4 says. */
const MOST = 14 * 1024 * 1024;

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
    for (const agent of ['curl/8', '', 'my resend-go/2.0', 'resend-python/2.0']) {
      expect(await refusalOf(() => checkLength(streamed(agent)))).toEqual(NO_LENGTH);
    }
    // Two statements about the length: the chunks are what comes.
    const both = request({ 'content-length': '1', 'transfer-encoding': 'chunked' });
    expect(await refusalOf(() => checkLength(both))).toEqual(NO_LENGTH);
  });

  test('no body needs no length, and one that no route reads is not looked at', async () => {
    expect(await refusalOf(() => checkLength(request({}, null)))).toBeNull();
    const long = request({ 'content-length': String(MOST + 1) }, null, 'DELETE');
    expect(await refusalOf(() => checkLength(long))).toBeNull();
  });
});

describe('its bytes', () => {
  const read = (asked: Request, budget = new ByteBudget()): Promise<Uint8Array> =>
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

  const CHUNKED = { 'transfer-encoding': 'chunked' };

  test('are all of them, with a length and without', async () => {
    const whole = await read(request({ 'content-length': '5' }, 'höre'));
    expect(Buffer.from(whole).toString()).toBe('höre');
    expect((await read(request(CHUNKED, stream(2, 3).body))).length).toBe(2 * 1024 * 1024 + 3);
    expect(await read(request({}, null))).toHaveLength(0);
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

  test('are not taken where there is no memory for them', async () => {
    const small = (): ByteBudget => new ByteBudget({ large: 2 * 1024 * 1024, small: 1_000 });
    const BUSY: [string, number] = ['platform_halted', 503];
    const long = request({ 'content-length': String(MOST) }, new Uint8Array(MOST));
    expect(await refusalOf(() => read(long, small()))).toEqual(BUSY);
    expect(long.bodyUsed).toBe(false);
    expect(await refusalOf(() => read(request(CHUNKED, stream(14).body), small()))).toEqual(BUSY);
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
    expect(await refusalOf(() => read(request(CHUNKED, broken)))).toEqual([
      'validation_failed',
      400,
    ]);
  });
});
