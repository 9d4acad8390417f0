/**
 * What every form of the dashboard answers: where it leads and what it says when it was done, and what stands at the top
 * of its page when a field was wrong. In the order of the rows, on one appliance.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { PAGES } from '../../src/dashboard/pages/routes.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { addDomain } from '../../src/flow/domains/domains.ts';
import { addEndpoint } from '../../src/flow/webhooks/endpoints.ts';
import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';

let rig: DashboardRig;
/** What stands for an id in the rows. */
let ids: Record<string, string>;

beforeAll(async () => {
  rig = await startDashboardRig({
    config: '[webhooks]\nallow_networks = ["192.0.2.0/24"]\n[[plans]]\nid = "small"\n',
  });
  const { ctx } = rig.rig.appliance;
  const account = await ctx.store.account(rig.rig.account);
  if (account === null) throw new Error('the rig has no account');
  const verified = (await ctx.store.domains(account.id))[0];
  const pending = await addDomain(ctx, account, 'pending.example');
  const { key } = await createKey(ctx, account.id, { name: 'k', permission: 'full_access' });
  const hook = { url: 'https://192.0.2.7/h', events: ['email.sent'] };
  const { endpoint } = await addEndpoint(ctx, account.id, hook);
  const email = { from: 'a@sender.example', to: 'b@x.example', subject: 's', text: 't' };
  ids = {
    ACCOUNT: account.id,
    VERIFIED: verified?.id ?? '',
    PENDING: pending.id,
    KEY: key.id,
    HOOK: endpoint.id,
    EMAIL: await rig.send(email),
  };
});
afterAll(() => rig.stop());

const filled = (text: string): string =>
  Object.entries(ids).reduce((all, [name, id]) => all.replaceAll(`{${name}}`, id), text);
const named = (text: string): string =>
  Object.entries(ids)
    .reduce((all, [name, id]) => all.replaceAll(id, `{${name}}`), text)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');

/** The sentences in boxes at the top of a page. */
function notices(page: string): string {
  return Array.from(
    page.matchAll(/<p class="notice[^"]*"[^>]*>([\s\S]*?)<\/p>/g),
    ([, words = '']) =>
      words
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .replaceAll('&quot;', '"')
        .trim(),
  ).join(' | ');
}

const A = '/accounts/{ACCOUNT}';
const SENT = 'Accepted. What happens to it is shown below.';
const NO_DOMAIN = 'Choose a verified domain.';
const NAME =
  'name must have 1 to 60 characters, not spaces alone, without control characters or changes of text direction.';
const NO_PLAN = 'There is no plan "nope"; the config has: unlimited, small.';
const EVENTS =
  'events must be among email.sent, email.delivered, email.bounced, email.complained, email.failed, email.delivery_delayed, email.opened, email.clicked.';
const OPERATOR_NAME =
  'name must have 1 to 60 characters: lower-case letters, digits and . _ @ + -, with a letter or digit first.';
const WHICH_CALLS = 'Choose a period, or enter a time or the webhook-id of an event.';
const SECRET = 'Copy the signing secret now. It is shown only once.';
const HAND_OVER =
  'Hand the password over now. It is shown only once; bob can choose another one after signing in.';
const WRONG_PASSWORD = 'The present password is wrong.';

type Fields = Readonly<Record<string, string>>;
type Row = readonly [path: string, fields: Fields, answer: number | string, words: string];

