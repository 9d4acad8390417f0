/** Large content is read one at a time, within the memory budget, and never only to learn how large it is. */
import { expect, test } from 'bun:test';
import type { ApiError } from '../../../src/base/errors.ts';
import { ByteBudget } from '../../../src/flow/byte-budget.ts';
import {
  contentOf,
  listedContentOf,
  withStoredContent,
} from '../../../src/flow/content/content.ts';
import type { Context } from '../../../src/flow/context.ts';
import type { Body, ContentSizes } from '../../../src/store/rows.ts';

const KIB = 1024;
const ALONE = 512 * KIB;
const BUDGET = { large: 4_096 * KIB, small: 64 * KIB };
const BODY: Body = { html: null, text: 'x', headers: [], attachments: [], raw: null };

/** Content of these sizes, what is done with it in its order, and the parts that read it. */
function content(sizes: ContentSizes | null, raw: Uint8Array | null = null) {
  const order: string[] = [];
  let reads = 0;
  const read = (verb: string) => async () => {
    const n = ++reads;
    order.push(`${verb} ${n}`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`read ${n}`);
    return { body: { ...BODY, raw } };
  };
  const store = { contentSizes: async () => sizes, body: read('body'), listedBody: read('listed') };
  const attachments = [
    { filename: 'a', contentType: 'b/c', contentId: null, content: Buffer.alloc(7) },
  ];
  const large = { read: async () => ({ html: '<p>', text: null, headers: [], attachments }) };
  const budget = new ByteBudget(BUDGET);
  const ctx = { store, large, budget } as unknown as Pick<Context, 'store' | 'large' | 'budget'>;
  return { ctx, order, budget };
}

const outcomes = (reads: Promise<unknown>[]) =>
  Promise.all(
    reads.map((read) =>
      read.then(
        () => 'read',
        ({ code }: ApiError) => code,
      ),
    ),
  );

const storedOf = (...[ctx, account, message]: Parameters<typeof contentOf>) =>
  withStoredContent(ctx, account, message, async (body) => body);

const VERBS = [
  ['contentOf', contentOf, { body: 0, attachments: ALONE }],
  ['withStoredContent', storedOf, { body: ALONE - 1, attachments: 1 }],
  ['listedContentOf', listedContentOf, { body: ALONE, attachments: 0 }],
] as const;

test.each(VERBS)('%s: what is large waits for the one before it', async (_, verb, sizes) => {
  const { ctx, order, budget } = content(sizes);
  expect(await outcomes([verb(ctx, 'a', 'm'), verb(ctx, 'b', 'm')])).toEqual(['read', 'read']);
  const word = verb === listedContentOf ? 'listed' : 'body';
  expect(order).toEqual([`${word} 1`, 'read 1', `${word} 2`, 'read 2']);
  expect(budget.bytes).toBe(0);
});

test.each([
  [contentOf, { body: ALONE - 1, attachments: 0 }],
  [storedOf, { body: 0, attachments: ALONE - 1 }],
  [listedContentOf, { body: ALONE - 1, attachments: 100 * ALONE }],
])('what is smaller is read at once', async (verb, sizes) => {
  const { ctx, order } = content(sizes);
  await Promise.all([verb(ctx, 'a', 'm'), verb(ctx, 'a', 'm')]);
  const word = verb === listedContentOf ? 'listed' : 'body';
  expect(order).toEqual([`${word} 1`, `${word} 2`, 'read 1', 'read 2']);
});

test('an account has half of the budget for its content; what is beyond is refused and not read', async () => {
  const { ctx, order } = content({ body: 1_024 * KIB, attachments: 0 });
  const reads = ['a', 'a', 'a', 'b'].map((account) => contentOf(ctx, account, 'm'));
  expect(await outcomes(reads)).toEqual(['read', 'read', 'platform_halted', 'read']);
  expect(order.filter((line) => line.startsWith('body'))).toHaveLength(3);
});

test('content that is gone, and that of another account, is none', async () => {
  const { ctx } = content(null);
  const none = {
    ...ctx,
    store: { ...ctx.store, body: async () => null, listedBody: async () => null },
  };
  for (const verb of [contentOf, listedContentOf, storedOf]) {
    expect(await verb(none, 'a', 'm')).toBeNull();
  }
});

test('what came over SMTP is listed by its parts, with the sizes of attachments and not their bytes', async () => {
  const raw = Buffer.from('whole');
  const { ctx } = content({ body: 5, attachments: 0 }, raw);
  expect(await listedContentOf(ctx, 'a', 'm')).toEqual({
    html: '<p>',
    text: null,
    headers: [],
    raw,
    attachments: [{ filename: 'a', contentType: 'b/c', contentId: null, size: 7 }],
  });
});
