/** The cases of canned.test.ts about what an account has: domains, suppressions and webhook endpoints. */
import type { ResultOf } from '../../src/control/operations.ts';
import { reply } from './canned.ts';
import type { Case } from './canned.ts';

const T = Date.parse('2026-11-21T09:30:00.000Z');
const at = (minutes: number): number => T + minutes * 60_000;

const DOMAIN: ResultOf<'domain.add'>['domain'] = {
  id: 'dom-1',
  name: 'shop.example',
  status: 'failed',
  createdAt: at(1),
  verifiedAt: at(2),
  lastCheckedAt: at(3),
};
type DnsRecord = ResultOf<'domain.rotate_key'>['record'];
const record = (kind: DnsRecord['record'], group: DnsRecord['group']): DnsRecord => ({
  record: kind,
  type: 'TXT',
  name: `${kind.toLowerCase()}.shop.example`,
  value: `value of ${kind}`,
  ttl: 'Auto',
  status: kind === 'SPF' ? 'verified' : 'not_started',
  purpose: `Purpose of ${kind}`,
  required: kind !== 'DMARC',
  group,
});
const DKIM = record('DKIM', 'dkim');
const RECORDS = [DKIM, record('SPF', 'sending'), record('DMARC', 'dmarc')];
const CHECKED = RECORDS.map((one) => ({
  ...one,
  found: one.record === 'SPF',
  reason: one.record === 'DKIM' ? 'Another key is published there.' : null,
}));

const SUPPRESSION: ResultOf<'suppression.add'> = {
  id: 'sup-1',
  accountId: 'acc-1',
  email: 'ann@x.example',
  reason: 'complaint',
  source: 'operator',
  note: 'by phone',
  createdAt: at(4),
};

const ENDPOINT: ResultOf<'webhook.add'>['endpoint'] = {
  id: 'end-1',
  url: 'https://hooks.example/mail',
  events: ['email.sent', 'email.bounced'],
  status: 'disabled',
  failureCount: 7,
  lastFailureAt: at(5),
};

