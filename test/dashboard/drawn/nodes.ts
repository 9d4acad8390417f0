/** The page of nodes in each state that it can be in. */
import { nodePages } from '../../../src/dashboard/pages/nodes.ts';
import { finding, ok } from '../../../src/health/finding.ts';
import type { ListedSession } from '../../../src/store/nodes.ts';
import { FakeNodes } from '../../rig/fake-nodes.ts';
import { type Drawing, NOW, opened, type Parts, visitOf } from './page.ts';

const node = (name: string, change: Partial<ListedSession> = {}): ListedSession => ({
  id: `id-${name}`,
  name,
  version: '1.2.3',
  addresses: [],
  beganAt: NOW - 3_600_000,
  heardMsAgo: 1_400,
  isDrainAsked: false,
  report: { taken: 1_234, inDelivery: 5, clockAheadMs: 12 },
  ...change,
});

const MIXED: readonly ListedSession[] = [
  node('a', { addresses: ['192.0.2.1', '2001:db8::1'], heardMsAgo: 1_500 }),
  node('b', { isDrainAsked: true, report: null, heardMsAgo: -20 }),
  node('c', { heardMsAgo: 15_001, report: { taken: 1_000, inDelivery: 1_000, clockAheadMs: 0 } }),
  node('d', { version: '1.2.4', report: { taken: 0, inDelivery: 0, clockAheadMs: -2_001 } }),
  node('e', { report: { taken: 1, inDelivery: 0, clockAheadMs: 2_000 } }),
  node('e', { id: 'other' }),
];

const FINDINGS = [
  ok('database', 'The database is well.'),
  finding('database_durability', 'error', 'fsync is off.', 'Switch it on.'),
  finding('database_standby', 'warning', 'There is no standby.', 'Start one.'),
  finding('disk', 'error', 'The disk is full.', 'Free some.'),
];
const OK_STANDBY = [ok('database_standby', 'There is a standby.')];
const BAD_STANDBY = [finding('database_standby', 'error', 'The standby is gone.', 'Start it.')];
const UNSEEN_STANDBY = [finding('database_standby', 'unchecked', 'Nobody knows.', 'Look.')];

interface Shown extends Parts {
  listed: readonly ListedSession[];
  hasStandby?: boolean | null;
  findings?: object[] | null;
  own?: string;
}

function page({ listed, hasStandby = null, findings = null, own = 'id-a', ...more }: Shown) {
  const nodes = new FakeNodes();
  nodes.listed = [...listed];
  const visit = visitOf({
    ctx: { nodes, node: { id: own } },
    store: { databaseState: () => Promise.resolve({ hasStandby }) },
    parts: { vitals: { findings: findings && { findings } } },
    ...more,
  });
  return opened(nodePages, 'GET', '/nodes', visit);
}

const many = (count: number): ListedSession[] =>
  Array.from({ length: count }, (_, at) => node(`n${at}`));
/** Of a long page its rows in number, and what stands below them. */
const end = async (text: Promise<string>): Promise<string> =>
  `${(await text).split('<tr>').length - 2} rows\n${(await text).split('</table>')[1]}`;

const drain = (form: Record<string, string>, asked: string[] | null) => {
  const nodes = new FakeNodes();
  nodes.listed = [node('a'), node('b')];
  if (asked !== null) nodes.askToDrain = () => Promise.resolve(asked);
  return opened(nodePages, 'POST', '/nodes/drain', visitOf({ ctx: { nodes }, form }));
};

export const NODES: readonly Drawing[] = [
  ['none takes part, and the own one has ended', () => page({ listed: [] })],
  ['alone', () => page({ listed: [node('a')] })],
  ['several in every state', () => page({ listed: MIXED, findings: FINDINGS })],
  ['the same for who may change nothing', () => page({ listed: MIXED, mayChange: false })],
  ['with a standby', () => page({ listed: many(2), hasStandby: true, findings: FINDINGS })],
  ['a standby is missing', () => page({ listed: many(2), hasStandby: false })],
  [
    'a standby is missing, as the host check said',
    () => page({ listed: many(1), hasStandby: false, findings: BAD_STANDBY, own: 'id-n0' }),
  ],
  ['a standby was seen', () => page({ listed: many(1), findings: OK_STANDBY, own: 'id-n0' })],
  ['a standby is unknown', () => page({ listed: many(1), findings: UNSEEN_STANDBY })],
  ['a hundred', () => end(page({ listed: many(100) }))],
  ['one more', () => end(page({ listed: many(101) }))],
  ['without nodes', () => opened(nodePages, 'GET', '/nodes', visitOf({}))],
  ['a drain', () => drain({ id: 'id-a', name: 'a' }, null)],
  ['a drain of another name', () => drain({ id: 'id-a', name: 'b' }, null)],
  ['a drain of one that has just ended', () => drain({ id: 'id-a', name: 'a' }, [])],
  [
    'a drain without nodes',
    () => opened(nodePages, 'POST', '/nodes/drain', visitOf({ form: { id: 'id-a', name: 'a' } })),
  ],
];
