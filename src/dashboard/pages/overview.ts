/**
 * The first page: whether mail flows, what waits for which destination, findings of the host check; and the kill
 * switch.
 *
 * Updates itself. The kill switch refuses new sends and pauses deliveries; flow/upkeep stores it.
 */
import type { Context } from '../../flow/context.ts';
import { html, type Html } from '../frame/html.ts';
import { ROOT, accountPath } from '../frame/navigation.ts';
import { form } from '../frame/form.ts';
import { table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import { field, type Page, type Visit } from '../frame/visit.ts';

const COUNT_MS = 30 * 86_400_000;
const LIVE_SECONDS = 10;
const MOST_DESTINATIONS = 20;

export const overviewPages: readonly Page[] = [
  {
    method: 'GET',
    path: '',
    async open({ ctx, parts }) {
      const body = html`${await tiles(ctx, parts)}
        <h2>Messages of the last 30 days</h2>
        ${await accountTable(ctx)}
        <h2>Waiting by destination</h2>
        ${await waitingTable(ctx)}
        <h2>Host check</h2>
        ${findings(parts)}`;
      const liveSeconds = LIVE_SECONDS;
      const isHalted = ctx.halt.state !== null;
      const tools = html`${!isHalted && html`<a class="button plain" href="${ROOT}/halt">Halt sending</a>`}`;
      return { kind: 'page', title: 'Overview', account: null, body, liveSeconds, tools };
    },
  },
  {
    method: 'GET',
    path: '/halt',
    async open() {
      const body = html`<p>
          While sending is halted, new sends are refused and deliveries are paused. Nothing that was
          accepted is lost.
        </p>
        ${form({
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
      return { kind: 'page', title: 'Halt sending', account: null, body };
    },
  },
  {
    method: 'POST',
    path: '/halt',
    async open(visit) {
      await visit.ctx.halt.halt(field(visit, 'reason'));
      visit.parts.queue.setResting(true);
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

async function tiles(ctx: Context, parts: Visit['parts']): Promise<Html> {
  const waiting = await ctx.store.queueCounts(ctx.clock.now());
  const total = waiting.reduce((sum, { waiting }) => sum + waiting, 0);
  const rows: [label: string, value: string | number][] = [
    ['Mode', ctx.config.startup.delivery.mode],
    ['Recipients waiting', total],
    ['In delivery', parts.queue.counts().inFlight],
    ['Webhook calls pending', await ctx.store.openCalls()],
  ];
  return html`<div class="tiles">
    ${rows.map(([label, value]) => html`<div class="tile"><b>${value}</b>${label}</div>`)}
  </div>`;
}

async function accountTable(ctx: Context): Promise<Html> {
  const since = ctx.clock.now() - COUNT_MS;
  const accounts = await ctx.store.accounts();
  const rows = await Promise.all(
    accounts.map(async (account) => {
      const counts = await ctx.store.countsByStatus(account.id, since);
      return [
        html`<a href="${accountPath(account)}/emails">${account.name}</a>`,
        badge(account.status),
        counts.delivered,
        counts.sent,
        counts.queued + counts.delivery_delayed,
        counts.bounced,
        counts.complained,
        counts.failed,
        counts.suppressed,
      ];
    }),
  );
  const headings = [
    'Account',
    'Status',
    'Delivered',
    'Sent',
    'In progress',
    'Bounced',
    'Complained',
  ];
  return table([...headings, 'Failed', 'Suppressed'], rows, 'No accounts yet.');
}

async function waitingTable(ctx: Context): Promise<Html> {
  const now = ctx.clock.now();
  const rows = (await ctx.store.queueCounts(now)).slice(0, MOST_DESTINATIONS);
  return table(
    ['Destination', 'Recipients', 'Oldest from', 'Last reason'],
    rows.map(({ domain, waiting, oldestCreatedAt, reason }) => [
      html`<a href="${ROOT}/queue?domain=${encodeURIComponent(domain)}">${domain}</a>`,
      waiting,
      time(oldestCreatedAt),
      reason,
    ]),
    'No recipients are waiting.',
  );
}

function findings({ vitals }: Visit['parts']): Html {
  const last = vitals.findings;
  if (last === null) return html`<p class="none">The first check is still running.</p>`;
  const open = last.findings.filter(({ level }) => level !== 'ok');
  return html`<p class="soft">Checked at ${time(last.checkedAt)}.</p>
    ${table(
      ['', 'Finding', 'What to do'],
      open.map(({ level, summary, advice }) => [badge(level), summary, advice]),
      'No problems found.',
    )}`;
}
