/**
 * Sending domains of an account: add, check now, test, change the DKIM key, remove; and the records as a zone file.
 *
 * The work is in flow/domains; how one domain is shown is in `domain-view.ts`.
 */
import { wallTimeOrNull } from '../../base/clock.ts';
import { sendTestEmail } from '../../flow/accept/test-email.ts';
import { addDomain, domainOf, removeDomain, verifyDomain } from '../../flow/domains/domains.ts';
import { allRecords } from '../../flow/domains/records.ts';
import { activateKey, prepareKey } from '../../flow/domains/rotation.ts';
import { zoneFile } from '../../flow/domains/zone-file.ts';
import type { Account, Domain } from '../../store/rows.ts';
import { form } from '../frame/form.ts';
import { html } from '../frame/html.ts';
import { accountPath } from '../frame/navigation.ts';
import { card, empty, table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import { field, type Page, param, type RedirectResponse, type Visit } from '../frame/visit.ts';
import { accountOf } from './accounts.ts';
import { domainView } from './domain-view.ts';
import { longList } from './long-list.ts';
import { domainAsked } from './offered.ts';

const LIST = '/accounts/:account/domains';
const ONE = `${LIST}/:id`;

export const domainPages: readonly Page[] = [
  { method: 'GET', path: LIST, open: list },
  {
    method: 'POST',
    path: LIST,
    mainField: 'name',
    async open(visit) {
      const account = await accountOf(visit);
      const domain = await addDomain(visit.ctx, account, field(visit, 'name'));
      return back(account, domain, 'domain_added');
    },
  },
  {
    method: 'GET',
    path: ONE,
    async open(visit) {
      const { account, domain } = await domainIn(visit);
      return domainView(visit, account, domain);
    },
  },
  {
    method: 'GET',
    path: `${ONE}/zone`,
    async open(visit) {
      const { domain } = await domainIn(visit);
      return {
        kind: 'document',
        contentType: 'text/plain; charset=utf-8',
        body: zoneFile(domain.name, allRecords(visit.ctx.config.startup.cluster.name, domain)),
        saveAs: `${domain.name}.zone`,
      };
    },
  },
  change('verify', 'checked', async ({ ctx }, account, { id }) => {
    await verifyDomain(ctx, account.id, id);
  }),
  change('rotate', 'key_made', async ({ ctx }, _, domain) => {
    await prepareKey(ctx, domain);
  }),
  change('activate', 'key_activated', async ({ ctx }, _, domain) => {
    await activateKey(ctx, domain);
  }),
  {
    method: 'POST',
    path: `${ONE}/test`,
    mainField: 'to',
    async open(visit) {
      const { account, domain } = await domainIn(visit);
      const { ctx, parts } = visit;
      const id = await sendTestEmail(ctx, parts.queue, account, domain, field(visit, 'to'));
      return { kind: 'redirect', to: `${accountPath(account)}/emails/${id}`, done: 'sent' };
    },
  },
  {
    method: 'POST',
    path: `${ONE}/remove`,
    async open(visit) {
      const account = await accountOf(visit);
      await removeDomain(visit.ctx, account.id, param(visit, 'id'));
      return { kind: 'redirect', to: `${accountPath(account)}/domains`, done: 'removed' };
    },
  },
];

async function domainIn(visit: Visit): Promise<{ account: Account; domain: Domain }> {
  const account = await accountOf(visit);
  return { account, domain: await domainOf(visit.ctx, account.id, param(visit, 'id')) };
}

/** A change of one domain that its page shows. */
function change(
  verb: string,
  done: string,
  run: (visit: Visit, account: Account, domain: Domain) => Promise<void>,
): Page {
  return {
    method: 'POST',
    path: `${ONE}/${verb}`,
    async open(visit) {
      const { account, domain } = await domainIn(visit);
      await run(visit, account, domain);
      return back(account, domain, done);
    },
  };
}

function back(account: Account, { id }: Domain, done: string): RedirectResponse {
  return { kind: 'redirect', to: `${accountPath(account)}/domains/${id}`, done };
}

async function list(visit: Visit): ReturnType<Page['open']> {
  const account = await accountOf(visit);
  const { store } = visit.ctx;
  const path = `${accountPath(account)}/domains`;
  const domains = await longList(visit, path, {
    noun: 'domain',
    part: (part) => store.domains(account.id, part),
    named: (name) => domainAsked(store, account.id, name),
  });
  const body = html`${domains.search}
  ${table(
    [['Domain', 'title'], ['Status', 'state'], ['Added', 'minor'], 'Last check', 'Next check'],
    domains.rows.map((domain) => [
      html`<a href="${path}/${domain.id}">${domain.name}</a>`,
      badge(domain.status),
      time(domain.createdAt),
      time(domain.lastCheckedAt),
      time(wallTimeOrNull(visit.ctx.clock, domain.nextCheckAt)),
    ]),
    domains.none ??
      empty(
        'No domains yet',
        'Add the domain that your emails come from. Its page shows the DNS records to publish, and notices by itself when they are there.',
      ),
  )}
  ${domains.pager}
  ${card(
    'Add a domain',
    form(visit, {
      to: path,
      fields: [
        {
          kind: 'text',
          name: 'name',
          label: 'Domain',
          placeholder: 'example.com',
          required: true,
          maxLength: 253,
          hint: 'What stands behind the @ of your senders. A subdomain such as mail.example.com keeps its reputation apart.',
        },
      ],
      submit: 'Add domain',
    }),
  )}`;
  return { kind: 'page', title: 'Domains', account, body };
}
