/**
 * How one sending domain is shown: what to publish beside what DNS shows, what DMARC needs next, the change of its key.
 *
 * Reads what the last check has stored and never asks DNS itself, so that opening the page costs nobody a query. While
 * a domain waits for its records the page updates itself.
 */
import { wallTimeOrNull } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { dmarcAdvice } from '../../flow/domains/dmarc-advice.ts';
import { allRecords, type DnsRecord } from '../../flow/domains/records.ts';
import { rotationOf } from '../../flow/domains/rotation.ts';
import { relativeName, zoneOf } from '../../flow/domains/zone-file.ts';
import type { SeenRecord } from '../../store/domains.ts';
import type { Account, Domain } from '../../store/rows.ts';
import { action, confirm } from '../frame/action.ts';
import { difference } from '../frame/difference.ts';
import { form } from '../frame/form.ts';
import { html, type Html, type HtmlValue } from '../frame/html.ts';
import { accountPath } from '../frame/navigation.ts';
import { card, facts } from '../frame/table.ts';
import { badge, copyable, time } from '../frame/values.ts';
import type { PageResponse, Visit } from '../frame/visit.ts';

const LIVE_SECONDS = 5;

export async function domainView(
  visit: Visit,
  account: Account,
  domain: Domain,
): Promise<PageResponse> {
  const { ctx } = visit;
  const path = `${accountPath(account)}/domains/${domain.id}`;
  const seen = await ctx.store.seenRecords(account.id, domain.id);
  const records = allRecords(ctx.config.startup.cluster.name, domain);
  const body = html`${progress(visit.ctx.clock, domain)}
    ${card(
      'DNS records',
      html`<p class="soft">
          Publish these at the provider of ${zoneOf(domain.name)}. Some providers want the full
          name, most the short one.
        </p>
        ${records.map((record) => recordView(domain, record, seen[record.record]))}`,
      html`<a href="${path}/zone">Download as a zone file</a>`,
    )}
    <div class="columns">
      ${domain.status === 'verified' && testCard(path, visit)}
      ${card('DKIM key', await rotation(visit, path, domain))}
    </div>
    ${confirm(visit, {
      to: `${path}/remove`,
      label: 'Remove this domain',
      words: `New emails from ${domain.name} are refused from now on. Emails that were already accepted are still delivered.`,
      sure: `Remove ${domain.name}`,
    })}`;
  return {
    kind: 'page',
    title: domain.name,
    account,
    body,
    up: { label: 'Domains', href: `${accountPath(account)}/domains` },
    tools: action(visit, `${path}/verify`, 'Check now', 'primary'),
    ...(domain.status === 'pending' && { liveSeconds: LIVE_SECONDS }),
  };
}

function progress(clock: Clock, domain: Domain): Html {
  const { status, lastCheckedAt, verifiedAt } = domain;
  const failingSince = wallTimeOrNull(clock, domain.failingSince);
  const nextCheckAt = wallTimeOrNull(clock, domain.nextCheckAt);
  return html`${facts([
    ['Status', html`${badge(status)} ${wordsOf(domain)}`],
    ['Verified', time(verifiedAt)],
    ['A record missing since', status === 'verified' && time(failingSince)],
    ['Last check', time(lastCheckedAt) ?? 'not yet'],
    ['Next check', time(nextCheckAt)],
    ['Id', copyable(domain.id, 'Copy the id')],
  ])}`;
}

function wordsOf({ status, failingSince }: Domain): string {
  if (status === 'pending') {
    return 'Waiting for the required records. This page updates itself; DNS is asked again by itself, and by "Check now".';
  }
  if (status === 'failed') {
    return 'Emails from it are refused. Publish the missing records, then press "Check now".';
  }
  return failingSince === null
    ? 'Emails from it are accepted and signed.'
    : 'A required record is missing: after three days its emails are refused.';
}

