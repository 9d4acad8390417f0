/** `domain`: sending domains and the DNS records that their owners publish. */
import { domainCheck, domainDetail, domainSummary } from '../api/shapes/domain-response.ts';
import type { ResultOf } from '../control/operations.ts';
import { ACCOUNT, OF_ACCOUNT, ONLY_ACCOUNT } from './account-option.ts';
import type { Call, Group } from './command.ts';
import { paragraph, table, when } from './layout.ts';
import { operate } from './operate.ts';
import { argument, flag } from './parameter.ts';

type DnsRecord = ResultOf<'domain.records'>['records'][number];

const NEW_NAME = argument('NAME', 'Domain to send from, for example example.com');
const NAME = argument('NAME', 'Name or id of the domain');

const ACTIVATE = flag('activate', 'Sign with the new key, once DNS shows its record');

const chosen = (call: Call) => ({ name: call.get(NAME), account: call.get(OF_ACCOUNT) });

/** One block per record. Name and value are never wrapped, so that they can be copied: a DKIM value is long. */
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

async function list(call: Call): Promise<void> {
  const all = await operate(call, 'domain.list', { account: call.get(ONLY_ACCOUNT) });
  const rows = all.map((one) => [
    [one.name, one.account, one.status],
    [one.id, when(one.lastCheckedAt)],
  ]);
  const headings = [
    ['NAME', 'ACCOUNT', 'STATUS'],
    ['ID', 'LAST CHECKED (UTC)'],
  ];
  const { region } = call.config().live.api;
  const listed = all.map((one) => ({ ...domainSummary(one, region), account: one.account }));
  call.print(listed, table(headings, rows, 'There are no domains.'));
}

async function rotateKey(call: Call): Promise<void> {
  const done = await operate(call, 'domain.rotate_key', {
    ...chosen(call),
    activate: call.get(ACTIVATE),
  });
  const { domain: named, record, old_record: old } = done;
  const next =
    !done.activated || old === null
      ? `Publish this record and leave the present one, then run: postrider domain rotate-key ${named.name} --activate`
      : `${named.name} signs with this key from now on. Leave the record ${old.name} in DNS until ${old.removable_at}: mail on its way was signed with its key.`;
  call.print(
    { domain: named.name, record, activated: done.activated, old_record: old },
    `${showRecords([record])}\n\n${next}`,
  );
}

export const domain: Group = {
  summary: 'Add, verify and remove sending domains',
  actions: {
    add: {
      summary: 'Add a sending domain',
      details:
        'Shows the DNS records to publish. The domain can send once they are published and verified.',
      parameters: [NEW_NAME, ACCOUNT],
      async run(call) {
        const args = { name: call.get(NEW_NAME), account: call.get(ACCOUNT) };
        const made = await operate(call, 'domain.add', args);
        const next = `Publish these records, then run: postrider domain verify ${made.domain.name}`;
        call.print(
          domainDetail(made.domain, made.records.slice(0, 2), call.config().live.api.region),
          `${showRecords(made.records)}\n\n${next}`,
        );
      },
    },
    list: {
      summary: 'List the sending domains',
      parameters: [ONLY_ACCOUNT],
      run: list,
    },
    records: {
      summary: 'Show the DNS records of a domain',
      details: 'With the state in which the last check found each.',
      parameters: [NAME, OF_ACCOUNT],
      async run(call) {
        const found = await operate(call, 'domain.records', chosen(call));
        call.print(found.records, showRecords(found.records));
      },
    },
    verify: {
      summary: 'Check the DNS records of a domain now',
      details: 'Ends with 0 when the domain is verified and with 1 while it is not.',
      parameters: [NAME, OF_ACCOUNT],
      async run(call) {
        const seen = await operate(call, 'domain.verify', chosen(call));
        const { name, status } = seen.domain;
        call.print(domainCheck(seen), `${showRecords(seen.records)}\n\n${name} is ${status}.`);
        return status === 'verified' ? 0 : 1;
      },
    },
    'rotate-key': {
      summary: 'Change the DKIM key of a domain, in two steps',
      details:
        'First without --activate: makes a second key and shows its DNS record, while the present key goes on signing. Publish the record beside the present one, then run it again with --activate.',
      parameters: [NAME, ACTIVATE, OF_ACCOUNT],
      run: rotateKey,
    },
    remove: {
      summary: 'Stop sending from a domain at once',
      details: 'Mail that was accepted before is still delivered.',
      parameters: [NAME, OF_ACCOUNT],
      async run(call) {
        const removed = await operate(call, 'domain.remove', chosen(call));
        call.print({ ...removed, status: 'revoked' }, `Removed domain ${removed.name}.`);
      },
    },
  },
};
