/**
 * The way to the first delivered email, as steps that tick themselves; gone once an email was delivered.
 *
 * Each step is read from what is there, never from what somebody clicked.
 */
import type { Context } from '../../flow/context.ts';
import type { Account } from '../../store/rows.ts';
import { linkTo } from '../frame/action.ts';
import { html, type Html } from '../frame/html.ts';
import { accountPath, ROOT } from '../frame/navigation.ts';
import { card } from '../frame/table.ts';
import type { Visit } from '../frame/visit.ts';

const COUNTED_MS = 90 * 86_400_000;
/** Accounts that are looked at: a server with more than these is long past its first email. */
const MOST_ACCOUNTS = 20;
/**
 * The oldest domains and keys of each account are looked at. A verified domain or a working key behind so many others
 * leaves its step open, which is fine: a new server has no such number of them.
 */
const OLDEST = { limit: 100 };

interface Step {
  isDone: boolean;
  title: string;
  /** Why, and what to do. */
  words: string;
  href: string;
}

/** The checklist; null once an email has been delivered. */
export async function checklist(visit: Visit): Promise<Html | null> {
  const { ctx, parts } = visit;
  const now = ctx.clock.now();
  const query = { accountId: null, from: now - COUNTED_MS, until: now + 1, bucket: 'day' } as const;
  const outcomes = await ctx.store.outcomes(query);
  if (outcomes.some(({ delivered }) => delivered > 0)) return null;
  const accounts = await ctx.store.accounts({ limit: MOST_ACCOUNTS });
  const [account] = accounts;
  if (account === undefined) return noAccount();
  const steps = await stepsOf(ctx, parts.vitals, accounts, account);
  const done = steps.filter(({ isDone }) => isDone).length;
  const list = html`<ol class="checklist">
    ${steps.map(
      ({ isDone, title, words, href }) =>
        html`<li class="${isDone ? 'done' : 'open'}">
          <span class="mark-step" aria-hidden="true">${isDone ? '✓' : ''}</span>
          <div>
            ${linkTo(visit, href, title)}
            <span class="hidden">${isDone ? '(done)' : '(open)'}</span>
            <p class="soft">${words}</p>
          </div>
        </li>`,
    )}
  </ol>`;
  return card(
    'To your first delivered email',
    list,
    html`<span class="soft">${done} of ${steps.length}</span>`,
  );
}

function noAccount(): Html | null {
  return card(
    'To your first delivered email',
    html`<p>
      Begin with <a href="${ROOT}/accounts">an account</a>: domains, keys and webhooks belong to
      one.
    </p>`,
  );
}

async function stepsOf(
  { store }: Context,
  vitals: Visit['parts']['vitals'],
  accounts: readonly Account[],
  account: Account,
): Promise<Step[]> {
  const [domains, keys, endpoints] = await Promise.all([
    Promise.all(accounts.map(({ id }) => store.domains(id, OLDEST))).then((lists) => lists.flat()),
    Promise.all(accounts.map(({ id }) => store.keys(id, OLDEST))).then((lists) => lists.flat()),
    Promise.all(accounts.map(({ id }) => store.endpoints(id))).then((lists) => lists.flat()),
  ]);
  const [domain] = domains;
  const base = accountPath(domain === undefined ? account : { id: domain.accountId });
  const errors = vitals.findings?.findings.filter(({ level }) => level === 'error').length ?? null;
  return [
    {
      isDone: errors === 0,
      title: 'The host is ready',
      words:
        errors === null
          ? 'The first check of this machine is still running.'
          : errors === 0
            ? 'Name, addresses, port 25, clock and disk are as receivers expect them.'
            : `The host check found ${errors} ${errors === 1 ? 'error' : 'errors'}; each says what to do.`,
      href: `${ROOT}#host`,
    },
    {
      isDone: domain !== undefined,
      title: 'Add the domain you send from',
      words: 'It gets a DKIM key of its own, and the records that prove you may send for it.',
      href: `${base}/domains`,
    },
    {
      isDone: domains.some(({ status }) => status === 'verified'),
      title: 'Publish its DNS records',
      words:
        'Copy them to your DNS provider. They are looked for by themselves until they are found.',
      href: domain === undefined ? `${base}/domains` : `${base}/domains/${domain.id}`,
    },
    {
      isDone: keys.some(({ revokedAt }) => revokedAt === null),
      title: 'Have an API key',
      words:
        'Programs send with it, by HTTP or as the password of SMTP. The installer printed the first.',
      href: `${base}/keys`,
    },
    {
      isDone: false,
      title: 'Send the first email and see it arrive',
      words: 'A test email goes the way of every other, so its arrival proves all of the above.',
      href: `${ROOT}/test-email`,
    },
    {
      isDone: endpoints.length > 0,
      title: 'Add a webhook (if you want one)',
      words: 'Your program is told what becomes of each email, such as bounces.',
      href: `${base}/webhooks`,
    },
  ];
}
