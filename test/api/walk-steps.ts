/** The requests of walk.test.ts, in their order: each route as it is meant to be used, and as it refuses. */
export interface Step {
  /** Default: GET, and POST with a body. */
  method?: string;
  path: string;
  body?: unknown;
  /** Sent unchanged instead of `body`. */
  raw?: string;
  headers?: Record<string, string>;
  /** The key; default: a full one of the account. */
  by?: 'full' | 'send' | 'sandbox' | 'other' | 'nobody';
  /** Later steps may write {as} for the id in the response or in the first row of its page, {as.request} for the id of
   * the request, and {as.link} for the link to download what the row is of. */
  as?: string;
}

const NONE = '01913c7e-89ab-7cde-8f01-23456789abcd';
const EMAIL = {
  from: 'Shop <a@own.example>',
  to: 'delivered@sandbox.test',
  subject: 's',
  text: 't',
};
const RICH = {
  ...EMAIL,
  to: ['Ann <delivered@sandbox.test>', 'bounced@sandbox.test'],
  cc: 'delivered+c@sandbox.test',
  bcc: ['delivered+b@sandbox.test'],
  reply_to: 'r@own.example',
  html: '<p>h</p>',
  headers: { 'X-Ticket': '17', 'X-List': ['a', 'b'] },
  tags: [{ name: 'kind', value: 'one' }],
  attachments: [
    { filename: "a'b (1).txt", content: 'bm90ZQ==' },
    { filename: 'dot.png', content: 'aGk=', content_id: 'dot' },
  ],
};
const URL = 'https://127.0.0.1/hook';

const GUARD: Step[] = [
  { path: '/nothing', by: 'nobody' },
  { path: '/nothing' },
  { path: '/emails', by: 'nobody' },
  { path: '/emails', headers: { authorization: 'Bearer pr_live_wrong' }, by: 'nobody' },
  { path: '/emails', headers: { authorization: 'Basic eDp5' }, by: 'nobody' },
  { path: '/domains', by: 'send' },
  { path: '/domains', body: { name: 'x.example' }, by: 'sandbox' },
  { path: '/emails', method: 'OPTIONS', by: 'nobody' },
  { path: '/v1/api-keys/x', method: 'OPTIONS', by: 'nobody' },
  { path: '/usage', method: 'DELETE' },
  { path: '/emails', method: 'PUT', body: {} },
  { path: '/usage', method: 'HEAD' },
  { path: '//v1//usage' },
  { path: '/usage' },
  { path: '/emails', raw: '{' },
  { path: '/emails', raw: '' },
  { path: '/emails', raw: '[1' },
  { path: '/emails', body: EMAIL, headers: { 'content-encoding': 'gzip' } },
];

const EMAILS: Step[] = [
  { path: '/emails', body: {}, as: 'refused' },
  { path: '/emails', body: { ...EMAIL, to: 'nobody', from: 3, colour: 'red', subject: '' } },
  { path: '/emails', body: EMAIL, as: 'plain', headers: { 'idempotency-key': 'k' } },
  { path: '/emails', body: EMAIL, headers: { 'idempotency-key': 'k' } },
  { path: '/emails', body: { ...EMAIL, subject: 'x' }, headers: { 'idempotency-key': 'k' } },
  { path: '/emails', body: EMAIL, headers: { 'idempotency-key': '' } },
  { path: '/email', body: EMAIL, by: 'send' },
  { path: '/email/send', body: EMAIL, as: 'older' },
  { path: '/emails', body: RICH, as: 'rich' },
  { path: '/emails', body: { ...EMAIL, from: 'a@foreign.example' } },
  { path: '/emails', body: EMAIL, by: 'sandbox', as: 'sandboxed' },
  { path: '/emails/batch', body: [EMAIL, EMAIL] },
  { path: '/emails/batch', body: [EMAIL, {}], headers: { 'x-batch-validation': 'permissive' } },
  { path: '/emails/batch', body: [EMAIL, {}] },
  { path: '/emails/batch', body: [EMAIL], headers: { 'x-batch-validation': 'loose' } },
  { path: '/emails?limit=2', as: 'list' },
  { path: '/emails?limit=0' },
  { path: '/emails?limit=1&limit=2' },
  { path: '/emails?after=x' },
  { path: `/emails?after=${NONE}&before=${NONE}` },
  { path: '/emails?status=lost' },
  { path: '/emails', by: 'sandbox' },
  { path: '/emails/{rich}' },
  { path: '/emails/{plain}', by: 'other' },
  { path: '/emails/{plain}', by: 'sandbox' },
  { path: `/emails/${NONE}`, as: 'missing' },
  { path: '/emails/{rich}/body' },
  { path: '/emails/{plain}/body' },
  { path: '/emails/{rich}/body', by: 'other' },
  { path: '/emails/{rich}/attachments', as: 'file' },
  { path: '/emails/{rich}/attachments/{file}' },
  { path: '{file.link}', by: 'nobody' },
  { path: '{file.link}x', by: 'nobody' },
  { path: '/emails/{plain}/attachments' },
  { path: `/emails/{rich}/attachments/${NONE}` },
  { path: `/emails/{rich}/attachments/${NONE}/content?expires=1&signature=x`, by: 'nobody' },
  { path: `/emails/${NONE}/attachments/${NONE}/content`, by: 'nobody' },
  { path: '/email?limit=2' },
  { path: '/email?page=0' },
  { path: '/email/{rich}' },
  { path: `/email/${NONE}` },
];

