/**
 * The test email from any verified domain, for whoever stands on the overview and wants to see that sending works.
 *
 * The work is in flow/accept.
 */
import { validationFailed } from '../../base/errors.ts';
import { sendTestEmail } from '../../flow/accept/test-email.ts';
import type { Context } from '../../flow/context.ts';
import type { Account, Domain } from '../../store/rows.ts';
import { form } from '../frame/form.ts';
import { html } from '../frame/html.ts';
import { accountPath, ROOT } from '../frame/navigation.ts';
import { empty } from '../frame/table.ts';
import { field, type Page } from '../frame/visit.ts';

const PATH = '/test-email';
/** Accounts whose domains are offered; each domain's own page has the form too. */
const MOST_ACCOUNTS = 50;

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
      const wanted = field(visit, 'domain');
      const found = (await verifiedDomains(ctx)).find(({ domain }) => domain.id === wanted);
      if (found === undefined) {
        throw validationFailed([{ path: 'domain', message: 'Choose a verified domain.' }]);
      }
      const { account, domain } = found;
      const id = await sendTestEmail(ctx, parts.queue, account, domain, field(visit, 'to'));
      return { kind: 'redirect', to: `${accountPath(account)}/emails/${id}`, done: 'sent' };
    },
  },
];

async function verifiedDomains({
  store,
}: Context): Promise<{ account: Account; domain: Domain }[]> {
  const accounts = (await store.accounts()).slice(0, MOST_ACCOUNTS);
  const lists = await Promise.all(
    accounts.map(async (account) =>
      (await store.domains(account.id))
        .filter(({ status }) => status === 'verified')
        .map((domain) => ({ account, domain })),
    ),
  );
  return lists.flat();
}
