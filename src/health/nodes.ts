/**
 * Questions about the servers that share a database: have they one version, names of their own, clocks that agree?
 *
 * Pure, over what the nodes have said of themselves: the host check asks it, and the dashboard's page of nodes each time
 * it is shown. A node that is silent is not compared: it may be gone.
 */
import { nodeState } from '../store/nodes.ts';
import type { ListedSession } from '../store/nodes.ts';
import { type Finding, finding, ok } from './finding.ts';

/** Leases of nodes rest on the database's clock, the times of mail on theirs. */
export const MOST_CLOCK_MS = 2_000;
/** Names that one sentence shows. */
const MOST_NAMES = 5;

/** Nothing where none takes part. */
export function nodeFindings(listed: readonly ListedSession[]): Finding[] {
  const nodes = listed.filter((one) => nodeState(one) !== 'silent');
  if (nodes.length === 0) return [];
  return [versions(nodes), names(nodes), clocks(nodes)];
}

/** Whether a clock is so far from the database's that mail comes late. Null: nobody knows. */
export function isClockOff(aheadMs: number | null): aheadMs is number {
  return aheadMs !== null && Math.abs(aheadMs) > MOST_CLOCK_MS;
}

function versions(nodes: readonly ListedSession[]): Finding {
  const byVersion = Map.groupBy(nodes, ({ version }) => version);
  const [only = ''] = byVersion.keys();
  if (byVersion.size === 1) {
    const takePart = nodes.length === 1 ? 'One node takes' : `${nodes.length} nodes take`;
    return ok('node_versions', `${takePart} part, with version ${only}.`);
  }
  const said = [...byVersion]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([version, of]) => `${version} on ${listOf(of)}`);
  return finding(
    'node_versions',
    'warning',
    `The nodes have different versions: ${said.join('; ')}.`,
    'Bring all to the same version, one after the other.',
  );
}

function names(nodes: readonly ListedSession[]): Finding {
  const byName = Map.groupBy(nodes, ({ name }) => name);
  const shared = [...byName].filter(([, of]) => of.length > 1).map(([name]) => name);
  if (shared.length === 0) return ok('node_names', 'Every node has a name of its own.');
  return finding(
    'node_names',
    'warning',
    `Several nodes have the same name: ${cut(shared)}.`,
    'Set [node] name in the config of each. What is asked of a name is asked of all that have it.',
  );
}

function clocks(nodes: readonly ListedSession[]): Finding {
  const off = nodes.flatMap(({ name, report }) => {
    const aheadMs = report?.clockAheadMs ?? null;
    return isClockOff(aheadMs) ? [`${name} ${difference(aheadMs)}`] : [];
  });
  if (off.length === 0)
    return ok('node_clocks', 'The clocks of the nodes agree with the database.');
  return finding(
    'node_clocks',
    // Of the node itself it is an error: `database_clock`.
    'warning',
    `Clocks of nodes differ from the database's: ${cut(off)}. Mail of a node whose clock is wrong comes late.`,
    'Let chrony or systemd-timesyncd run on these nodes and on the database server.',
  );
}

/** A difference of clocks: `3.2 s ahead`. */
export function difference(aheadMs: number): string {
  return `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead'}`;
}

const listOf = (nodes: readonly ListedSession[]): string => cut(nodes.map(({ name }) => name));

function cut(list: readonly string[]): string {
  const more = list.length - MOST_NAMES;
  return more > 0 ? `${list.slice(0, MOST_NAMES).join(', ')} and ${more} more` : list.join(', ');
}
