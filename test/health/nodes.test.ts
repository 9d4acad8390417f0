/** What the servers that share a database are asked about each other: versions, names, clocks. */
import { expect, test } from 'bun:test';

import { difference, isClockOff, nodeFindings } from '../../src/health/nodes.ts';
import type { ListedSession } from '../../src/store/nodes.ts';

function node(name: string, of: Partial<ListedSession> = {}): ListedSession {
  const report = { taken: 0, inDelivery: 0, clockAheadMs: 0 };
  const times = { beganAt: 0, heardMsAgo: 1_000, isDrainAsked: false };
  return { id: `id of ${name}`, name, version: '1.0.0', addresses: [], report, ...times, ...of };
}
const ahead = (clockAheadMs: number) => ({ report: { taken: 0, inDelivery: 0, clockAheadMs } });
const open = (...nodes: ListedSession[]) =>
  nodeFindings(nodes).flatMap(({ check, level, summary, advice }) =>
    level === 'ok' ? [] : [{ check, level, summary, advice }],
  );

test('without nodes there is nothing to ask', () => {
  expect(nodeFindings([])).toEqual([]);
  expect(nodeFindings([node('gone', { heardMsAgo: 15_001 })])).toEqual([]);
});

test('nodes that agree are said to, with how many there are', () => {
  const said = (...nodes: ListedSession[]) => nodeFindings(nodes).map(({ summary }) => summary);
  expect(open(node('a'), node('b'))).toEqual([]);
  expect(said(node('a'))[0]).toBe('One node takes part, with version 1.0.0.');
  expect(said(node('a'), node('b', { isDrainAsked: true }))).toEqual([
    '2 nodes take part, with version 1.0.0.',
    'Every node has a name of its own.',
    'The clocks of the nodes agree with the database.',
  ]);
});

test('versions apart are named with their nodes; a silent node is left out', () => {
  const nodes = [node('a', { version: '1.1.0' }), node('b'), node('c', { version: '1.1.0' })];
  expect(open(...nodes)).toEqual([
    {
      check: 'node_versions',
      level: 'warning',
      summary: 'The nodes have different versions: 1.0.0 on b; 1.1.0 on a, c.',
      advice: 'Bring all to the same version, one after the other.',
    },
  ]);
  expect(open(node('a'), node('b', { version: '0.9.0', heardMsAgo: 20_000 }))).toEqual([]);
});

test('of many nodes five are named', () => {
  const old = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => node(name));
  expect(open(...old, node('n', { version: '2.0.0' }))[0]?.summary).toEndWith(
    '1.0.0 on a, b, c, d, e and 2 more; 2.0.0 on n.',
  );
  const saidOf = (count: number): string | undefined =>
    open(...old.slice(0, count), node('n', { version: '2.0.0' }))[0]?.summary;
  expect(saidOf(6)).toEndWith('1.0.0 on a, b, c, d, e and 1 more; 2.0.0 on n.');
  expect(saidOf(5)).toEndWith('1.0.0 on a, b, c, d, e; 2.0.0 on n.');
});

test('a name that two have is a warning, since commands go by it', () => {
  expect(open(node('a', { id: '1' }), node('b'), node('a', { id: '2' }))).toMatchObject([
    {
      check: 'node_names',
      level: 'warning',
      summary: 'Several nodes have the same name: a.',
      advice:
        'Set [node] name in the config of each. What is asked of a name is asked of all that have it.',
    },
  ]);
});

test('a node that has said nothing of its clock is not compared', () => {
  expect(open(node('a', { report: null }), node('b', ahead(2_000)))).toEqual([]);
});

test('a clock is off by more than two seconds, ahead or behind; one that has said nothing is not', () => {
  expect([2_000, 2_001, -2_000, -2_001, null].map(isClockOff)).toEqual([
    false,
    true,
    false,
    true,
    false,
  ]);
  const nodes = [node('a', ahead(3_240)), node('b'), node('c', ahead(-61_000))];
  expect(open(...nodes)).toMatchObject([
    {
      check: 'node_clocks',
      level: 'warning',
      summary:
        "Clocks of nodes differ from the database's: a 3.2 s ahead, c 61.0 s behind. Mail of a node whose clock is wrong comes late.",
      advice: 'Let chrony or systemd-timesyncd run on these nodes and on the database server.',
    },
  ]);
  expect([difference(3_240), difference(-900)]).toEqual(['3.2 s ahead', '0.9 s behind']);
});
