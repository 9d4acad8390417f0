/**
 * Bytes of content that an account keeps: counted in the commit that stores them, sandbox sends included, refused beyond
 * the plan's `storage_bytes`, given back when retention takes them.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { usageOf } from '../../../src/flow/accounts/usage.ts';
import { Retention } from '../../../src/flow/upkeep/retention.ts';
import type { Sender } from '../../../src/flow/draft.ts';
import { draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

const DAY_MS = 86_400_000;
const TO = [mailbox('delivered@sandbox.test')];

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({
    toml: '[retention]\nbodies = "2d"\n[[plans]]\nid = "small"\nstorage_bytes = 1000\n',
  });
});
afterEach(() => fixture.close());

const storedBytes = async ({ account }: Sender): Promise<number> =>
  (await usageOf(fixture.ctx, account)).storage.usedBytes;
/** A message of `bytes` bytes of content. */
const letters = (bytes: number) => draft({ to: TO, text: 'x'.repeat(bytes), html: null });

test('html, text, headers and attachments count, in bytes of UTF-8', async () => {
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const content = new Uint8Array(300);
  await fixture.accept(
    sender,
    draft({
      to: TO,
      html: '<p>é</p>',
      text: 'é€',
      headers: [['X-A', 'b']],
      attachments: [{ filename: 'a', contentType: 'text/plain', contentId: null, content }],
    }),
  );
  expect(await storedBytes(sender)).toBe(9 + 5 + '[["X-A","b"]]'.length + 300);
});

test('a send beyond the limit is refused and spends nothing; sandbox sends count too', async () => {
  const sender = await fixture.sender({ plan: 'small' });
  await fixture.verified(sender, 'acme.example');
  const sandbox = { ...sender, key: { ...sender.key, isTest: true } };
  await fixture.accept(sandbox, letters(600));
  const error = await refusal(fixture.accept(sender, letters(401)));
  expect([error.code, error.status, error.detail]).toEqual([
    'quota_exceeded',
    429,
    { period: 'storage', limit: 1000, used: 600 },
  ]);
  expect(Number(error.headers['Retry-After'])).toBeGreaterThan(0);
  expect((await refusal(fixture.accept(sandbox, letters(401)))).code).toBe('quota_exceeded');
  expect(await storedBytes(sender)).toBe(600);
  await fixture.accept(sender, letters(400));
  expect(await storedBytes(sender)).toBe(1000);
});

test('parallel requests cannot pass the limit', async () => {
  const sender = await fixture.sender({ plan: 'small' });
  await fixture.verified(sender, 'acme.example');
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, () => fixture.accept(sender, letters(90))),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(11);
  expect(await storedBytes(sender)).toBe(990);
});

test('retention gives back exactly what it takes, to each account', async () => {
  const sender = await fixture.sender({ plan: 'small' });
  await fixture.verified(sender, 'acme.example');
  const other = await fixture.sender({ name: 'other', plan: 'small' });
  await fixture.verified(other, 'other.example');
  await fixture.accept(sender, letters(700));
  await fixture.accept(other, { ...letters(70), from: mailbox('a@other.example') });
  await fixture.clock.advance(DAY_MS);
  await fixture.accept(sender, letters(200));
  await fixture.clock.advance(DAY_MS + 1);
  await new Retention(fixture.ctx).run(new AbortController().signal);
  expect([await storedBytes(sender), await storedBytes(other)]).toEqual([200, 0]);
  await fixture.accept(sender, letters(800));
});