/** `answer`: the path that it leads to, or the status of the page that comes back. */
const ROWS: readonly Row[] = [
  ['/halt', {}, '?done=halted', 'Sending halted: new sends are refused and deliveries are paused.'],
  ['/resume', {}, '?done=resumed', 'Sending resumed.'],
  ['/test-email', { to: 'x@y.example', domain: '' }, 422, NO_DOMAIN],
  ['/test-email', { to: 'x@y.example', domain: '{PENDING}' }, 422, NO_DOMAIN],
  ['/test-email', { to: 'x', domain: '{VERIFIED}' }, 422, 'to must be of the form name@domain.'],
  ['/test-email', { to: 'x@y.example', domain: '{VERIFIED}' }, `${A}/emails/ID?done=sent`, SENT],
  [
    '/queue/retry',
    { id: 'x' },
    '/queue?done=retried&count=0',
    'Recipients scheduled for delivery now: 0.',
  ],
  [
    '/queue/retry',
    { id: 'x', at: 'x.example' },
    '/queue?domain=x.example&done=retried&count=0',
    'Recipients scheduled for delivery now: 0.',
  ],
  ['/queue/fail', {}, 404, 'There is no such recipient.'],
  ['/queue/fail', { id: 'x' }, 404, 'There is no such recipient.'],
  ['/nodes/drain', {}, 404, 'This node takes part no longer.'],
  ['/inbox/99/remove', {}, 404, 'This message is no longer in the inbox.'],
  ['/accounts', { name: '' }, 422, NAME],
  ['/accounts', { name: 'n'.repeat(61) }, 422, NAME],
  ['/accounts', { name: 'default' }, 409, 'There is an account named "default" already.'],
  ['/accounts', { name: 'two', plan: 'nope' }, 422, NO_PLAN],
  [
    '/accounts',
    { name: 'two', plan: 'small' },
    '/accounts/ID/domains?done=account_added',
    'The account was created. It sends when it has a verified domain and a key.',
  ],
  [`${A}/edit`, { name: '', plan: 'small' }, 422, NAME],
  [`${A}/edit`, { name: 'two', plan: 'small' }, 409, 'There is an account named "two" already.'],
  [`${A}/edit`, { name: 'one', plan: 'nope' }, 422, NO_PLAN],
  [`${A}/edit`, { name: 'one', plan: 'small' }, '/accounts?done=saved', 'Saved.'],
  [`${A}/pause`, { reason: 'r' }, '/accounts?done=saved', 'Saved.'],
  [`${A}/payment-required`, {}, '/accounts?done=saved', 'Saved.'],
  [`${A}/resume`, {}, '/accounts?done=saved', 'Saved.'],
  [`${A}/emails/none/send-again`, {}, 404, 'There is no such email.'],
  [`${A}/emails/{EMAIL}/send-again`, {}, `${A}/emails/ID?done=sent`, SENT],
  [`${A}/domains`, { name: 'x' }, 422, 'name must be a domain name such as example.com.'],
  [
    `${A}/domains`,
    { name: 'sender.example' },
    409,
    'This account has the domain sender.example already.',
  ],
  [
    `${A}/domains`,
    { name: 'New.example' },
    `${A}/domains/ID?done=domain_added`,
    'Added. Publish the records below; the page notices when they are there.',
  ],
  [
    `${A}/domains/{PENDING}/rotate`,
    {},
    `${A}/domains/{PENDING}?done=key_made`,
    'A new key was made. Publish its record, then use it.',
  ],
  [
    `${A}/domains/{VERIFIED}/activate`,
    {},
    409,
    'sender.example has no new key: run postrider domain rotate-key sender.example first, without --activate.',
  ],
  [`${A}/domains/{VERIFIED}/test`, { to: 'x' }, 422, 'to must be of the form name@domain.'],
  [`${A}/domains/{VERIFIED}/test`, { to: 'x@y.example' }, `${A}/emails/ID?done=sent`, SENT],
  [
    `${A}/domains/{PENDING}/test`,
    { to: 'x@y.example' },
    403,
    'The pending.example domain is not verified. Please publish its DNS records and verify it.',
  ],
  [`${A}/domains/none/remove`, {}, 404, 'There is no such domain.'],
  [`${A}/domains/{PENDING}/remove`, {}, `${A}/domains?done=removed`, 'Removed.'],
  [`${A}/webhooks`, { endpoint: 'http://x' }, 422, 'endpoint: the URL must begin with https://.'],
  [
    `${A}/webhooks`,
    { endpoint: 'https://10.0.0.1/' },
    422,
    'endpoint: the host does not lead to a public address.',
  ],
  [`${A}/webhooks`, { endpoint: 'https://192.0.2.8/h', events: 'email.lost' }, 422, EVENTS],
  [`${A}/webhooks`, { endpoint: 'https://192.0.2.8/h' }, 200, `The endpoint was added. ${SECRET}`],
  [`${A}/webhooks/{HOOK}/edit`, { endpoint: 'x' }, 422, 'endpoint: not a valid URL.'],
  [
    `${A}/webhooks/{HOOK}/edit`,
    { endpoint: 'https://192.0.2.9/h' },
    `${A}/webhooks/{HOOK}?done=saved`,
    'Saved.',
  ],
  [
    `${A}/webhooks/{HOOK}/disable`,
    {},
    `${A}/webhooks/{HOOK}?done=endpoint_disabled`,
    'Disabled. Its calls wait.',
  ],
  [
    `${A}/webhooks/{HOOK}/enable`,
    {},
    `${A}/webhooks/{HOOK}?done=enabled`,
    'Enabled. Pending calls continue.',
  ],
  [`${A}/webhooks/{HOOK}/replay`, {}, 422, WHICH_CALLS],
  [`${A}/webhooks/{HOOK}/replay`, { hours: 'x' }, 422, WHICH_CALLS],
  [
    `${A}/webhooks/{HOOK}/replay`,
    { since: 'x' },
    422,
    'Enter a date and a time, such as 2026-11-21T09:30.',
  ],
  ...[{ hours: '24' }, { event_id: 'x' }, { since: '2026-11-21T09:30' }].map((fields): Row => [
    `${A}/webhooks/{HOOK}/replay`,
    fields as Fields,
    `${A}/webhooks/{HOOK}?done=replayed&count=0`,
    'Events scheduled for delivery again: 0.',
  ]),
  [
    `${A}/webhooks/{HOOK}/rotate-secret`,
    {},
    200,
    `Calls also carry a signature of the old secret for 24 hours. ${SECRET}`,
  ],
  [`${A}/webhooks/none/remove`, {}, 404, 'There is no such webhook endpoint in this account.'],
  [`${A}/webhooks/{HOOK}/remove`, {}, `${A}/webhooks?done=removed`, 'Removed.'],
  [`${A}/recipients`, { email: 'x' }, 422, 'email must be of the form name@domain.'],
  [
    `${A}/recipients`,
    { email: 'q@y.example' },
    `${A}/recipients?done=confirmed`,
    'Confirmed. The account may mail this address.',
  ],
  [
    `${A}/recipients/remove`,
    { email: 'z@y.example' },
    404,
    'z@y.example is not a confirmed recipient.',
  ],
  [`${A}/recipients/remove`, { email: 'q@y.example' }, `${A}/recipients?done=removed`, 'Removed.'],
  [`${A}/suppressions`, { email: 'x' }, 422, 'email must be of the form name@domain.'],
  [
    `${A}/suppressions`,
    { email: 'X@y.example', note: 'n' },
    `${A}/suppressions?done=added`,
    'Added.',
  ],
  [`${A}/suppressions/remove`, { email: 'q@y.example' }, 404, 'q@y.example is not suppressed.'],
  [
    `${A}/suppressions/remove`,
    { email: 'x@y.example' },
    `${A}/suppressions?done=removed`,
    'Removed.',
  ],
  [`${A}/suppressions/import`, { csv: '' }, 422, 'Choose a file, or paste addresses.'],
  [`${A}/suppressions/import`, { csv: 'email\na@b.example' }, `${A}/suppressions/import`, ''],
  [`${A}/keys`, { name: '' }, 422, NAME],
  [`${A}/keys`, { name: 'n'.repeat(61) }, 422, NAME],
  [`${A}/keys/{KEY}/rename`, { name: '' }, 422, NAME],
  [`${A}/keys/{KEY}/rename`, { name: 'new' }, `${A}/keys?done=saved`, 'Saved.'],
  [`${A}/keys/none/revoke`, {}, 404, 'There is no such API key.'],
  [`${A}/keys/{KEY}/revoke`, {}, `${A}/keys?done=revoked`, 'Key revoked. It no longer works.'],
  ['/operators', { name: 'A B' }, 422, OPERATOR_NAME],
  ['/operators', { name: 'admin' }, 409, 'There is an operator admin already.'],
  ['/operators', { name: 'bob', account: 'none' }, 404, 'There is no account "none".'],
  ['/operators', { name: 'Bob' }, 200, HAND_OVER],
  ['/operators/none/password', {}, 404, 'There is no operator none.'],
  ['/operators/bob/password', {}, 200, HAND_OVER],
  ['/operators/bob/totp-reset', {}, '/operators?done=saved', 'Saved.'],
  ['/operators/bob/remove', {}, '/operators?done=removed', 'Removed.'],
  ['/operators/admin/remove', {}, 422, 'You cannot remove yourself: let another operator do it.'],
  [
    '/profile/password',
    { password: 'wrong', new_password: 'long enough for anyone' },
    422,
    WRONG_PASSWORD,
  ],
  [
    '/profile/password',
    { password: '{PASSWORD}', new_password: 'fourteen chars' },
    422,
    'A password has at least 15 characters and at most 1024 bytes.',
  ],
  ['/profile/second-factor', { secret: 'x', code: '1' }, 422, WRONG_PASSWORD],
  ['/profile/second-factor/off', { password: 'wrong' }, 422, WRONG_PASSWORD],
  ['/settings/backup', {}, '/settings', ''],
];

