/** The thread's side of a large message: its answer, and that nothing of the task stays behind. */
import { expect, test } from 'bun:test';
import { Packer, Unpacker } from '../../../src/base/packing.ts';

// oxlint-disable unicorn/require-post-message-target-origin -- a Worker has no origin
test('each task is answered, a broken one too, and then what it left is collected', async () => {
  const worker = new Worker(new URL('watched-thread.ts', import.meta.url).href);
  const posted: unknown[] = [];
  const unpacker = new Unpacker();
  const bytes = Buffer.from('Subject: x\r\n\r\nhello');
  let notify = (): void => undefined;
  worker.addEventListener('message', ({ data }) => {
    posted.push(Array.isArray(data) ? { list: unpacker.unpack(data) } : data);
    notify();
  });
  const next = async (count: number): Promise<void> => {
    while (posted.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      notify = resolve;
      await promise;
    }
  };
  const packer = new Packer();
  worker.postMessage(packer.pack({ ticket: 1, kind: 'read', input: { bytes } }));
  await next(2);
  worker.postMessage(packer.pack({ ticket: 2, kind: 'read', input: null }));
  await next(4);
  const parts = [Buffer.from('{"a":[1]}')];
  worker.postMessage(packer.pack({ ticket: 3, kind: 'parse', input: { parts } }));
  await next(6);
  worker.terminate();
  expect(posted).toEqual([
    { list: { ticket: 1, output: expect.anything() } },
    { collected: true },
    { list: { ticket: 2, error: expect.any(String) } },
    { collected: true },
    // What a client has sent is no list: unpacking it would take time of the main thread, as much as it likes.
    { ticket: 3, output: { value: { a: [1] }, hash: expect.any(String) } },
    { collected: true },
  ]);
});
