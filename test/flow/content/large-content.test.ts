/** Large content is read on the background thread, small content where it is asked for; both are the same as stored. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import { BackgroundClient } from '../../../src/store/sqlite/background-client.ts';
import type { LongReads } from '../../../src/store/sqlite/long-reads.ts';
import type { Context } from '../../../src/flow/context.ts';
import { contentOf, listedContentOf } from '../../../src/flow/content/content.ts';
import { ALONE_FROM, ByteBudget } from '../../../src/flow/byte-budget.ts';
import { newMessage } from '../../store/samples.ts';
import { withStore } from '../../store/test-store.ts';

/** Bytes from which content is large. */
const LARGE = 512 * 1024;

let undo = (): void => undefined;
afterEach(() => undo());

/** The verbs that the background thread is asked for, in their order. */
function asked(): string[] {
  const names: string[] = [];
  const real: (this: BackgroundClient) => LongReads = Reflect.get(
    BackgroundClient.prototype,
    'reads',
  );
  const spy = spyOn(BackgroundClient.prototype, 'reads').mockImplementation(function (
    this: BackgroundClient,
  ) {
    const { body, listedBody, messageForDelivery, ...others } = real.call(this);
    return {
      ...others,
      body(...of) {
        names.push('body');
        return body(...of);
      },
      listedBody(...of) {
        names.push('listedBody');
        return listedBody(...of);
      },
      messageForDelivery(...of) {
        names.push('messageForDelivery');
        return messageForDelivery(...of);
      },
    };
  });
  undo = () => spy.mockRestore();
  return names;
}

test.each([
  ['text one byte short', 'x'.repeat(LARGE - 1), 0, []],
  ['text as long', 'x'.repeat(LARGE), 0, ['body', 'listedBody']],
  ['characters of two bytes', 'é'.repeat(LARGE / 2), 0, ['body', 'listedBody']],
  // Its list has no bytes of it.
  ['an attachment', 'x', LARGE, ['body']],
])('%s', (_, text, attachmentBytes, expected) => {
  const names = asked();
  const isLarge = expected.length > 0;
  return withStore(async (store, account) => {
    const made = newMessage(account.id);
    const content = new Uint8Array(attachmentBytes).fill(7);
    const file = { filename: 'a.bin', contentType: 'a/b', contentId: null, content };
    made.body = {
      ...made.body,
      html: null,
      text,
      attachments: attachmentBytes === 0 ? [] : [file],
    };
    await store.accept({
      accountId: account.id,
      now: 1,
      steadyNow: 1,
      usage: null,
      idempotency: null,
      messages: [made],
    });
    const { id } = made.message;
    const ctx = { store, budget: new ByteBudget() } as unknown as Context;
    expect(await contentOf(ctx, account.id, id)).toEqual(made.body);
    const listed = await listedContentOf(ctx, account.id, id);
    expect([listed?.text, listed?.attachments[0]?.size]).toEqual([
      text,
      attachmentBytes || undefined,
    ]);
    expect(names).toEqual([...expected]);
    names.length = 0;
    const delivered = await store.messageForDelivery(id, ALONE_FROM);
    expect(delivered).toEqual({ message: made.message, body: made.body });
    expect(names).toEqual(isLarge ? ['messageForDelivery'] : []);
    const [read] = delivered?.body.attachments ?? [];
    // The signing thread reads the same memory.
    expect(read?.content.buffer instanceof SharedArrayBuffer).toBe(attachmentBytes > 0);
    expect((await store.messageForDelivery(id))?.body).toEqual(made.body);
    expect(
      await store.messageForDelivery(newMessage(account.id).message.id, ALONE_FROM),
    ).toBeNull();
    expect(await store.body('another', id, true)).toBeNull();
    expect(await store.listedBody('another', id, true)).toBeNull();
  });
});
