/**
 * Nodes: the servers that share a database, what each is at, what is wrong among them, and the end of one's part.
 *
 * What is shown of a node is what it said with its last beat, so the page asks no node and counts no rows. A server with
 * files has no others: the menu does not lead here, and the page says so.
 */
import { ApiError } from '../../base/errors.ts';
import { finding, ok, type Finding } from '../../health/finding.ts';
import { difference, isClockOff, nodeFindings } from '../../health/nodes.ts';
import { nodeState, type ListedSession, type NodeState } from '../../store/nodes.ts';
import { confirm } from '../frame/action.ts';
import { html, type Html, type HtmlValue } from '../frame/html.ts';
import { ROOT } from '../frame/navigation.ts';
import { card, empty, table, tiles, type Tile } from '../frame/table.ts';
import { badge, count, lines, number, time, type Tone } from '../frame/values.ts';
import { field, type Page, type PageResponse, type Visit } from '../frame/visit.ts';
import { findingTable } from './overview.ts';

const PATH = `${ROOT}/nodes`;
/** Beats come every three seconds. */
const LIVE_SECONDS = 5;
/** Nodes that the page shows; `postrider node list` has all. */
const MOST_NODES = 100;

const TONES: Readonly<Record<NodeState, Tone>> = { live: 'good', draining: 'fair', silent: 'bad' };

export const nodePages: readonly Page[] = [
  {
    method: 'GET',
    path: '/nodes',
    async open(visit) {
      const { nodes } = visit.ctx;
      return nodes === null ? alone() : nodesPage(visit, await nodes.list());
    },
  },
  {
    method: 'POST',
    path: '/nodes/drain',
    async open(visit) {
      const [id, name] = [field(visit, 'id'), field(visit, 'name')];
      const { nodes } = visit.ctx;
      // The audit log has both: they belong together.
      const isThere = (await nodes?.list())?.some((one) => one.id === id && one.name === name);
      const asked = isThere === true ? ((await nodes?.askToDrain(id)) ?? []) : [];
      if (asked.length === 0) {
        throw new ApiError('not_found', 'This node takes part no longer.');
      }
      return { kind: 'redirect', to: PATH, done: 'drain_asked' };
    },
  },
];

function alone(): PageResponse {
  const body = empty(
    'This server runs alone',
    html`It keeps its data in files of its own. Several servers can share a PostgreSQL database, so
      that the loss of one loses no mail: <code>docs/cluster.md</code> says how.`,
  );
  return { kind: 'page', title: 'Nodes', account: null, body };
}

async function nodesPage(visit: Visit, nodes: readonly ListedSession[]): Promise<PageResponse> {
  const standby = await standbyFinding(visit);
  const versions = new Set(nodes.map(({ version }) => version));
  const found = [
    ...databaseFindings(visit),
    ...(standby === null ? [] : [standby]),
    ...nodeFindings(nodes),
  ];
  const wrong = found.filter(({ level }) => level !== 'ok');
  const body = html`${hasEnded(visit, nodes) && ENDED}
  ${tiles([...numberTiles(nodes), versionTile(versions), standbyTile(standby)])}
  ${wrong.length > 0 && card('What to look at', findingTable(wrong, ''))}
  ${table(
    [
      ['Node', 'title'],
      ['State', 'state'],
      ['Version', 'short'],
      ['Taken', 'number'],
      ['In delivery', 'number'],
      '',
    ],
    nodes.slice(0, MOST_NODES).map((node) => cells(visit, node, nodes)),
    'No node takes part now.',
  )}
  ${
    nodes.length > MOST_NODES &&
    html`<p class="soft">The first ${MOST_NODES} of ${nodes.length} nodes, by name.</p>`
  }`;
  return { kind: 'page', title: 'Nodes', account: null, body, liveSeconds: LIVE_SECONDS };
}

/** Drained, it still shows its pages until it is stopped. */
function hasEnded({ ctx }: Visit, nodes: readonly ListedSession[]): boolean {
  const { node } = ctx;
  return node !== null && nodes.every(({ id }) => id !== node.id);
}

const ENDED = html`<p class="notice" role="status">
  This server, which shows the page, takes part no longer: stop it, or start it anew.
</p>`;

function numberTiles(nodes: readonly ListedSession[]): Tile[] {
  const states = nodes.map(nodeState);
  const [live, draining, silent] = (['live', 'draining', 'silent'] as const).map(
    (state) => states.filter((one) => one === state).length,
  );
  const others = [
    ...(draining ? [`${draining} draining`] : []),
    ...(silent ? [`${silent} silent`] : []),
  ];
  const sum = (of: 'taken' | 'inDelivery'): string =>
    number(nodes.reduce((total, { report }) => total + (report?.[of] ?? 0), 0));
  return [
    {
      label: 'Live nodes',
      value: live ?? 0,
      hint: others.length === 0 ? 'none draining or silent' : others.join(', '),
      ...(silent ? { tone: 'bad' as const } : {}),
    },
    { label: 'Taken', value: sum('taken'), hint: 'recipients, by all nodes' },
    { label: 'In delivery', value: sum('inDelivery'), hint: 'recipients, by all nodes' },
  ];
}

