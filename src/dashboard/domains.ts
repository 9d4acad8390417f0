/** Sending domains of an account: adding, the records to publish, checking now, removing. */
import { allRecords, type DnsRecord } from '../flow/domain-records.ts';
import { addDomain, domainOf, removeDomain, verifyDomain } from '../flow/domains.ts';
import type { Account, Domain } from '../store/rows.ts';
import { accountOf } from './accounts.ts';
import { html, type Html } from './html.ts';
import { accountPath, action, badge, facts, table, time } from './layout.ts';
import { field, type Page, type PageAnswer, param } from './visit.ts';

export const domainPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/accounts/:account/domains',
    async open(visit) {
      const account = await accountOf(visit);
      const domains = await visit.ctx.store.domains(account.id);
      const path = `${accountPath(account)}/domains`;
      const body = html`${table(
          ['Domain', 'Status', 'Added (UTC)', 'Last check (UTC)', 'Next check (UTC)'],
          domains.map((domain) => [
            html`<a href="${path}/${domain.id}">${domain.name}</a>`,
            badge(domain.status),
            time(domain.createdAt),
            time(domain.lastCheckedAt),
            time(domain.nextCheckAt),
          ]),
          'No sending domain yet.',
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
      return detail(account, domain, allRecords(visit.ctx, domain), null);
    },
  },
  {
    method: 'POST',
    path: '/accounts/:account/domains/:id/verify',
    async open(visit) {
      const account = await accountOf(visit);
      const check = await verifyDomain(visit.ctx, account.id, param(visit, 'id'));
      const words = check.isDnsReady
        ? 'All required records are there.'
        : 'Not all required records were found yet; DNS changes can take a while to be seen.';
      return detail(account, check.domain, check.records, words);
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
): PageAnswer {
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
      ['', 'Type', 'Name', 'Value', 'State'],
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
    ${removal(path, domain)}`;
  return { kind: 'page', title: domain.name, account, body };
}

function removal(path: string, domain: Domain): Html {
  return html`<details>
    <summary class="soft">Remove this domain</summary>
    <p>New sends from ${domain.name} stop at once. What was accepted before is still delivered.</p>
    ${action(`${path}/remove`, `Remove ${domain.name}`, 'danger')}
  </details>`;
}
