/** The numbers of /metrics that are read when they are asked for. */
import { expect, test } from 'bun:test';

import { Vitals } from '../../src/health/vitals.ts';
import { failByOperator } from '../../src/flow/queue/operator.ts';
import { addSuppression } from '../../src/flow/suppressions/suppressions.ts';
import { draft, mailbox, openFixture } from '../flow/fixture.ts';

test('of several destinations of one kind the oldest recipient counts, and all that wait', async () => {
  const fixture = await openFixture();
  const { ctx, clock } = fixture;
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const sendTo = (...to: string[]) =>
    fixture.accept(sender, draft({ to: to.map((address) => mailbox(address)) }));
  // The destination with most mail is listed first; the oldest recipient is neither in the first nor in the last.
  await clock.advance(10_000);
  await sendTo('a@two.example', 'b@two.example');
  await clock.advance(10_000);
  await sendTo('a@three.example', 'b@three.example', 'c@three.example');
  await clock.advance(5_000);
  await sendTo('a@one.example');
  await clock.advance(1_000);
  const text = await new Vitals(ctx).render();
  const valueOf = (name: string): string[] =>
    text.split('\n').filter((line) => line.startsWith(`${name}{`));
  const kinds = valueOf('postrider_queue_recipients');
  expect(kinds).toHaveLength(1);
  expect(kinds[0]).toEndWith(' 6');
  expect(valueOf('postrider_queue_oldest_seconds')[0]).toEndWith(' 16');
  await fixture.close();
});

test('a destination for which nothing waits any more is not shown with its last numbers', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const vitals = new Vitals(ctx);
  const shown = async (): Promise<string[]> =>
    (await vitals.render())
      .split('\n')
      .filter((line) => /^postrider_queue_(?:recipients|oldest_seconds)\{/.test(line));
  const { messageIds } = await fixture.accept(sender, draft());
  expect(await shown()).toHaveLength(2);
  await failByOperator(ctx, messageIds[0] ?? '', null);
  expect(await shown()).toEqual([]);
  await fixture.close();
});

test('accepted emails are counted by what they became', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  await addSuppression(ctx, sender.account.id, { email: 'gone@receiver.example' });
  const tester = await fixture.sender({ isTest: true });
  const to = (address: string) => draft({ to: [mailbox(address)] });
  await fixture.accept(sender, [to('a@receiver.example'), to('b@receiver.example')]);
  await fixture.accept(sender, to('gone@receiver.example'));
  await fixture.accept(tester, to('c@receiver.example'));
  const lines = (await new Vitals(ctx).render()).split('\n');
  expect(
    lines.filter((line) => line.startsWith('postrider_messages_accepted_total{')).toSorted(),
  ).toEqual([
    'postrider_messages_accepted_total{status="queued"} 2',
    'postrider_messages_accepted_total{status="sent"} 1',
    'postrider_messages_accepted_total{status="suppressed"} 1',
  ]);
  await fixture.close();
});

test('the process tells when it started in seconds, its memory in bytes, and whether sending is halted', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  const vitals = new Vitals(ctx);
  const valueOf = async (name: RegExp): Promise<number> => {
    const line = (await vitals.render()).split('\n').find((one) => name.test(one)) ?? '';
    return Number(line.split(' ')[1]);
  };
  const startedAt = await valueOf(/^process_start_time_seconds /);
  expect(Math.abs(Date.now() / 1000 - process.uptime() - startedAt)).toBeLessThan(2);
  expect(await valueOf(/^process_resident_memory_bytes /)).toBeGreaterThan(10_000_000);
  expect(await valueOf(/^process_open_fds /)).toBeGreaterThan(3);
  expect(await valueOf(/^postrider_halted /)).toBe(0);
  await ctx.halt.halt('Leak.');
  expect(await valueOf(/^postrider_halted /)).toBe(1);
  await fixture.close();
});

test('a queue that cannot be read fails the reading of the numbers, instead of showing old ones', async () => {
  const fixture = await openFixture();
  fixture.ctx.store.queueCounts = () => Promise.reject(new Error('no such queue'));
  const end = await new Vitals(fixture.ctx).render().catch(String);
  expect(end).toBe('Error: no such queue');
  await fixture.close();
});

test('the connections to a database are shown', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  const state = { used: 3, idle: 2, waiting: 4, isAway: true, sinceCommitMs: 1_500 };
  const store = { ...ctx.store, databaseState: () => Promise.resolve(state) };
  const text = await new Vitals({ ...ctx, store }).render();
  expect(text.split('\n').filter((line) => line.startsWith('postrider_database'))).toEqual([
    'postrider_database_connections{state="used"} 3',
    'postrider_database_connections{state="idle"} 2',
    'postrider_database_waiting 4',
    'postrider_database_away 1',
    'postrider_database_last_commit_seconds 1.5',
  ]);
  await fixture.close();
});

test('open webhook calls are counted when they are asked for', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  const vitals = new Vitals(ctx);
  for (const open of [7, 0]) {
    ctx.store.openCalls = () => Promise.resolve(open);
    expect((await vitals.render()).split('\n')).toContain(`postrider_webhook_backlog ${open}`);
  }
  await fixture.close();
});
