/**
 * The first page: whether mail flows, what became of it, what waits and why, and what the host check found.
 *
 * Until the first delivered email it leads there (`checklist.ts`). Charts and rates are `outcome-charts.ts`. Updates
 * itself. The halt refuses new sends and pauses deliveries; flow/upkeep stores it.
 */
import { wallTime } from '../../base/clock.ts';
import type { Context } from '../../flow/context.ts';
import type { Finding } from '../../health/finding.ts';
import { waitingIn } from '../../store/operator.ts';
import type { QueueCount, QueueKind } from '../../store/operator.ts';
import type { Account } from '../../store/rows.ts';
import { checklist } from './checklist.ts';
import { linkButton, together } from '../frame/action.ts';
import {
  countedIn,
  isNothing,
  outcomeCharts,
  outcomeTiles,
  PERIODS,
  type Period,
} from './outcome-charts.ts';
import { choiceField, MOST_OFFERED, OFFERED } from './offered.ts';
import { form, filters } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { ROOT, tabs } from '../frame/navigation.ts';
import { card, empty, table, tiles, type Tile } from '../frame/table.ts';
import { badge, bytes, count, number, reasonWords, time } from '../frame/values.ts';
import { field, type Page, queryText, type Visit } from '../frame/visit.ts';

const LIVE_SECONDS = 10;
const MOST_DESTINATIONS = 20;
const OVERVIEW = { label: 'Overview', href: ROOT };

export const overviewPages: readonly Page[] = [
  { method: 'GET', path: '', open: overview },
  {
    method: 'GET',
    path: '/halt',
    isForm: true,
    async open(visit) {
      const body = html`<p>
          While sending is halted, new sends are refused and deliveries are paused. Nothing that was
          accepted is lost.
        </p>
        ${form(visit, {
          to: `${ROOT}/halt`,
          fields: [
            {
              kind: 'text',
              name: 'reason',
              label: 'Reason',
              hint: 'Senders see it.',
              maxLength: 200,
            },
          ],
          submit: 'Halt all sending',
          kind: 'danger',
        })}`;
      return { kind: 'page', title: 'Halt sending', account: null, body, up: OVERVIEW };
    },
  },
  {
    method: 'POST',
    path: '/halt',
    async open(visit) {
      const { halt } = visit.ctx;
      try {
        await halt.halt(field(visit, 'reason'));
      } finally {
        // The switch is on also where it cannot be written: a full disk must not keep mail going out.
        visit.parts.queue.setResting(halt.state !== null);
      }
      return { kind: 'redirect', to: ROOT, done: 'halted' };
    },
  },
  {
    method: 'POST',
    path: '/resume',
    async open({ ctx, parts }) {
      await ctx.halt.resume();
      parts.queue.setResting(false);
      return { kind: 'redirect', to: ROOT, done: 'resumed' };
    },
  },
];

async function overview(visit: Visit): ReturnType<Page['open']> {
  const { ctx, parts } = visit;
  const period = periodOf(queryText(visit, 'period'));
  const wanted = queryText(visit, 'account');
  const [accounts, chosen] = await Promise.all([
    ctx.store.accounts(OFFERED),
    wanted === null ? null : ctx.store.account(wanted),
  ]);
  const [counted, steps, counts, calls] = await Promise.all([
    countedIn(ctx, period, chosen?.id ?? null),
    checklist(visit),
    ctx.store.queueCounts(null, MOST_DESTINATIONS),
    ctx.store.openCalls(),
  ]);
  const now = nowTiles(visit, counts.kinds, calls);
  const waiting = waitingTable(counts.largest);
  const hrefOf = (one: Period): string =>
    `${ROOT}?${new URLSearchParams({ period: one, ...(chosen !== null && { account: chosen.id }) }).toString()}`;
  const periods = tabs(
    'Period',
    period,
    Object.entries(PERIODS).map(([key, { label }]) => [key, label, hrefOf(key as Period)] as const),
  );
  const isNew = steps !== null && isNothing(counted);
  const charts = html`<div class="over-charts">
      ${periods} ${accountFilter(accounts, period, wanted, chosen)}
    </div>
    ${outcomeTiles(counted)} ${outcomeCharts(counted)}`;
  const body = html`${steps} ${tiles(now)} ${slowed(visit)} ${isNew ? NO_CHARTS : charts}
    ${card('Waiting by destination', waiting, html`<a href="${ROOT}/queue">Queue</a>`)}
    <div id="host">${card('Host check', findings(parts))}</div>`;
  const isHalted = ctx.halt.state !== null;
  const tools = together([
    linkButton(visit, `${ROOT}/test-email`, 'Send a test email'),
    !isHalted && linkButton(visit, `${ROOT}/halt`, 'Halt sending', 'danger'),
  ]);
  return {
    kind: 'page',
    title: 'Overview',
    account: null,
    body,
    liveSeconds: LIVE_SECONDS,
    tools,
  };
}

