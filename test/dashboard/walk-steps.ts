/** The steps of the walk over the dashboard, in order: every page, and every form with what it takes and what it refuses. */

import type { Step } from './walk-transcript.ts';

type Form = Record<string, string>;

const get = (part: string, ...paths: string[]): Step[] => paths.map((path) => ({ part, path }));
const post = (part: string, path: string, form: Form = {}, as?: string): Step => ({
  part,
  method: 'POST',
  path,
  form,
  ...(as !== undefined && { as }),
});

const A = '/accounts/{account}';
const ENDPOINT = `${A}/webhooks/{endpoint}`;
const EMAIL = `${A}/emails/{rich}`;

export const STEPS: readonly Step[] = [
  ...get('start', '', '?period=30d', '?period=7d&account={account}', '/nowhere'),
  ...get('start', '/nodes', '/test-email'),
  post('start', '/test-email', { domain: '', to: 'ann@receiver.example' }),
  post('start', '/test-email', { domain: 'sender.example', to: 'no address' }),
  ...get('start', '/halt'),
  post('start', '/halt', { reason: '' }),
  post('start', '/halt', { reason: 'Moving <b>away</b>' }),
  ...get('start', '/halt', `${A}/usage`),
  post('start', '/resume'),
  ...get('start', '?done=resumed'),

  ...get('emails', `${A}/emails`, `${A}/emails?status=bounced`, `${A}/emails?status=wrong`),
  ...get('emails', `${A}/emails?q=grüße`, `${A}/emails?q=nothing&status=failed&from=2026-11-21`),
  ...get('emails', `${A}/emails?after={complained}`, `${A}/emails?before={bounced}`),
  ...get('emails', `${A}/emails.csv`, `${A}/emails/{nobody}`, '/accounts/{nobody}/emails'),
  ...get('email', EMAIL, `${EMAIL}?tab=text`, `${EMAIL}?tab=source`, `${EMAIL}?tab=headers`),
  ...get(
    'email',
    `${EMAIL}/html`,
    `${EMAIL}/source`,
    `${EMAIL}/attachments/0`,
    `${EMAIL}/attachments/9`,
  ),
  ...['delivered', 'bounced', 'complained', 'delayed', 'failed', 'suppressed'].flatMap((end) =>
    get('email-ends', `${A}/emails/{${end}}`),
  ),
  post('email', `${A}/emails/{delivered}/send-again`, {}),
  post('email', `${A}/emails/{nobody}/send-again`, {}),

  ...get('inbox', '/inbox', '/inbox/1', '/inbox/1?tab=check', '/inbox/1?tab=links'),
  ...get('inbox', '/inbox/1?tab=source', '/inbox/1?tab=spam', '/inbox/99', '/inbox/x'),
  ...get(
    'inbox',
    '/inbox/1/html',
    '/inbox/1/source',
    '/inbox/1/attachments/0',
    '/inbox?q=ann',
    '/inbox?q=nobody',
  ),
  post('inbox', '/inbox/1/remove'),
  post('inbox', '/inbox/1/remove'),
  post('inbox', '/inbox/clear'),
  ...get('inbox', '/inbox'),

  ...get('queue', '/queue', '/queue?domain=receiver.example', '/queue?account={account}'),
  post('queue', '/queue/retry', { domain: 'receiver.example' }),
  post('queue', '/queue/fail', { id: '{nobody}' }),

  ...get('accounts', '/accounts', `${A}/edit`),
  post('accounts', '/accounts', { name: '', plan: '' }),
  post('accounts', '/accounts', { name: 'default', plan: '' }),
  post('accounts', '/accounts', { name: 'second', plan: 'nowhere' }),
  post('accounts', '/accounts', { name: 'second', plan: 'unlimited' }, 'second'),
  post('accounts', '/accounts/{second}/edit', { name: 'default', plan: 'unlimited' }),
  post('accounts', '/accounts/{second}/edit', { name: 'third', plan: 'unlimited' }),
  post('accounts', '/accounts/{second}/pause', { reason: 'Too <many> bounces' }),
  post('accounts', '/accounts/{second}/payment-required', { reason: '' }),
  ...get('accounts', '/accounts', '/accounts/{second}/edit', '/accounts/{second}/usage'),
  ...get('accounts', '/accounts/{second}/emails', '/accounts/{second}/domains'),
  ...get('accounts', '/accounts/{second}/webhooks', '/accounts/{second}/suppressions'),
  ...get('accounts', '/accounts/{second}/keys', '/accounts/{second}/logs'),
  post('accounts', '/accounts/{second}/resume'),

  ...get('domains', `${A}/domains`),
  post('domains', `${A}/domains`, { name: 'not a domain' }),
  post('domains', `${A}/domains`, { name: 'sender.example' }),
  post('domains', `${A}/domains`, { name: 'new.example' }, 'domain'),
  ...get('domains', `${A}/domains`, `${A}/domains/{domain}`, `${A}/domains/{domain}/zone`),
  ...get('domains', `${A}/domains/{nobody}`),
  post('domains', `${A}/domains/{domain}/test`, { to: 'ann@receiver.example' }),
  post('domains', `${A}/domains/{domain}/activate`),
  post('domains', `${A}/domains/{domain}/remove`),
  post('domains', `${A}/domains/{domain}/remove`),
  ...get('domains', `${A}/domains?done=removed`),

  ...get('webhooks', `${A}/webhooks`, ENDPOINT, `${A}/webhooks/{nobody}`),
  post('webhooks', `${A}/webhooks`, { endpoint: 'http://hook.example/' }),
  post('webhooks', `${A}/webhooks`, { endpoint: 'https://127.0.0.1/', events: 'email.sent' }),
  post('webhooks', `${A}/webhooks`, { endpoint: 'https://hook.example/', events: 'wrong' }),
  post('webhooks', `${A}/webhooks`, { endpoint: 'https://hook.example/', events: 'email.sent' }),
  post('webhooks', `${A}/webhooks`, { endpoint: 'https://nowhere.example/' }),
  post('webhooks', `${ENDPOINT}/edit`, { endpoint: 'nothing' }),
  post('webhooks', `${ENDPOINT}/enable`),
  post('webhooks', `${ENDPOINT}/replay`, {}),
  post('webhooks', `${ENDPOINT}/replay`, { event_id: '{nobody}' }),
  post('webhooks', `${ENDPOINT}/replay`, { hours: '24' }),
  post('webhooks', `${ENDPOINT}/replay`, { since: '2026-11-21T09:00' }),
  post('webhooks', `${ENDPOINT}/replay`, { since: 'yesterday' }),
  post('webhooks', `${ENDPOINT}/disable`),
  post('webhooks', `${ENDPOINT}/rotate-secret`),
  ...get('webhooks', ENDPOINT, `${ENDPOINT}/attempts/{nobody}`),
  post('webhooks', `${ENDPOINT}/remove`),
  ...get('webhooks', `${A}/webhooks?done=removed`),

  ...get('suppressions', `${A}/suppressions`, `${A}/suppressions/import`),
  post('suppressions', `${A}/suppressions`, { email: 'nobody' }),
  post('suppressions', `${A}/suppressions`, { email: 'Ann@Receiver.example', note: 'asked <us>' }),
  post('suppressions', `${A}/suppressions`, { email: 'ann@receiver.example' }),
  post('suppressions', `${A}/suppressions/import`, { csv: '' }),
  ...get('suppressions', `${A}/suppressions`, `${A}/suppressions?q=ann`, `${A}/suppressions?q=x1`),
  ...get('suppressions', `${A}/suppressions?reason=manual`, `${A}/suppressions/export`),
  post('suppressions', `${A}/suppressions/remove`, { email: 'ann@receiver.example' }),
  post('suppressions', `${A}/suppressions/remove`, { email: 'ann@receiver.example' }),

  ...get('recipients', `${A}/recipients`),
  post('recipients', `${A}/recipients`, { email: 'nobody' }),
  post('recipients', `${A}/recipients`, { email: 'Ann@Receiver.example' }),
  ...get('recipients', `${A}/recipients?done=confirmed`),
  post('recipients', `${A}/recipients/remove`, { email: 'ann@receiver.example' }),
  post('recipients', `${A}/recipients/remove`, { email: 'ann@receiver.example' }),

  ...get('keys', `${A}/keys`),
  post('keys', `${A}/keys`, { name: '', permission: 'full_access' }),
  post('keys', `${A}/keys`, { name: 'shop <1>', permission: 'sending_access' }),
  post('keys', `${A}/keys`, { name: 'tests', permission: 'full_access', environment: 'test' }),
  ...get('keys', `${A}/keys`),
  post('keys', `${A}/keys/{nobody}/rename`, { name: 'x' }),
  post('keys', `${A}/keys/{nobody}/revoke`),

  ...get('logs', `${A}/logs`, `${A}/logs?status=2`, `${A}/logs?status=404&method=GET`),
  ...get('logs', `${A}/logs?q=emails`, `${A}/logs/{log}`, `${A}/logs/{nobody}`),

  ...get('people', '/operators', '/profile', '/audit'),
  post('people', '/operators', { name: '', role: 'admin' }),
  post('people', '/operators', { name: 'admin', role: 'admin' }),
  post('people', '/operators', { name: 'Reader', role: 'read_only', account: '{account}' }),
  ...get('people', '/operators'),
  post('people', '/operators/reader/totp-reset'),
  post('people', '/operators/admin/remove'),
  post('people', '/operators/reader/remove'),
  post('people', '/operators/nobody/remove'),
  post('people', '/profile/password', { password: 'wrong', new_password: 'correct horse battery' }),
  post('people', '/profile/second-factor', { secret: 'JBSWY3DPEHPK3PXP', code: '1' }),
  post('people', '/profile/second-factor/off', { password: 'wrong' }),
  ...get('people', '/audit'),

  ...get('settings', '/settings', '/settings/config'),
];