test.each(ROWS.map((row): [string, ...Row] => [`${row[0]} ${JSON.stringify(row[1])}`, ...row]))(
  '%s',
  async (_, path, fields, answer, words) => {
    const given = Object.entries(fields).map(([name, value]): [string, string] => [
      name,
      value === '{PASSWORD}' ? rig.password : filled(value),
    ]);
    const seen = await rig.submit(filled(path), Object.fromEntries(given));
    if (typeof answer === 'number') {
      expect([seen.status, notices(seen.text)]).toEqual([answer, words]);
      return;
    }
    const to = (seen.headers.get('location') ?? '').replace('/dashboard', '');
    expect([seen.status, named(to)]).toEqual([303, answer]);
    expect(notices((await rig.visit(to)).text)).toBe(words);
  },
);

/** These wait for DNS or another server, or sign everybody out: their own tests have them. */
const ELSEWHERE = [
  '/inbox/clear',
  '/accounts/:account/domains/:id/verify',
  '/accounts/:account/webhooks/:id/test',
  '/settings/check',
];

test('every form has a row', () => {
  const patterns = PAGES.filter(({ method }) => method === 'POST').map(({ path }) => path);
  const without = patterns.filter((pattern) => {
    const shape = new RegExp(`^${pattern.replaceAll(/:\w+/g, '[^/]+')}$`);
    return !ROWS.some(([path]) => shape.test(path));
  });
  expect(without).toEqual(ELSEWHERE);
});
