/**
 * Sending domains of an account: add, show the DNS records to publish, check now, remove.
 *
 * The work is in flow/domains.
 */
import { sendTestEmail } from '../../flow/accept/test-email.ts';
import { allRecords, type DnsRecord } from '../../flow/domains/records.ts';
import { addDomain, domainOf, removeDomain, verifyDomain } from '../../flow/domains/domains.ts';
import type { Account, Domain } from '../../store/rows.ts';
import { accountOf } from './accounts.ts';
import { html, type Html } from '../frame/html.ts';
import { action } from '../frame/action.ts';
import { accountPath } from '../frame/navigation.ts';
import { facts, table } from '../frame/table.ts';
import { badge, time } from '../frame/values.ts';
import { field, type Page, type PageResponse, param } from '../frame/visit.ts';

export const domainPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/accounts/:account/domains',
    async open(visit) {
      const account = await accountOf(visit);
      const domains = await visit.ctx.store.domains(account.id);
      const path = `${accountPath(account)}/domains`;
      const body = html`${table(
          ['Domain', 'Status', 'Added', 'Last check', 'Next check'],
          domains.map((domain) => [
            html`<a href="${path}/${domain.id}">${domain.name}</a>`,
            badge(domain.status),
            time(domain.createdAt),
            time(domain.lastCheckedAt),
            time(domain.nextCheckAt),
          ]),
          'No domains yet.',
        )}
        <h2>New domain</h2>
        <form method="post" action="${path}">
          <label>Name <input name="name" placeholder="example.com" required /></label>
          <button>Add domain</button>
        </form>`;
      return { kind: 'page', title: 'Domains', account, body };
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/domains',
    mainField: 'name',
    async open(visit) {
      const account = await accountOf(visit);
      const { id } = await addDomain(visit.ctx, account, field(visit, 'name'));
      return { kind: 'redirect', to: `${accountPath(account)}/domains/${id}`, done: 'added' };
    },
  },
  {
    method: 'GET',
    path: '/accounts/:account/domains/:id',
    async open(visit) {
      const account = await accountOf(visit);
      const domain = await domainOf(visit.ctx, account.id, param(visit, 'id'));
      return detail(account, domain, allRecords(visit.ctx.config.startup.hostname, domain), null);
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/domains/:id/verify',
    async open(visit) {
      const account = await accountOf(visit);
      const check = await verifyDomain(visit.ctx, account.id, param(visit, 'id'));
      const words = check.isDnsReady
        ? 'All required DNS records were found.'
        : 'Some required DNS records were not found yet. DNS changes can take some time to become visible.';
      return detail(account, check.domain, check.records, words);
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/domains/:id/test',
    mainField: 'to',
    async open(visit) {
      const { ctx, parts } = visit;
      const account = await accountOf(visit);
      const domain = await domainOf(ctx, account.id, param(visit, 'id'));
      const id = await sendTestEmail(ctx, parts.queue, account, domain, field(visit, 'to'));
      return { kind: 'redirect', to: `${accountPath(account)}/emails/${id}` };
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/domains/:id/remove',
    async open(visit) {
      const account = await accountOf(visit);
      await removeDomain(visit.ctx, account.id, param(visit, 'id'));
      return { kind: 'redirect', to: `${accountPath(account)}/domains`, done: 'removed' };
    },
  },
];

type ShownRecord = DnsRecord & { reason?: string | null };

function detail(
  account: Account,
  domain: Domain,
  records: readonly ShownRecord[],
  words: string | null,
): PageResponse {
  const path = `${accountPath(account)}/domains/${domain.id}`;
  const body = html`${words !== null && html`<p class="notice" role="status">${words}</p>`}
    ${facts([
      ['Status', badge(domain.status)],
      ['Added', time(domain.createdAt)],
      ['Verified', time(domain.verifiedAt)],
      ['Last check', time(domain.lastCheckedAt)],
      ['Next check', time(domain.nextCheckAt)],
    ])}
    <h2>DNS records to publish</h2>
    ${table(
      ['', 'Type', 'Name', 'Value', 'Status'],
      records.map((record) => [
        html`${record.record}<br /><span class="soft"
            >${record.required ? 'required' : 'recommended'}</span
          >`,
        record.type,
        html`<code>${record.name}</code>`,
        html`<code class="long">${record.value}</code>
          <p class="soft">${record.purpose}</p>`,
        html`${badge(record.status)} ${record.reason}`,
      ]),
      'No records.',
    )}
    <p>${action(`${path}/verify`, 'Check now')}</p>
    ${domain.status === 'verified' && testForm(path)} ${removal(path, domain)}`;
  return { kind: 'page', title: domain.name, account, body };
}

function testForm(path: string): Html {
  return html`<h2>Send a test email</h2>
    <form method="post" action="${path}/test">
      <label>To <input type="email" name="to" required /></label>
      <button class="plain">Send</button>
    </form>`;
}

function removal(path: string, domain: Domain): Html {
  return html`<details>
    <summary class="soft">Remove this domain</summary>
    <p>
      New emails from ${domain.name} are refused from now on. Emails that were already accepted are
      still delivered.
    </p>
    ${action(`${path}/remove`, `Remove ${domain.name}`, 'danger')}
  </details>`;
}