export const RESOURCE_CASES: Case[] = [
  {
    line: 'domain add shop.example --account shop',
    replies: [reply('domain.add', { domain: { ...DOMAIN, status: 'pending' }, records: RECORDS })],
  },
  {
    line: 'domain list --account shop',
    replies: [
      reply('domain.list', [
        { ...DOMAIN, account: 'shop' },
        { ...DOMAIN, id: 'dom-2', verifiedAt: null, lastCheckedAt: null, account: 'other' },
      ]),
    ],
  },
  { line: 'domain list', replies: [reply('domain.list', [])] },
  {
    line: 'domain records shop.example --account shop',
    replies: [reply('domain.records', { domain: DOMAIN, records: RECORDS })],
  },
  {
    line: 'domain verify shop.example',
    replies: [
      reply('domain.verify', {
        domain: DOMAIN,
        isDnsReady: true,
        isProven: false,
        records: CHECKED,
      }),
    ],
  },
  {
    line: 'domain verify dom-1 --account shop',
    replies: [
      reply('domain.verify', {
        domain: { ...DOMAIN, status: 'verified' },
        isDnsReady: false,
        isProven: true,
        records: CHECKED.slice(1),
      }),
    ],
  },
  {
    line: 'domain rotate-key shop.example',
    replies: [
      reply('domain.rotate_key', {
        domain: DOMAIN,
        record: DKIM,
        activated: false,
        old_record: null,
      }),
    ],
  },
  {
    // The record of an earlier change is still there.
    line: 'domain rotate-key dom-1',
    replies: [
      reply('domain.rotate_key', {
        domain: DOMAIN,
        record: DKIM,
        activated: false,
        old_record: {
          name: 'old._domainkey.shop.example',
          removable_at: '2026-11-28T09:30:00.000Z',
        },
      }),
    ],
  },
  {
    line: 'domain rotate-key dom-1 --activate --account shop',
    replies: [
      reply('domain.rotate_key', {
        domain: DOMAIN,
        record: DKIM,
        activated: true,
        old_record: {
          name: 'old._domainkey.shop.example',
          removable_at: '2026-11-28T09:30:00.000Z',
        },
      }),
    ],
  },
  {
    line: 'domain remove shop.example',
    replies: [reply('domain.remove', { id: 'dom-1', name: 'shop.example' })],
  },
  {
    line: 'suppression list --account shop',
    replies: [
      reply('suppression.list', null, {
        chunks: [
          JSON.stringify([SUPPRESSION]),
          JSON.stringify([{ ...SUPPRESSION, email: 'b@x.example', source: null, note: null }]),
        ],
      }),
    ],
  },
  { line: 'suppression list', replies: [reply('suppression.list', null)] },
  {
    line: 'suppression add Ann@x.example --reason complaint --note phone --account shop',
    replies: [reply('suppression.add', SUPPRESSION)],
  },
  {
    line: 'suppression add a@x.example',
    replies: [reply('suppression.add', { ...SUPPRESSION, source: null, note: null })],
  },
  {
    line: 'suppression remove Ann@x.example --note asked --account shop',
    replies: [reply('suppression.remove', { email: 'ann@x.example', status: 'removed' })],
  },
  {
    line: 'recipient list --account shop',
    replies: [
      reply('recipient.list', null, {
        chunks: [
          JSON.stringify([{ email: 'ann@x.example', createdAt: at(1) }]),
          JSON.stringify([{ email: 'ben@x.example', createdAt: at(2) }]),
        ],
      }),
    ],
  },
  { line: 'recipient list', replies: [reply('recipient.list', null, { chunks: ['[]'] })] },
  {
    line: 'recipient confirm Ann@x.example --account shop',
    replies: [reply('recipient.confirm', { email: 'ann@x.example', isNew: true })],
  },
  {
    line: 'recipient confirm ann@x.example',
    replies: [reply('recipient.confirm', { email: 'ann@x.example', isNew: false })],
  },
  {
    line: 'recipient remove Ann@x.example --account shop',
    replies: [reply('recipient.remove', { email: 'ann@x.example', status: 'removed' })],
  },
  {
    line: 'webhook add https://hooks.example/mail --event email.sent --event email.bounced --account shop',
    replies: [reply('webhook.add', { endpoint: ENDPOINT, secret: 'whsec_abc', createdAt: at(7) })],
  },
  {
    line: 'webhook add https://hooks.example/mail',
    replies: [
      reply('webhook.add', {
        endpoint: { ...ENDPOINT, events: [] },
        secret: 'whsec_abc',
        createdAt: at(7),
      }),
    ],
  },
  {
    line: 'webhook list --account shop',
    replies: [
      reply('webhook.list', [
        ENDPOINT,
        { ...ENDPOINT, id: 'end-2', events: [], lastFailureAt: null },
      ]),
    ],
  },
  { line: 'webhook list', replies: [reply('webhook.list', [])] },
  {
    line: 'webhook test end-1 --account shop',
    replies: [
      reply('webhook.test', {
        id: 'evt-1',
        ok: true,
        statusCode: 204,
        durationMs: 41,
        error: null,
      }),
    ],
  },
  {
    line: 'webhook test end-1',
    replies: [
      reply('webhook.test', {
        id: 'evt-1',
        ok: false,
        statusCode: 502,
        durationMs: 41,
        error: 'status 502',
      }),
    ],
  },
  {
    line: 'webhook test end-2',
    replies: [
      reply('webhook.test', {
        id: 'evt-1',
        ok: false,
        statusCode: null,
        durationMs: 42,
        error: 'it timed out',
      }),
    ],
  },
  {
    line: 'webhook replay end-1 --event evt-1 --account shop',
    replies: [reply('webhook.replay', { replayed: 1 })],
  },
  {
    line: 'webhook replay end-1 --since 2026-11-21T03:00:00Z',
    replies: [reply('webhook.replay', { replayed: 12 })],
  },
];
