/** The numbers that nodes share, one by one: who this node is, what they wait for, and how long a scrape waits for the store. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { VERSION } from '../../src/base/version.ts';
import { NodeSession } from '../../src/flow/node-session.ts';
import { Vitals } from '../../src/health/vitals.ts';
import { draft, mailbox, openFixture, type Fixture } from '../flow/fixture.ts';
import { FakeNodes } from '../rig/fake-nodes.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({ toml: '[cluster]\nname = "mail.service.example"\n' });
});
afterEach(() => fixture.close());

async function linesOf(vitals: Vitals, name: RegExp): Promise<string[]> {
  return (await vitals.render()).split('\n').filter((line) => name.test(line));
}

/** Node `a` of four: itself, one that drains, and two that are silent. */
async function nodeOf({ ctx, clock }: Fixture) {
  const nodes = new FakeNodes();
  nodes.clock = () => clock.now();
  const one = { version: '1', addresses: [], beganAt: 0, isDrainAsked: false, report: null };
  nodes.listed = [
    { ...one, id: '1', name: 'a', heardMsAgo: 10 },
    { ...one, id: '2', name: 'b', heardMsAgo: 10, isDrainAsked: true },
    { ...one, id: '3', name: 'c', heardMsAgo: 15_001 },
    { ...one, id: '4', name: 'd', heardMsAgo: 15_001 },
  ];
  const node = await NodeSession.begin(
    { id: '1', name: 'a', directory: 'd', addresses: [], version: '1' },
    { nodes, clock, log: ctx.log, ended: () => undefined },
  );
  return { nodes, node };
}

test('a node is named once with its service and its version; others are counted by what they do', async () => {
  const { nodes, node } = await nodeOf(fixture);
  const vitals = new Vitals({ ...fixture.ctx, nodes, node });
  const expected = [
    'postrider_nodes{state="live"} 1',
    'postrider_nodes{state="silent"} 2',
    'postrider_nodes{state="draining"} 1',
    `postrider_node_info{node="a",service="mail.service.example",version="${VERSION.version}"} 1`,
  ];
  expect(await linesOf(vitals, /^postrider_node/)).toEqual(expected);
  // Those that are gone are counted no more.
  nodes.listed = nodes.listed.slice(0, 1);
  expect((await linesOf(vitals, /^postrider_nodes/)).map((line) => line.slice(-1))).toEqual([
    '1',
    '0',
    '0',
  ]);
  nodes.listed = [];
  expect(await linesOf(vitals, /^postrider_nodes/)).toEqual([]);
});

test('a database is away when its store or this node says so, and not before', async () => {
  const { nodes, node } = await nodeOf(fixture);
  const state = { used: 1, idle: 0, waiting: 0, isAway: false, sinceCommitMs: 0, hasStandby: null };
  const store = { ...fixture.ctx.store, databaseState: () => Promise.resolve(state) };
  const vitals = new Vitals({ ...fixture.ctx, store, nodes, node });
  const away = () => linesOf(vitals, /^postrider_database_away/);
  expect(await away()).toEqual(['postrider_database_away 0']);
  state.isAway = true;
  expect(await away()).toEqual(['postrider_database_away 1']);
  state.isAway = false;
  expect(await away()).toEqual(['postrider_database_away 0']);
  // A node that leaves has its database.
  void node.leave();
  expect(node.notReady).toBe('leaving');
  expect(await away()).toEqual(['postrider_database_away 0']);
});

test('what waits is told by kind of destination, each with its own oldest', async () => {
  const { ctx, clock } = fixture;
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const sendTo = (...to: string[]) =>
    fixture.accept(sender, draft({ to: to.map((address) => mailbox(address)) }));
  await sendTo('a@gmail.com');
  await clock.advance(4_000);
  await sendTo('a@receiver.example', 'b@receiver.example');
  await clock.advance(3_500);
  await sendTo('b@googlemail.com');
  const lines = await linesOf(new Vitals(ctx), /^postrider_queue_(?:recipients|oldest_seconds)\{/);
  expect(lines.toSorted()).toEqual([
    'postrider_queue_oldest_seconds{destination="gmail"} 7.5',
    'postrider_queue_oldest_seconds{destination="other"} 3.5',
    'postrider_queue_recipients{destination="gmail"} 2',
    'postrider_queue_recipients{destination="other"} 2',
  ]);
});

test('a store has five seconds to answer: what comes a millisecond before is shown', async () => {
  const { ctx, clock } = fixture;
  const shown = async (answersMs: number): Promise<boolean> => {
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<number>();
    ctx.store.openCalls = () => (asked.resolve(), answered.promise);
    const rendered = new Vitals(ctx).render();
    await asked.promise;
    await clock.advance(answersMs);
    answered.resolve(7);
    return (await rendered).includes('postrider_webhook_backlog 7\n');
  };
  expect([await shown(4_999), await shown(5_000)]).toEqual([true, false]);
});
