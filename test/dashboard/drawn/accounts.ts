/** Accounts and plans, the form of one account, and its suppressions, in each state and for each reader. */
import { UNLIMITED } from '../../../src/base/config.ts';
import { accountPages } from '../../../src/dashboard/pages/accounts.ts';
import { suppressionPages } from '../../../src/dashboard/pages/suppressions.ts';
import type { RefusedForm } from '../../../src/dashboard/frame/visit.ts';
import type { Account, Suppression } from '../../../src/store/rows.ts';
import { newSuppression } from '../../store/samples.ts';
import { account, type Drawing, handedOver, NOW, opened, type Parts, visitOf } from './page.ts';

const SMALL = {
  ...UNLIMITED,
  id: 'small',
  includedEmails: 10_000,
  dailyLimit: 1_000,
  maxDomains: 1_000_000,
  storageBytes: 2_000_000,
  logRetentionDays: 7,
  ratePerSecond: 1_000,
};
const PLANS = new Map([
  ['unlimited', { ...UNLIMITED, maxDomains: 999_999 }],
  ['small', SMALL],
  ['none', { ...SMALL, id: 'none', includedEmails: 0, dailyLimit: 0, storageBytes: 0 }],
]);

const of = (id: string, change: Partial<Account> = {}): Account => ({
  ...account,
  id,
  name: `${id} & <co>`,
  createdAt: NOW,
  ...change,
});
const PAUSED = of('paused', { status: 'paused', statusReason: 'Too <many>', plan: 'small' });
const UNPAID = of('unpaid', { status: 'payment_required', plan: 'gone' });

interface Shown extends Parts {
  accounts: readonly Account[];
  refused?: RefusedForm;
}

/** A page of accounts; each has used as much as its position says. */
function page(path: string, { accounts, refused, ...more }: Shown): Promise<string> {
  const positionOf = (id: string): number => accounts.findIndex((one) => one.id === id) + 1;
  const visit = visitOf({
    ctx: { config: { live: { plans: PLANS } } },
    ...more,
    store: {
      accounts: () => accounts,
      account: (id: string) => Promise.resolve(accounts[positionOf(id) - 1] ?? null),
      usedInMonth: (id: string) => positionOf(id) * 1_234,
      storedBytes: (id: string) => positionOf(id) * 1_000_000,
      countsByStatus: () => ({}),
    },
  });
  return opened(accountPages, 'GET', path, { ...visit, refused: refused ?? null });
}

const list = (accounts: readonly Account[], more: Partial<Shown> = {}) =>
  page('/accounts', { accounts, ...more });
const edit = (one: Account, more: Partial<Shown> = {}) =>
  page('/accounts/:account/edit', { accounts: [one], params: { account: one.id }, ...more });

const refusedAt = (action: string, fields: string, issues: [string, string][]): RefusedForm => ({
  action: `/dashboard/accounts${action}`,
  fields: new URLSearchParams(fields),
  issues: new Map(issues),
  message: null,
});

const EMAIL = '01913c7e-89ab-7cde-8f01-23456789abce';
const suppressed = (reason: Suppression['reason'], change: Partial<Suppression>): Suppression =>
  newSuppression('acc', `${reason}@x.example`, { reason, createdAt: NOW, ...change });
const SUPPRESSED = [
  suppressed('hard_bounce', { source: EMAIL, note: '550 <gone>' }),
  suppressed('complaint', { source: 'report' }),
  suppressed('unsubscribe', { source: 'import', note: '' }),
  suppressed('manual', { source: null }),
];

/** The list, and how it was asked for. */
async function suppressions(
  rows: readonly Suppression[],
  more: Parts & { hasMore?: boolean; refused?: RefusedForm } = {},
): Promise<string> {
  const { hasMore = false, refused = null, ...parts } = more;
  const asked: unknown[] = [];
  const visit = visitOf({
    store: {
      suppressions: (...given: unknown[]) => {
        asked.push(given);
        return Promise.resolve({ rows, hasMore });
      },
    },
    ...parts,
  });
  const path = '/accounts/:account/suppressions';
  const text = await opened(suppressionPages, 'GET', path, { ...visit, refused });
  return `asked ${JSON.stringify(asked)}\n${text}`;
}

export const ACCOUNTS: readonly Drawing[] = [
  ['accounts in every state', () => list([of('active'), PAUSED, UNPAID])],
  ['accounts for a reader', () => list([of('active'), PAUSED], { mayChange: false })],
  ['no accounts', () => list([], { mayChange: false })],
  [
    'a refused account keeps what was entered',
    () =>
      list([], {
        refused: refusedAt('', 'name=%3Ctwo%3E&plan=small', [
          ['name', 'Taken.'],
          ['plan', 'None <such>.'],
        ]),
      }),
  ],
  ['an active account', () => edit(of('active'))],
  ['a paused account', () => edit(PAUSED)],
  ['an unpaid account of a plan that is gone', () => edit(UNPAID)],
  ['an account for a reader', () => edit(PAUSED, { mayChange: false })],
  [
    'a refused change of an account',
    () =>
      edit(PAUSED, { refused: refusedAt('/paused/edit', 'name=&plan=none', [['name', 'No.']]) }),
  ],
  ['suppressions of every reason', () => suppressions(SUPPRESSED, { hasMore: true })],
  ['suppressions for a reader', () => suppressions(SUPPRESSED, { mayChange: false })],
  ['no suppressions', () => suppressions([])],
  ['no suppressions for a reader', () => suppressions([], { mayChange: false })],
  ['suppressions by a text alone', () => suppressions([], { query: 'q=%3Ca%3E' })],
  ['suppressions by a reason alone', () => suppressions([], { query: 'reason=complaint' })],
  ['suppressions by no reason', () => suppressions([], { query: 'reason=Manual&q=+' })],
  ['a page behind the last suppression', () => suppressions([], { query: 'after=a@x.example' })],
  [
    'a later page of found suppressions',
    () =>
      suppressions(SUPPRESSED.slice(0, 1), {
        hasMore: true,
        query: 'after=a@x.example&q=a%26b&reason=manual&done=added&count=3',
      }),
  ],
  [
    'suppressions as a file',
    () =>
      handedOver(
        suppressionPages,
        '/accounts/:account/suppressions/export',
        visitOf({
          store: { suppressions: () => Promise.resolve({ rows: SUPPRESSED, hasMore: false }) },
        }),
      ),
  ],
  [
    'a refused address',
    () =>
      suppressions([], {
        refused: refusedAt('/acc/suppressions', 'email=%3Ca&note=n%22', [['email', 'No address.']]),
      }),
  ],
];
