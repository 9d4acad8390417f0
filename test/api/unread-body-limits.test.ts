/** Which refusals wait for the body of their request, and which are sent as they are. */
import { afterEach, beforeEach, expect, jest, test } from 'bun:test';

import { endsConnection, UnreadBodies } from '../../src/api/unread-body.ts';

// No time passes but what a test lets pass.
beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A body without an end, and what has become of it. */
function endless() {
  const seen = { isCancelled: false };
  const body = new ReadableStream<Uint8Array>({
    cancel() {
      seen.isCancelled = true;
    },
  });
  return { body, seen };
}

function asked(headers: Record<string, string> = {}, body: ReadableStream | null = endless().body) {
  return new Request('http://rig.test/', {
    method: 'POST',
    headers,
    ...(body !== null && { body }),
  });
}

const refusal = (status = 413): Response =>
  new Response('refused', { status, headers: { 'Content-Type': 'a/b', 'X-Request-Id': 'id' } });

/** Lets every promise that is ready go on. */
async function settle(): Promise<void> {
  for (let step = 0; step < 40; step += 1) await Promise.resolve();
}

test.each([
  ['a status of 399 waits for nothing', 399, {}, true],
  ['a status of 400 waits', 400, {}, false],
  ['a length of 65,536 bytes is not waited for', 413, { 'content-length': '65536' }, true],
  ['a length of 65,537 bytes is', 413, { 'content-length': '65537' }, false],
  ['no length is', 413, {}, false],
] as [string, number, Record<string, string>, boolean][])(
  '%s',
  async (_, status, headers, isSame) => {
    const bodies = new UnreadBodies();
    const response = refusal(status);
    const after = bodies.after(asked(headers), response);
    expect(after === response).toBe(isSame);
    expect([after.status, Object.fromEntries(after.headers)]).toEqual([
      status,
      { 'content-type': 'a/b', 'x-request-id': 'id' },
    ]);
    bodies.end();
    expect(await after.text()).toBe('refused');
  },
);

test('a response without a body, a request without one, and one that is being read, are not waited for', async () => {
  const bodies = new UnreadBodies();
  const none = new Response(null, { status: 413 });
  expect(bodies.after(asked(), none)).toBe(none);
  const empty = refusal();
  expect(bodies.after(asked({}, null), empty)).toBe(empty);
  const locked = asked();
  locked.body?.getReader();
  const beside = refusal();
  expect(bodies.after(locked, beside)).toBe(beside);
  const read = new Request('http://rig.test/', { method: 'POST', body: 'read' });
  await read.text();
  const late = refusal();
  expect(bodies.after(read, late)).toBe(late);
  bodies.end();
  const last = refusal();
  expect(bodies.after(asked(), last)).toBe(last);
});

test('a client that leaves ends the wait, and its body is read no more', async () => {
  const { body, seen } = endless();
  const after = new UnreadBodies().after(asked({}, body), refusal());
  const reader = after.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('refused');
  await settle();
  expect([seen.isCancelled, jest.getTimerCount()]).toEqual([false, 1]);
  await reader?.cancel();
  await settle();
  expect([seen.isCancelled, jest.getTimerCount()]).toEqual([true, 0]);
});

test('a server that stops ends every wait at once, also one that has not begun', async () => {
  const bodies = new UnreadBodies();
  const all = Array.from({ length: 3 }, endless);
  const responses = all.map(({ body }) => bodies.after(asked({}, body), refusal()));
  bodies.end();
  expect(await Promise.all(responses.map((response) => response.text()))).toEqual(
    all.map(() => 'refused'),
  );
  expect(all.map(({ seen }) => seen.isCancelled)).toEqual([true, true, true]);
  expect(jest.getTimerCount()).toBe(0);
});

test('a body that ends takes its timer with it, and so does one that breaks off', async () => {
  const bodies = new UnreadBodies();
  for (const end of ['close', 'error'] as const) {
    let finish = (): void => undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        finish = () =>
          end === 'close' ? controller.close() : controller.error(new Error('broken off'));
      },
    });
    const text = bodies.after(asked({}, body), refusal()).text();
    await settle();
    expect([end, jest.getTimerCount()]).toEqual([end, 1]);
    finish();
    expect(await text).toBe('refused');
    expect([end, jest.getTimerCount()]).toEqual([end, 0]);
  }
});

test.each([
  ['keep-alive', false],
  ['Keep-Alive', false],
  ['Upgrade, Keep-Alive', false],
  ['close', true],
  [null, true],
])('a request with Connection: %p ends its connection: %p', (connection, isEnd) => {
  const headers = connection === null ? {} : { connection };
  expect(endsConnection(new Request('http://rig.test/', { headers }))).toBe(isEnd);
});

test('a body is read until its last allowed byte, and until its last allowed second', async () => {
  const bodies = new UnreadBodies();
  const begin = () => {
    let give = (_bytes: number): void => undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        give = (bytes) => controller.enqueue(new Uint8Array(bytes));
      },
    });
    const state = { isOver: false };
    const text = bodies.after(asked({}, body), refusal()).text();
    const over = text.then((found) => {
      state.isOver = true;
      return found;
    });
    return { give: (bytes: number) => give(bytes), over, state };
  };
  const long = begin();
  for (let piece = 0; piece < 64; piece += 1) {
    long.give(1024 * 1024 - (piece === 0 ? 1 : 0));
    await settle();
  }
  expect(long.state.isOver).toBe(false);
  long.give(1);
  expect(await long.over).toBe('refused');
  const silent = begin();
  await settle();
  jest.advanceTimersByTime(1_999);
  await settle();
  expect(silent.state.isOver).toBe(false);
  jest.advanceTimersByTime(1);
  expect(await silent.over).toBe('refused');
});
