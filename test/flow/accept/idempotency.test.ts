/** A request that is repeated under its idempotency key: answered again, or refused, or new. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { AcceptOptions, Acceptance } from '../../../src/flow/accept/accept.ts';
import type { Draft, Sender } from '../../../src/flow/draft.ts';
import { draft, openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let sender: Sender;

beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

function accept(
  drafts: Draft | Draft[],
  options: Partial<AcceptOptions> = {},
  by: Sender = sender,
): Promise<Acceptance> {
  return fixture.accept(by, drafts, options);
}

const idempotency = { key: 'k1', route: 'POST /emails', bodyHash: 'h1' };

test('50 parallel requests with one key make one message and 50 equal responses', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => accept(draft(), { idempotency })),
  );
  expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
  expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1);
  expect(await fixture.ctx.store.emailsByPage(sender.account.id, 1, 100)).toHaveLength(1);
  expect(fixture.sink.messages).toHaveLength(1);
});

test('a repeated request gets the status of the first, also when both come at once', async () => {
  const respond = () => ({ status: 202, body: null }) as const;
  const both = await Promise.all([1, 2].map(() => accept(draft(), { idempotency, respond })));
  const later = await accept(draft(), { idempotency });
  expect([...both, later].map(({ status, isReplay }) => [status, isReplay])).toEqual([
    [202, false],
    [202, true],
    [202, true],
  ]);
});

test('a repeated request is answered even when the request would be refused by now', async () => {
  const first = await accept(draft(), { idempotency });
  await fixture.ctx.halt.halt('later');
  const again = await accept(draft(), { idempotency });
  expect([again.isReplay, again.status, again.body]).toEqual([true, first.status, first.body]);
});

test('a sandbox send is never replayed for a live one, nor in its way', async () => {
  const tester: Sender = { ...sender, key: { ...sender.key, isTest: true } };
  expect((await accept(draft(), { idempotency }, tester)).isReplay).toBe(false);
  expect((await accept(draft(), { idempotency }, tester)).isReplay).toBe(true);
  const live = await accept(draft(), { idempotency });
  expect(live.isReplay).toBe(false);
  expect(JSON.parse(live.body)).toMatchObject([{ status: 'queued' }]);
});

test('another body or route conflicts; another account does not; 24 hours later it is new', async () => {
  await accept(draft(), { idempotency });
  for (const change of [{ bodyHash: 'h2' }, { route: 'POST /emails/batch' }]) {
    const error = await refusal(accept(draft(), { idempotency: { ...idempotency, ...change } }));
    expect([error.code, error.status, error.errorName]).toEqual([
      'idempotency_conflict',
      409,
      'invalid_idempotent_request',
    ]);
  }
  const other = await fixture.sender({ name: 'other' });
  await fixture.verified(other, 'acme.example');
  expect((await accept(draft(), { idempotency }, other)).isReplay).toBe(false);
  await fixture.clock.advance(24 * 3_600_000 - 1);
  expect((await accept(draft(), { idempotency })).isReplay).toBe(true);
  await fixture.clock.advance(1);
  expect((await accept(draft(), { idempotency })).isReplay).toBe(false);
});

test('a permissive batch of which nothing is accepted is a request that was answered', async () => {
  const batch = () => accept([draft({ to: [] })], { idempotency, isPermissive: true });
  expect([(await batch()).isReplay, (await batch()).isReplay]).toEqual([false, true]);
});

test('a refused request leaves no record', async () => {
  await refusal(accept(draft({ to: [] }), { idempotency }));
  expect((await accept(draft(), { idempotency })).isReplay).toBe(false);
});

test('of two requests that come at once with one key, the second is refused where it says something else', async () => {
  const other = { ...idempotency, bodyHash: 'h2' };
  const ends = await Promise.all(
    [idempotency, other].map((one) =>
      accept(draft(), { idempotency: one }).then(
        ({ isReplay }) => (isReplay ? 'replay' : 'accepted'),
        (error: Error) => error.message,
      ),
    ),
  );
  expect(ends).toEqual([
    'accepted',
    'This idempotency key was used within 24 hours for a request with another route or body.',
  ]);
  expect(fixture.sink.messages).toHaveLength(1);
});

test('of two equal requests that come at once, one line tells of the acceptance and one of the replay', async () => {
  const both = await Promise.all([1, 2].map(() => accept(draft(), { idempotency })));
  const [id] = both.flatMap(({ messageIds }) => messageIds);
  expect(both.map(({ messageIds }) => messageIds)).toEqual([[id ?? ''], []]);
  expect(
    fixture.logged
      .filter(({ event }) => event === 'accepted' || event === 'replayed')
      .map(({ event, request_id, message_ids }) => [event, request_id, message_ids]),
  ).toEqual([
    ['accepted', sender.requestId, [id]],
    ['replayed', sender.requestId, [id]],
  ]);
});