function versionTile(versions: ReadonlySet<string>): Tile {
  const [only = '–'] = versions;
  if (versions.size < 2) return { label: 'Version', value: only, hint: 'the same on all' };
  return { label: 'Versions', value: versions.size, hint: 'should be one', tone: 'fair' };
}

/** What is known of a second copy of the data: now where it is required, else since the last host check. */
async function standbyFinding({ ctx, parts }: Visit): Promise<Finding | null> {
  const check = 'database_standby';
  const last = parts.vitals.findings?.findings.find((one) => one.check === check) ?? null;
  const state = await ctx.store.databaseState();
  const hasStandby = state?.hasStandby ?? null;
  if (hasStandby === null) return last;
  if (hasStandby) return ok(check, 'A synchronous standby has what the database commits.');
  if (last?.level === 'error') return last;
  return finding(
    check,
    'error',
    'No synchronous standby has what the database commits. Sends are refused: [store] require_standby is true.',
    'Start a standby of the primary, or see why it cannot connect. Sends are taken again by themselves.',
  );
}

function standbyTile(found: Finding | null): Tile {
  const label = 'Synchronous standby';
  switch (found?.level) {
    case undefined:
      return { label, value: '–', hint: 'not checked yet' };
    case 'ok':
      return { label, value: 'yes', hint: 'has what is committed' };
    case 'error':
      return { label, value: 'missing', hint: 'sends are refused', tone: 'bad' };
    case 'warning':
    case 'unchecked':
      return { label, value: 'none', hint: 'seen at the last host check', tone: 'fair' };
  }
}

/** Of the last host check of this server; the standby is looked at by itself, and the nodes are compared now. */
function databaseFindings({ parts }: Visit): Finding[] {
  const all = parts.vitals.findings?.findings ?? [];
  return all.filter(({ check }) => /^database(?!_standby$)/.test(check));
}

function cells(visit: Visit, node: ListedSession, all: readonly ListedSession[]): HtmlValue[] {
  const { id, name, version, report } = node;
  const state = nodeState(node);
  const heardSecondsAgo = Math.round(Math.max(0, node.heardMsAgo) / 1000);
  return [
    nameCell(visit, node, all),
    html`${badge(state, TONES[state])}
      <p class="hint nowrap">heard ${heardSecondsAgo} s ago</p>`,
    all.some((one) => one.version !== version) ? badge(version, 'fair') : version,
    report === null ? '–' : number(report.taken),
    report === null ? '–' : number(report.inDelivery),
    state === 'live' &&
      confirm(visit, {
        to: `${PATH}/drain`,
        label: 'Drain',
        words: drainWords(visit, node, all),
        sure: `Drain ${name}`,
        fields: { id, name },
      }),
  ];
}

function nameCell({ ctx }: Visit, node: ListedSession, all: readonly ListedSession[]): Html {
  const { id, name, addresses, beganAt, report } = node;
  const aheadMs = report?.clockAheadMs ?? null;
  const isShared = all.some((one) => one.id !== id && one.name === name);
  const said = [
    id === ctx.node?.id && 'shows this page',
    html`since ${time(beganAt)}`,
    addresses.length > 0 && `sends from ${addresses.join(', ')}`,
    isShared && html`<code>${id}</code>`,
  ];
  return html`<strong>${name}</strong>
    ${isClockOff(aheadMs) && html`<p class="hint bad-text">clock ${difference(aheadMs)}</p>`}
    <p class="hint">${lines(said)}</p>`;
}

function drainWords({ ctx }: Visit, node: ListedSession, all: readonly ListedSession[]): Html {
  const others = all.filter((one) => one.id !== node.id && nodeState(one) === 'live').length;
  return html`<p>
      ${node.name} refuses new mail after 3 seconds, ends what is under way, and takes part no
      longer. Then it can be stopped or replaced; started anew it takes part again.
    </p>
    ${
      others === 0
        ? html`<p>
            <strong>No other node is live:</strong> nothing is accepted and nothing is sent until
            one is.
          </p>`
        : html`<p>What it leaves ${count(others, 'other node sends', 'other nodes send')}.</p>`
    }
    ${
      node.id === ctx.node?.id &&
      html`<p>It shows this page: look at the dashboard of another node afterwards.</p>`
    }`;
}
