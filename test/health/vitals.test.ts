/** The numbers of /metrics that are read when they are asked for. */
import { expect, test } from 'bun:test';

import { Vitals } from '../../src/health/vitals.ts';
import { failByOperator } from '../../src/flow/queue/operator.ts';
import { addSuppression } from '../../src/flow/suppressions/suppressions.ts';
import { NodeSession } from '../../src/flow/node-session.ts';
import { StoreAwayError } from '../../src/store/store.ts';
import { draft, mailbox, openFixture } from '../flow/fixture.ts';
import type { Fixture } from '../flow/fixture.ts';
import { FakeNodes } from '../rig/fake-nodes.ts';

/** A reading of the queue is kept for so long. */
const KEPT_MS = 2_000;

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
  await fixture.clock.advance(KEPT_MS);
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
  const state = {
    used: 3,
    idle: 2,
    waiting: 4,
    isAway: true,
    sinceCommitMs: 1_500,
    hasStandby: null,
  };
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
    await fixture.clock.advance(KEPT_MS);
    expect((await vitals.render()).split('\n')).toContain(`postrider_webhook_backlog ${open}`);
  }
  await fixture.close();
});

/** Three nodes on the fixture's store, of which this is `a`. */
async function threeNodes({ ctx, clock }: Fixture) {
  const nodes = new FakeNodes();
  nodes.clock = () => clock.now();
  const one = { version: '1', addresses: [], beganAt: 0, isDrainAsked: false, report: null };
  nodes.listed = [
    { ...one, id: '1', name: 'a', heardMsAgo: 10 },
    { ...one, id: '2', name: 'b', heardMsAgo: 10 },
    { ...one, id: '3', name: 'c', heardMsAgo: 15_001 },
  ];
  const node = await NodeSession.begin(
    { id: '1', name: 'a', directory: 'd', addresses: [], version: '1' },
    { nodes, clock, log: ctx.log, ended: () => undefined },
  );
  return { nodes, node };
}

test('a node says who it is, and all that take part by their state', async () => {
  const fixture = await openFixture();
  const { nodes, node } = await threeNodes(fixture);
  const vitals = new Vitals({ ...fixture.ctx, nodes, node });
  const lines = (await vitals.render())
    .split('\n')
    .filter((line) => line.startsWith('postrider_node'));
  expect(lines.slice(0, 3)).toEqual([
    'postrider_nodes{state="live"} 2',
    'postrider_nodes{state="silent"} 1',
    'postrider_nodes{state="draining"} 0',
  ]);
  const { name } = fixture.ctx.config.startup.cluster;
  expect(lines[3]).toStartWith(`postrider_node_info{node="a",service="${name}",version="`);
  await fixture.close();
});

test('a server with files says nothing of nodes', async () => {
  const fixture = await openFixture();
  expect(await new Vitals(fixture.ctx).render()).not.toMatch(/^postrider_node/m);
  await fixture.close();
});

test('while the database is away what it alone knows is left out, and the rest is shown', async () => {
  const fixture = await openFixture();
  const { nodes, node } = await threeNodes(fixture);
  const { clock, ctx } = fixture;
  const state = { used: 0, idle: 0, waiting: 9, isAway: false, sinceCommitMs: 0, hasStandby: null };
  const store = { ...ctx.store, databaseState: () => Promise.resolve(state) };
  const vitals = new Vitals({ ...ctx, store, nodes, node });
  const shown = async (): Promise<string[]> =>
    (await vitals.render())
      .split('\n')
      .filter((line) =>
        /^postrider_(?:webhook_backlog|nodes|queue|database_away|halted)/.test(line),
      );
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  await fixture.accept(sender, draft());
  expect(await shown()).toHaveLength(8);
  nodes.isAway = true;
  store.queueCounts = () => Promise.reject(new StoreAwayError('away'));
  await clock.advance(3_000);
  expect(await shown()).toEqual(['postrider_halted 0', 'postrider_database_away 1']);
  // A server that says nothing at all keeps nobody waiting for long.
  store.queueCounts = () => new Promise(() => undefined);
  const late = shown();
  await clock.advance(5_000);
  expect(await late).toEqual(['postrider_halted 0', 'postrider_database_away 1']);
  await fixture.close();
});

test('the age of what waits is by the clock on the wall, and never below zero', async () => {
  const fixture = await openFixture();
  const { ctx, clock } = fixture;
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  await fixture.accept(sender, draft());
  const vitals = new Vitals(ctx);
  const age = async (): Promise<string | undefined> => {
    await clock.advance(KEPT_MS);
    const lines = (await vitals.render()).split('\n');
    return lines.find((line) => line.startsWith('postrider_queue_oldest_seconds{'))?.split(' ')[1];
  };
  clock.jump(60_000);
  expect(await age()).toBe('62');
  clock.jump(-120_000);
  expect(await age()).toBe('0');
  await fixture.close();
});
