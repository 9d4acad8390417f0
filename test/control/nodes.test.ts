/** Operations about nodes: what they show, and whom they refuse. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';

import { perform } from '../../src/control/operations.ts';
import type { ArgumentsOf, OperationName, ResultOf } from '../../src/control/operations.ts';
import type { Scope } from '../../src/control/operation.ts';
import type { Nodes } from '../../src/store/nodes.ts';
import { openFixture } from '../flow/fixture.ts';
import type { Fixture } from '../flow/fixture.ts';
import { FakeNodes } from '../rig/fake-nodes.ts';
import { scopeOf } from './scope.ts';

let fixture: Fixture;
let told: string[];
beforeEach(async () => {
  fixture = await openFixture();
  told = [];
});
afterEach(async () => {
  jest.restoreAllMocks();
  await fixture.close();
});

function run<Name extends OperationName>(
  nodes: Nodes | null,
  name: Name,
  args: ArgumentsOf<Name>,
  here: string | null = null,
): Promise<ResultOf<Name>> {
  const node = here === null ? null : ({ id: here } as NonNullable<Scope['ctx']['node']>);
  const ctx = { ...fixture.ctx, nodes, node };
  const scope = scopeOf(ctx, {}, (text) => void told.push(text));
  return perform(scope, name, args);
}

function nodesOf(...heardMsAgo: number[]): FakeNodes {
  const nodes = new FakeNodes();
  nodes.listed = heardMsAgo.map((ms, at) => ({
    id: `id-${at}`,
    name: `n${at}`,
    version: '1.2.3',
    addresses: at === 0 ? ['192.0.2.1'] : [],
    beganAt: Date.UTC(2026, 0, 2),
    heardMsAgo: ms,
    isDrainAsked: at === 1,
    report: at === 0 ? { taken: 7, inDelivery: 2, clockAheadMs: -40 } : null,
  }));
  return nodes;
}

test('a node is live, draining, or silent when it was not heard of for longer than its lease', async () => {
  const listed = await run(nodesOf(-20, 3_000, 15_001), 'node.list', {});
  expect(listed.map(({ name, state, heard_ms_ago }) => [name, state, heard_ms_ago])).toEqual([
    ['n0', 'live', 0],
    ['n1', 'draining', 3_000],
    ['n2', 'silent', 15_001],
  ]);
  expect(listed[0]).toEqual({
    id: 'id-0',
    name: 'n0',
    version: '1.2.3',
    addresses: ['192.0.2.1'],
    state: 'live',
    began_at: '2026-01-02T00:00:00.000Z',
    heard_ms_ago: 0,
    taken: 7,
    in_delivery: 2,
    clock_ahead_ms: -40,
    is_this: false,
  });
  expect(listed[1]).toMatchObject({ taken: null, in_delivery: null, clock_ahead_ms: null });
});

test('a drain is over when the session has ended', async () => {
  const nodes = nodesOf(0, 0);
  expect(await run(nodes, 'node.drain', { name: 'n1' })).toEqual({ drained: ['id-1'] });
  expect(nodes.listed.map(({ name }) => name)).toEqual(['n0']);
  expect(told).toEqual(['It takes no new mail, and ends what is under way.']);
});

test('the server that is asked shows itself in the list, and is the one to drain where no node is named', async () => {
  const nodes = nodesOf(0, 0);
  const [first, second] = nodes.listed;
  if (first === undefined || second === undefined) throw new Error('no nodes');
  // A name that is another's id names nobody here.
  first.name = second.id;
  const listed = await run(nodes, 'node.list', {}, second.id);
  expect(listed.map(({ id, is_this }) => [id, is_this])).toEqual([
    ['id-0', false],
    ['id-1', true],
  ]);
  nodes.listed = nodesOf(0, 0).listed;
  expect(await run(nodes, 'node.drain', { name: null }, 'id-1')).toEqual({ drained: ['id-1'] });
});

test('a drain is looked at four times a second for a minute, then the node that stays is named', async () => {
  const nodes = nodesOf(0, 0, 0);
  const { listed } = nodes;
  const ask = nodes.askToDrain.bind(nodes);
  /** How often the node is listed still, after it was asked. */
  let stays = Number.POSITIVE_INFINITY;
  let looks = 0;
  nodes.askToDrain = async (which) => {
    const asked = await ask(which);
    nodes.list = async () => (looks++ < stays ? listed : nodes.listed);
    return asked;
  };
  let nowMs = 0;
  const waits: number[] = [];
  spyOn(performance, 'now').mockImplementation(() => nowMs);
  spyOn(globalThis, 'setTimeout').mockImplementation(((go: () => void, ms: number) => {
    waits.push(ms);
    nowMs += ms;
    if (waits.length > 1_000) throw new Error('it looks for ever');
    queueMicrotask(go);
  }) as unknown as typeof setTimeout);
  const refusal: unknown = await run(nodes, 'node.drain', { name: 'n1' }).catch(
    (error: unknown) => error,
  );
  expect(refusal).toMatchObject({
    message: 'The node n1 has not ended its part yet.',
    hint: 'If it is silent, the others end it by themselves after 45 seconds. Otherwise look at its log.',
  });
  expect([new Set(waits), nowMs]).toEqual([new Set([250]), 60_250]);

  // One that ends at the last look is drained.
  [nodes.listed, looks, nowMs, stays] = [listed, 0, 0, 241];
  expect(await run(nodes, 'node.drain', { name: 'n1' })).toEqual({ drained: ['id-1'] });
  expect([looks, nowMs]).toEqual([242, 60_250]);
});

test('a name that several have drains them all, and each is waited for', async () => {
  const nodes = nodesOf(0, 0, 0);
  const [first, second] = nodes.listed;
  if (first === undefined || second === undefined) throw new Error('no nodes');
  first.name = second.name;
  const list = nodes.list.bind(nodes);
  let looks = 0;
  // The second one ends after the first.
  nodes.list = async () => {
    looks += 1;
    return looks === 1 ? [second, ...(await list())] : await list();
  };
  expect(await run(nodes, 'node.drain', { name: 'n1' })).toEqual({ drained: ['id-0', 'id-1'] });
  expect(looks).toBe(2);
});

test('who names no node, an unknown one, or has the store alone is told so', async () => {
  const refusal = (nodes: Nodes | null, name: string | null): Promise<unknown> =>
    run(nodes, 'node.drain', { name }).then(
      () => null,
      (error: unknown) => error,
    );
  expect(await refusal(nodesOf(0), null)).toMatchObject({
    message: 'No server is running on this data directory.',
    hint: 'Name the node: `postrider node list` shows them.',
  });
  expect(await refusal(nodesOf(0), 'n7')).toMatchObject({
    message: 'There is no node n7.',
    hint: '`postrider node list` shows the nodes that take part.',
  });
  const alone = {
    message: 'This server has its data to itself: there are no nodes.',
    hint: 'Several servers need a PostgreSQL database: see [store] url.',
  };
  expect(await refusal(null, 'n0')).toMatchObject(alone);
});
