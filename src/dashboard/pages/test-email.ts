/**
 * The test email from any verified domain, for whoever stands on the overview and wants to see that sending works.
 *
 * The work is in flow/accept.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import { validationFailed } from '../../base/errors.ts';
import { sendTestEmail } from '../../flow/accept/test-email.ts';
import type { Context } from '../../flow/context.ts';
import type { Account, Domain } from '../../store/rows.ts';
import { form } from '../frame/form.ts';
import { html } from '../frame/html.ts';
import { accountPath, ROOT } from '../frame/navigation.ts';
import { empty } from '../frame/table.ts';
import { field, type Page } from '../frame/visit.ts';
import { MOST_OFFERED } from './offered.ts';

const PATH = '/test-email';
/** Accounts whose domains are offered, and the domains of each that are looked at; each domain's own page has the form too. */
const MOST_ACCOUNTS = 50;
const OLDEST = { limit: 100 };

export const testEmailPages: readonly Page[] = [
  {
    method: 'GET',
    path: PATH,
    isForm: true,
    async open(visit) {
      const offered = await verifiedDomains(visit.ctx);
      const body = html`<p>
          A short email leaves this machine from <code>postrider@</code> the domain, signed and
          delivered like every other. Send it to a mailbox of your own and look whether it arrives.
        </p>
        ${
          offered.length === 0
            ? empty(
                'No domain is verified yet',
                'Add a domain and publish its DNS records; then it can send.',
                html`<a class="button" href="${ROOT}">Back to the overview</a>`,
              )
            : form(visit, {
                to: ROOT + PATH,
                fields: [
                  {
                    kind: 'select',
                    name: 'domain',
                    label: 'From the domain',
                    options: offered.map(({ account, domain }) => [
                      domain.id,
                      `${domain.name} (${account.name})`,
                    ]),
                  },
                  {
                    kind: 'text',
                    type: 'email',
                    name: 'to',
                    label: 'To',
                    required: true,
                    autocomplete: 'email',
                  },
                ],
                submit: 'Send a test email',
              })
        }`;
      const up = { label: 'Overview', href: ROOT };
      return { kind: 'page', title: 'Send a test email', account: null, body, up };
    },
  },
  {
    method: 'POST',
    path: PATH,
    mainField: 'to',
    async open(visit) {
      const { ctx, parts } = visit;
      const { account, domain } = await verifiedDomain(ctx, field(visit, 'domain'));
      const id = await sendTestEmail(ctx, parts.queue, account, domain, field(visit, 'to'));
      return { kind: 'redirect', to: `${accountPath(account)}/emails/${id}`, done: 'sent' };
    },
  },
];

interface Sender {
  account: Account;
  domain: Domain;
}

/** The domain with this id, also one that the form does not offer. Throws `validation_failed` where it cannot send. */
async function verifiedDomain({ store }: Context, id: string): Promise<Sender> {
  const domain = await store.domainForSigning(id);
  if (domain?.status === 'verified' && domain.deletedAt === null) {
    const account = await store.account(domain.accountId);
    if (account !== null) return { account, domain };
  }
  throw validationFailed([{ path: 'domain', message: 'Choose a verified domain.' }]);
}

/** The verified domains that the form offers. */
async function verifiedDomains({ store }: Context): Promise<Sender[]> {
  const offered: Sender[] = [];
  for (const account of await store.accounts({ limit: MOST_ACCOUNTS })) {
    const domains = await store.domains(account.id, OLDEST);
    for (const domain of domains) {
      if (domain.status === 'verified') offered.push({ account, domain });
    }
    if (offered.length >= MOST_OFFERED) break;
    // SQLite reads on this thread.
    await nextTick();
  }
  return offered.slice(0, MOST_OFFERED);
}
