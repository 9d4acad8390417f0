/** `domain`: sending domains and the DNS records that their owners publish. */
import { domainCheck, domainDetail, domainSummary } from '../api/shapes/domain-answers.ts';
import type { Owned } from '../control/accounts.ts';
import type { PublicDomain } from '../control/domains.ts';
import type { DnsRecord } from '../flow/domain-records.ts';
import type { DomainVerification } from '../flow/domains.ts';
import type { Call, Group } from './command.ts';
import { paragraph, table, when } from './layout.ts';
import { operate } from './operate.ts';

interface WithRecords {
  domain: PublicDomain;
  records: DnsRecord[];
}

const chosen = (call: Call): Record<string, unknown> => ({
  name: call.word(0),
  account: call.flag('account'),
});

/** One record a block; name and value stand whole, to be copied: a DKIM value is far longer than a line. */
function showRecords(records: (DnsRecord & { found?: boolean; reason?: string | null })[]): string {
  const blocks = records.map((record) => {
    const need = record.required ? 'required' : 'recommended';
    const lines = [`${record.record}, ${need}, ${record.status}`, `  ${record.purpose}`];
    lines.push(`  ${record.type} ${record.name}`, `  ${record.value}`);
    if (typeof record.reason === 'string') lines.push(`  ${paragraph(record.reason, 2)}`);
    return lines.join('\n');
  });
  return blocks.join('\n\n');
}

export const domain: Group = {
  add: {
    synopsis: 'add NAME [--account A]',
    does: 'Adds a sending domain and shows the DNS records to publish.',
    words: [1, 1],
    flags: { account: 'text' },
    async run(call) {
      const args = { name: call.word(0), account: call.flag('account') };
      const made = (await operate(call, 'domain.add', args)) as WithRecords;
      const next = `\n\nThen: postrider domain verify ${made.domain.name}`;
      call.print(
        domainDetail(made.domain, made.records.slice(0, 2), call.config()),
        showRecords(made.records) + next,
      );
    },
  },
  list: {
    synopsis: 'list [--account A]',
    does: 'Sending domains.',
    flags: { account: 'text' },
    async run(call) {
      const args = { account: call.flag('account') };
      const all = (await operate(call, 'domain.list', args)) as Owned<PublicDomain>[];
      const rows = all.map((one) => [
        [one.name, one.account, one.status],
        [one.id, when(one.lastCheckedAt)],
      ]);
      const headings = [
        ['NAME', 'ACCOUNT', 'STATUS'],
        ['ID', 'LAST CHECKED (UTC)'],
      ];
      const config = call.config();
      const listed = all.map((one) => ({ ...domainSummary(one, config), account: one.account }));
      call.print(listed, table(headings, rows, 'There is no domain.'));
    },
  },
  records: {
    synopsis: 'records NAME [--account A]',
    does: 'The DNS records to publish, and how each was last seen.',
    words: [1, 1],
    flags: { account: 'text' },
    async run(call) {
      const found = (await operate(call, 'domain.records', chosen(call))) as WithRecords;
      call.print(found.records, showRecords(found.records));
    },
  },
  verify: {
    synopsis: 'verify NAME [--account A]',
    does: 'Looks at the DNS now.',
    words: [1, 1],
    flags: { account: 'text' },
    async run(call) {
      const seen = (await operate(call, 'domain.verify', chosen(call))) as Omit<
        DomainVerification,
        'domain'
      > & { domain: PublicDomain };
      const { name, status } = seen.domain;
      call.print(domainCheck(seen), `${showRecords(seen.records)}\n\n${name} is ${status}.`);
    },
  },
  remove: {
    synopsis: 'remove NAME [--account A]',
    does: 'Ends sending from it at once; what was accepted is still delivered.',
    words: [1, 1],
    flags: { account: 'text' },
    async run(call) {
      const removed = (await operate(call, 'domain.remove', chosen(call))) as {
        id: string;
        name: string;
      };
      call.print({ ...removed, status: 'revoked' }, `${removed.name} is removed.`);
    },
  },
};