function recordView(domain: Domain, record: DnsRecord, seen: SeenRecord | undefined): Html {
  const zone = zoneOf(domain.name);
  const state = stateOf(record, seen);
  return html`<section class="record">
    <h3>
      ${record.record} <span class="soft">${record.type}</span>
      <span class="soft">${record.required ? 'required' : 'recommended'}</span> ${badge(state)}
    </h3>
    <p class="soft">${record.purpose}</p>
    ${facts([
      ['Name', copyable(record.name, `Copy the name of the ${record.record} record`)],
      [
        'Short name',
        html`${copyable(relativeName(record.name, zone), `Copy the short name of the ${record.record} record`)}
          <span class="soft">in the zone ${zone}</span>`,
      ],
      ['Value', copyable(record.value, `Copy the value of the ${record.record} record`)],
      ['Found', state !== 'verified' && foundView(record, seen)],
      [
        'Problem',
        seen?.problem != null && html`<span class="bad-text">${sentence(seen.problem)}</span>`,
      ],
      ['Advice', record.record === 'DMARC' && dmarcView(domain, seen)],
    ])}
  </section>`;
}

/** What the last check says of a record; its stored state where nothing was seen yet. */
function stateOf(record: DnsRecord, seen: SeenRecord | undefined): string {
  if (seen === undefined) return record.status;
  if (seen.problem === null) return 'verified';
  return seen.values.length > 0 ? 'wrong' : 'missing';
}

function foundView(record: DnsRecord, seen: SeenRecord | undefined): HtmlValue {
  if (seen === undefined) return html`<span class="soft">DNS was not asked yet.</span>`;
  if (seen.values.length === 0) return html`<span class="soft">nothing</span>`;
  return html`<ul class="plain-list">
    ${seen.values.map((value) => html`<li>${difference(record.value, value)}</li>`)}
  </ul>`;
}

/** What is published is shown with its advice, since a good record need not be the one that we propose. */
function dmarcView(domain: Domain, seen: SeenRecord | undefined): Html {
  const { level, words } = dmarcAdvice(domain.name, seen);
  const published = seen?.problem === null ? seen.values[0] : undefined;
  return html`${published !== undefined && html`<code>${published}</code> <br />`} ${badge(level)}
  ${words}`;
}

function sentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

function testCard(path: string, visit: Visit): Html | null {
  return card(
    'Send a test email',
    form(visit, {
      to: `${path}/test`,
      fields: [
        {
          kind: 'text',
          type: 'email',
          name: 'to',
          label: 'To',
          required: true,
          hint: 'An address of yours. It is live mail: it counts against the plan, and bounces count too.',
        },
      ],
      submit: 'Send',
    }),
  );
}

async function rotation(visit: Visit, path: string, domain: Domain): Promise<Html> {
  const { ctx } = visit;
  const { next, old } = await rotationOf(ctx, domain);
  const removable = old !== null && old.removableAt <= ctx.clock.now();
  return html`<p>
      Mail is signed with the selector <code>${domain.selector}</code>. A new key is made in two
      steps, so that mail verifies at every moment.
    </p>
    ${
      old !== null &&
      html`<p>
        The record of the key before, <code>${old.selector}._domainkey.${domain.name}</code>,
        ${removable ? 'may be removed now.' : html`stays in DNS until ${time(old.removableAt)}.`}
      </p>`
    }
    ${
      next === null
        ? confirm(visit, {
            to: `${path}/rotate`,
            label: 'Make a new key',
            words:
              'A second key is made, and its record is shown. The present key goes on signing.',
            sure: 'Make a new key',
            kind: 'plain',
          })
        : html`<section class="record">
              <h3>Step 2: publish the new key, then use it</h3>
              ${facts([
                ['Name', copyable(next.name, 'Copy the name of the new record')],
                [
                  'Short name',
                  copyable(
                    relativeName(next.name, zoneOf(domain.name)),
                    'Copy the short name of the new record',
                  ),
                ],
                ['Value', copyable(next.value, 'Copy the value of the new record')],
              ])}
            </section>
            ${action(visit, `${path}/activate`, 'Check it and sign with the new key', 'primary')}`
    }`;
}
