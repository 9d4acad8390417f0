/** The line of one destination, filled from the store: what is due behind the position it was read to is not overlooked. */
import { expect, test } from 'bun:test';

import { Metrics } from '../../../src/base/metrics.ts';
import { QueueFeed } from '../../../src/flow/queue/feed.ts';
import type { FeedOptions } from '../../../src/flow/queue/feed.ts';
import { LINE_MAX, Waiting } from '../../../src/flow/queue/waiting.ts';
import type { DueRequest, DueTaken, RecipientRef } from '../../../src/store/journey.ts';
import { TestClock } from '../../rig/clock.ts';

function refOf(number: number, dueAt: number): RecipientRef {
  return { id: `r${String(number).padStart(6, '0')}`, accountId: 'a', domain: 'x.example', dueAt };
}

/** A store in which these are due, and what feeds from it. */
function feeding(due: RecipientRef[]) {
  const clock = new TestClock();
  const waiting = new Waiting();
  const rows = {
    async takeDue({ limit, after }: DueRequest): Promise<DueTaken> {
      const behind = due.filter(
        (row) =>
          after === null ||
          row.dueAt > after.dueAt ||
          (row.dueAt === after.dueAt && row.id > after.id),
      );
      const ours = behind.toSorted((a, b) => a.dueAt - b.dueAt).slice(0, limit);
      return { ours, left: [], last: ours.at(-1) ?? null, isEnd: ours.length < limit };
    },
    nextRecipientDue: async () => null,
  };
  const metrics = new Metrics();
  const ctx = { clock, metrics, store: rows, node: null } as unknown as FeedOptions['ctx'];
  const filled = Promise.withResolvers<void>();
  const ready = (): void => filled.resolve();
  const feed = new QueueFeed({ ctx, owner: 'me', waiting, ready, isRunning: () => true });
  return { waiting, feed, metrics, filled: filled.promise };
}

test('what was turned away from a full line is read by its next filling, wherever it stands', async () => {
  const due = Array.from({ length: 2 * LINE_MAX }, (_, at) => refOf(at, 1_000 + at));
  const { waiting, feed, filled } = feeding(due);
  const destination = due.map((ref) => waiting.add(ref))[0] ?? null;
  if (destination === null) throw new Error('no destination');
  expect([destination.line.length, destination.hasMore]).toEqual([LINE_MAX, true]);
  // As far as an earlier filling has read. Then a lease runs out behind it, while the line is full.
  destination.filledTo = refOf(LINE_MAX - 1, 1_000 + LINE_MAX - 1);
  const late = refOf(999_999, 1_001);
  due.push(late);
  waiting.add(late);

  for (let taken = 0; taken < LINE_MAX; taken += 1) {
    const ref = waiting.take(destination);
    due.splice(
      due.findIndex(({ id }) => id === ref?.id),
      1,
    );
    waiting.release(ref?.id ?? '');
  }
  feed.fill(destination);
  await filled;
  expect(destination.line.slice(0, 2)).toEqual([late, refOf(LINE_MAX, 1_000 + LINE_MAX)]);
});

test('a filling goes on where the last one ended, when nothing stands behind it', async () => {
  const due = Array.from({ length: 2 * LINE_MAX }, (_, at) => refOf(at, 1_000 + at));
  const { waiting, feed, filled } = feeding(due);
  const destination = due.map((ref) => waiting.add(ref))[0] ?? null;
  if (destination === null) throw new Error('no destination');
  destination.filledTo = refOf(LINE_MAX - 1, 1_000 + LINE_MAX - 1);
  const next = refOf(2 * LINE_MAX, 1_000 + 2 * LINE_MAX);
  waiting.add(next);
  for (let taken = 0; taken < LINE_MAX; taken += 1) {
    waiting.release(waiting.take(destination)?.id ?? '');
  }
  feed.fill(destination);
  await filled;
  // The store names those that were taken too; they were read once, and are not read again.
  expect(destination.line[0]).toEqual(refOf(LINE_MAX, 1_000 + LINE_MAX));
});

test('how long it takes is in the metrics', async () => {
  const { feed, metrics } = feeding([]);
  await feed.look();
  expect(await metrics.render()).toContain('postrider_claim_seconds_count{step="take"} 1');
});