const RESOURCES: Step[] = [
  { path: '/api-keys', body: {} },
  { path: '/api-keys', body: { name: 'ci', domain_id: NONE } },
  { path: '/api-keys', body: { name: 'ci', permission: 'full_access', scope: 'send' } },
  { path: '/api-keys', body: { name: 'ci', scope: 'full' }, as: 'key' },
  { path: '/api-keys', body: { name: 'try' }, by: 'sandbox' },
  { path: '/api-keys' },
  { path: '/api-keys/{key}', method: 'PATCH', body: { name: 'new' } },
  { path: `/api-keys/${NONE}`, method: 'PATCH', body: { name: 'new' } },
  { path: '/api-keys/{key}', method: 'DELETE' },
  { path: `/api-keys/${NONE}`, method: 'DELETE' },
  { path: '/domains', body: {} },
  { path: '/domains', body: { name: 'a.example', domain: 'b.example' } },
  { path: '/domains', body: { name: 'New.example' }, as: 'domain' },
  { path: '/domains', body: { name: 'new.example' } },
  { path: '/domains' },
  { path: '/domains/{domain}' },
  { path: '/domains/{domain}', by: 'other' },
  {
    path: '/domains/{domain}',
    method: 'PATCH',
    body: {
      open_tracking: true,
      click_tracking: true,
      tracking_subdomain: 'x',
      tls: 'enforced',
      capabilities: { sending: 'disabled', receiving: 'enabled' },
    },
  },
  { path: '/domains/{domain}', method: 'PATCH', body: { tls: 'opportunistic' } },
  { path: '/domains/{domain}/verify', method: 'POST' },
  { path: '/domains/{domain}', method: 'DELETE' },
  { path: `/domains/${NONE}`, method: 'DELETE' },
  { path: '/suppressions', body: { email: 'nobody' } },
  { path: '/suppressions', body: { email: 'Ann@x.example' }, as: 'suppression' },
  { path: '/suppressions', body: { email: 'ann@x.example' } },
  { path: '/suppressions/batch/add', body: { emails: ['b@x.example', 'c@x.example'] } },
  { path: '/suppressions/batch/add', body: { emails: ['b@x.example', 'nobody'] } },
  { path: '/suppressions/batch/remove', body: { emails: ['b@x.example', 'z@x.example'] } },
  { path: '/suppressions?limit=1' },
  { path: '/suppressions?after=nobody' },
  { path: '/suppressions?origin=bounce' },
  { path: '/suppressions/ann@x.example' },
  { path: '/suppressions/none@x.example' },
  { path: '/suppressions/{suppression}', method: 'DELETE' },
  { path: '/suppressions/{suppression}', method: 'DELETE' },
  { path: '/webhooks', body: {} },
  { path: '/webhooks', body: { url: URL, endpoint: `${URL}2` } },
  { path: '/webhooks', body: { url: 'http://127.0.0.1/hook' } },
  { path: '/webhooks', body: { endpoint: URL, events: ['email.sent'] }, as: 'hook' },
  { path: '/webhooks' },
  { path: '/webhooks/{hook}' },
  { path: '/webhooks/{hook}', by: 'other' },
  { path: '/webhooks/{hook}', method: 'PATCH', body: { status: 'disabled', events: [] } },
  { path: '/webhooks/{hook}', method: 'PATCH', body: { status: 'enabled' } },
  { path: '/webhooks/{hook}', method: 'PATCH', body: { status: 'off' } },
  { path: '/webhooks/{hook}/enable', method: 'POST' },
  { path: '/webhooks/{hook}/deliveries' },
  { path: '/webhooks/{hook}/replay', body: {} },
  { path: '/webhooks/{hook}/replay', body: { event_id: 'x' } },
  { path: '/webhooks/{hook}/replay', body: { since: 'x' } },
  { path: '/webhooks/{hook}/replay', body: { event_id: NONE } },
  { path: '/webhooks/{hook}/replay', body: { since: '2026-11-21T09:30:00Z' } },
  { path: `/webhooks/{hook}/events/${NONE}/replay`, method: 'POST' },
  { path: '/webhooks/{hook}/rotate-secret', method: 'POST' },
  { path: '/webhooks/{hook}/signing-secret/rotate', method: 'POST' },
  { path: '/webhooks/{hook}', method: 'DELETE' },
  { path: `/webhooks/${NONE}`, method: 'DELETE' },
];

const LOGS: Step[] = [
  { path: '/logs?limit=3' },
  { path: '/logs?status=3' },
  { path: '/logs?method=lost' },
  { path: '/logs?status=429' },
  { path: '/logs?limit=2', by: 'sandbox' },
  { path: '/logs/{rich.request}' },
  { path: '/logs/{plain.request}' },
  { path: '/logs/{key.request}' },
  { path: '/logs/{list.request}' },
  { path: '/logs/{refused.request}' },
  { path: '/logs/{missing.request}' },
  { path: '/logs/{plain.request}', by: 'other' },
  { path: '/logs/{plain.request}', by: 'sandbox' },
  { path: '/logs/{sandboxed.request}', by: 'sandbox' },
  { path: '/usage' },
  { path: '/usage', by: 'sandbox' },
  { path: '/audiences' },
  { path: '/broadcasts', body: {} },
];

export const STEPS: readonly Step[] = [...GUARD, ...EMAILS, ...RESOURCES, ...LOGS];