/** The choice of the account whose charts are shown; none where there is but one. */
function accountFilter(
  accounts: readonly Account[],
  period: Period,
  wanted: string | null,
  chosen: Account | null,
): Html | null {
  if (accounts.length <= 1) return null;
  const isUnknown = wanted !== null && chosen === null && accounts.length > MOST_OFFERED;
  return html`${filters(ROOT, [
    { kind: 'hidden', name: 'period', value: period },
    choiceField(accounts, {
      name: 'account',
      label: 'Account',
      value: wanted,
      none: 'All accounts',
    }),
  ])}
  ${isUnknown && html`<p class="soft">No account has this name; these are the numbers of all.</p>`}`;
}

const NO_CHARTS = empty(
  'No mail yet',
  'What became of your emails stands here, hour by hour, from the first one on.',
);

function periodOf(text: string | null): Period {
  return text !== null && Object.hasOwn(PERIODS, text) ? (text as Period) : '24h';
}

function nowTiles({ ctx, parts }: Visit, kinds: readonly QueueKind[], calls: number): Tile[] {
  const { mode } = ctx.config.startup.delivery;
  return [
    { label: 'Mode', value: mode, hint: MODE_WORDS[mode] },
    {
      label: 'Waiting',
      value: number(waitingIn(kinds)),
      hint: 'recipients',
      href: `${ROOT}/queue`,
    },
    { label: 'In delivery', value: parts.queue.counts().inFlight, hint: 'recipients' },
    { label: 'Webhooks', value: number(calls), hint: 'calls pending' },
    diskTile(ctx),
  ];
}

const MODE_WORDS = {
  direct: 'to the receivers themselves',
  smarthost: 'through another server',
  capture: 'nothing leaves the machine',
} as const;

function diskTile({ disk }: Context): Tile {
  const { last } = disk;
  if (last === null) return { label: 'Free disk', value: '–', hint: 'not measured yet' };
  const { keptBytes, totalBytes, reserveBytes } = last;
  // What is kept back is free for us, and would be for nobody else.
  const freeBytes = last.freeBytes + keptBytes;
  const tone = freeBytes < reserveBytes ? 'bad' : freeBytes < 2 * reserveBytes ? 'fair' : null;
  return {
    label: 'Free disk',
    value: bytes(freeBytes),
    hint: `of ${bytes(totalBytes)}; sends are refused below ${bytes(reserveBytes)}`,
    ...(tone !== null && { tone }),
  };
}

/** Receivers that asked us to slow down. */
export function slowed({ ctx, parts }: Visit): Html | null {
  const list = parts.queue.throttles();
  if (list.length === 0) return null;
  const rows = list.map(({ site, cause, hint, untilMs }) => [
    site,
    html`${cause} ${hint !== null && html`<p class="soft">${hint}</p>`}`,
    time(wallTime(ctx.clock, untilMs)),
  ]);
  return card(
    `${count(list.length, 'receiver')} asked to slow down`,
    table([['Receiver', 'title'], ['Reason', 'words'], 'Until'], rows, 'None.'),
  );
}

function waitingTable(counts: readonly QueueCount[]): Html {
  return table(
    [['Destination', 'title'], ['Recipients', 'number'], 'Oldest', ['Last reason', 'words']],
    counts.map(({ domain, waiting, oldestCreatedAt, reason }) => [
      html`<a href="${ROOT}/queue?domain=${encodeURIComponent(domain)}">${domain}</a>`,
      waiting,
      time(oldestCreatedAt),
      reason === null ? null : reasonWords(reason),
    ]),
    'No recipients are waiting.',
  );
}

/** What the last host check found. */
export function findings({ vitals }: Visit['parts']): Html {
  const last = vitals.findings;
  if (last === null) return html`<p class="none">The first check is still running.</p>`;
  const open = last.findings.filter(({ level }) => level !== 'ok');
  return html`<p class="soft">Checked at ${time(last.checkedAt)}.</p>
    ${findingTable(open, `All ${last.findings.length} checks passed.`)}`;
}

/** Findings with what to do; `none` where there are none. */
export function findingTable(list: readonly Finding[], none: string): Html {
  return table(
    [
      ['Level', 'state'],
      ['Finding', 'title'],
      ['What to do', 'words'],
    ],
    list.map(({ level, summary, advice }) => [badge(level), summary, advice]),
    none,
  );
}
