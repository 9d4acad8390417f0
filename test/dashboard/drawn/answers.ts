/** What posted forms do, each field of them read or left empty: what they ask of the store and of other parts, and where they lead. */
import { PAGES } from '../../../src/dashboard/pages/routes.ts';
import { UNLIMITED } from '../../../src/base/config.ts';
import { newDomain, newEndpoint, newMessage, newSuppression } from '../../store/samples.ts';
import { ahead, account, clock, type Drawing, opened, visitOf } from './page.ts';

/** Of a verb its result, or what makes it. */
type Verbs = Readonly<Record<string, unknown>>;

/** An object that notes what is asked of it as `name.verb`; files that it is given go to `files`. */
function noting(asked: string[], name: string, verbs: Verbs, files: Blob[] = []): object {
  return new Proxy(
    {},
    {
      get: (_, verb) => {
        if (typeof verb !== 'string' || verb === 'then') return undefined;
        return (...given: unknown[]) => {
          files.push(...given.filter((one) => one instanceof Blob));
          const text = JSON.stringify(given, (key, value: unknown) =>
            /^(?:passwordHash|prefix|last4|data)$/.test(key) || value instanceof Uint8Array
              ? `(${key})`
              : value,
          );
          asked.push(`${name}.${verb} ${text}`);
          return verbs[verb];
        };
      },
    },
  );
}

const TESTED = {
  ok: false,
  statusCode: 500,
  durationMs: 12,
  error: null,
  id: 'e1',
  response: 'No',
};
const MAIL = newMessage('acc', { id: 'mail' }).message;
const PASSWORD = ' a phrase of mine ';
const FOUND = {
  id: 'ben-id',
  name: 'ben',
  role: 'read_only',
  accountId: null,
  passwordHash: Bun.password.hashSync(PASSWORD, { algorithm: 'bcrypt', cost: 4 }),
};
/** Of an account that has as many as it may. */
const FULL: Verbs = {
  createEndpoint: Promise.resolve('too_many'),
  createKey: Promise.resolve('too_many'),
};
const KNOWN: Verbs = {
  account: Promise.resolve(account),
  accounts: Promise.resolve([account]),
  domain: Promise.resolve({ ...newDomain('acc', 'x.example'), id: 'dom' }),
  domains: Promise.resolve([]),
  endpoint: Promise.resolve({ ...newEndpoint('acc'), id: 'hook', createdAt: 0 }),
  message: Promise.resolve(MAIL),
  changeAccount: Promise.resolve('changed'),
  createAccount: Promise.resolve('created'),
  createEndpoint: Promise.resolve('created'),
  createKey: Promise.resolve('created'),
  createOperator: Promise.resolve('created'),
  deleteDomain: Promise.resolve(true),
  deleteEndpoint: Promise.resolve(true),
  messageById: Promise.resolve(null),
  operatorNamed: Promise.resolve(FOUND),
  operators: Promise.resolve([FOUND]),
  recipientById: Promise.resolve({}),
  renameKey: Promise.resolve(true),
  missCalls: Promise.resolve(null),
  replayCalls: Promise.resolve({ calls: [{ id: 'c1' }, { id: 'c2' }], next: null }),
  revokeKey: Promise.resolve(true),
  rotateEndpointSecret: Promise.resolve(true),
  updateEndpoint: Promise.resolve(newEndpoint('acc')),
  suppression: Promise.resolve(newSuppression('acc', 'a@x.example', { reason: 'complaint' })),
};

/** Sends the form to the page at this pattern. */
async function posted(
  path: string,
  form: Record<string, string> = {},
  params: Record<string, string> = {},
  known: Verbs = {},
  at = clock,
): Promise<string> {
  const asked: string[] = [];
  const part = (name: string, verbs: Verbs = {}): object => noting(asked, name, verbs);
  const plans = new Map(['unlimited', 'small'].map((id) => [id, { ...UNLIMITED, id }]));
  const files: Blob[] = [];
  const imports = noting(asked, 'imports', {}, files);
  const visit = visitOf({
    form,
    params: { id: 'one', ...params },
    operator: { id: 'op', name: 'anna' },
    ctx: {
      clock: at,
      config: {
        live: { plans, api: { keyPrefix: 'pr' } },
        startup: { webhooks: { allowNetworks: [] } },
      },
      halt: part('halt'),
      identities: part('identities'),
      ids: { next: () => 'new' },
      log: part('log'),
      secrets: { seal: (_: string, label: string) => label },
      senderDomains: part('senderDomains'),
      subscribers: part('subscribers'),
      store: part('store', { ...KNOWN, ...known }),
    },
    parts: {
      backups: part('backups'),
      capture: part('capture', { captured: [{ number: 7 }], remove: true, clear: 3 }),
      imports,
      queue: part('queue', { retry: Promise.resolve(2), fail: Promise.resolve(1) }),
      vitals: part('vitals'),
      webhooks: part('webhooks', { test: Promise.resolve(TESTED) }),
    },
  });
  const answer = await opened(PAGES, 'POST', path, visit);
  const masked = answer
    .replaceAll(/pr_(live|test)_\w+/g, 'pr_$1_…')
    .replaceAll(/whsec_[\w+/=]+/g, 'whsec_…')
    .replaceAll(/(<code>|data-copy=")[\w-]{24}(?=[<"])/g, '$1…');
  for (const file of files) asked.push(`file ${JSON.stringify(await file.text())}`);
  return [...asked, masked].join('\n').replaceAll(/\$argon2id\$[^"]+/g, '(hash)');
}

const A = '/accounts/:account';
const spaced = ' \t x \n';
const FORMS: readonly (readonly [
  path: string,
  form?: Record<string, string>,
  params?: Record<string, string>,
  known?: Verbs,
])[] = [
  ['/halt', { reason: spaced }],
  ['/halt'],
  ['/resume'],
  ['/queue/retry'],
  ['/queue/retry', { id: ' r1 ' }],
  ['/queue/retry', { id: ' mail ' }, {}, { messageById: Promise.resolve(MAIL) }],
  ['/queue/retry', { domain: ' x.example ' }],
  ['/queue/retry', { id: 'r1', domain: 'x.example', at: ' a&b.example ' }],
  ['/queue/fail', { id: ' r1 ', at: 'x.example' }],
  ['/queue/fail', { id: 'r1' }],
  ['/queue/fail', { id: 'r1' }, {}, { recipientById: Promise.resolve(null) }],
  ['/inbox/clear'],
  ['/inbox/:number/remove', {}, { number: '7' }],
  ['/inbox/:number/remove', {}, { number: '8' }],
  ['/accounts', { name: ' new ', plan: ' small ' }],
  ['/accounts', { name: 'new' }],
  ['/accounts', { name: 'new', plan: 'none' }],
  ['/accounts', { name: 'new' }, {}, { createAccount: Promise.resolve('exists') }],
  [`${A}/edit`, { name: ' new ', plan: ' small ' }],
  [`${A}/edit`, { name: 'new' }],
  [`${A}/pause`, { reason: spaced }],
  [`${A}/pause`, { reason: ' ' }],
  [`${A}/payment-required`, { reason: 'x' }],
  [`${A}/resume`, { reason: 'x' }],
  [`${A}/suppressions`, { email: ' Ann@X.example ', note: spaced }],
  [`${A}/suppressions`, { email: 'ann@x.example', note: ' ' }],
  [`${A}/suppressions/remove`, { email: 'a@x.example', note: spaced }],
  [`${A}/suppressions/remove`, { email: 'a@x.example' }],
  [`${A}/suppressions/import`, { csv: ' ' }],
  [`${A}/suppressions/import`, { csv: ' email,note\na@x.example,By Ann ' }],
  [`${A}/webhooks/:id/replay`, { event_id: ' e1 ', since: '2026-03-01T10:00', hours: '1' }],
  [`${A}/webhooks/:id/replay`, { since: ' 2026-03-01T10:00 ', hours: '1' }],
  [`${A}/webhooks/:id/replay`, { hours: ' 24 ' }],
  [`${A}/webhooks/:id/replay`, { since: '2026-03-01 10:00:30.5' }],
  ...['noon', '5', '1.3.2026', '2026-03-01', '2026-02-30T10:00', '2026-03-01T10:00Z'].map(
    (since) => [`${A}/webhooks/:id/replay`, { since }] as const,
  ),
  [`${A}/webhooks/:id/replay`, { hours: '0' }],
  [`${A}/webhooks/:id/replay`, { hours: 'x' }],
  [`${A}/webhooks/:id/replay`, { hours: '9999' }],
  [`${A}/webhooks/:id/replay`, { hours: '10000' }],
  [`${A}/webhooks/:id/replay`, { hours: '1.5' }],
  [`${A}/webhooks/:id/replay`, { hours: 'Infinity' }],
  [`${A}/webhooks`, { endpoint: ' https://8.8.8.8/in ', events: 'email.sent' }],
  [`${A}/webhooks`, { endpoint: 'https://8.8.8.8/in' }, {}, FULL],
  [`${A}/webhooks/:id/edit`, { endpoint: ' https://8.8.8.8/in ', events: 'email.sent' }],
  [`${A}/webhooks/:id/edit`],
  [`${A}/webhooks/:id/enable`],
  [`${A}/webhooks/:id/disable`],
  [`${A}/webhooks/:id/rotate-secret`],
  [`${A}/webhooks/:id/remove`],
  [`${A}/webhooks/:id/test`],
  [`${A}/keys`, { name: ' k ', permission: 'full_access', environment: 'test' }],
  [`${A}/keys`, { name: 'k', permission: 'other', environment: 'other' }],
  [`${A}/keys`, { name: '' }],
  [`${A}/keys`, { name: 'k' }, {}, FULL],
  [`${A}/keys/:id/rename`, { name: ' new ' }],
  [`${A}/keys/:id/rename`, { name: 'new' }, {}, { renameKey: Promise.resolve(false) }],
  [`${A}/keys/:id/revoke`],
  [`${A}/domains/:id/remove`],
  ['/operators', { name: ' Bob ', role: 'admin', account: ' acc ' }],
  ['/operators', { name: 'bob', role: 'other' }],
  ['/operators', { name: 'bob', account: 'none' }, {}, { account: Promise.resolve(null) }],
  ['/operators/:name/password', {}, { name: 'ben' }],
  ['/operators/:name/totp-reset', {}, { name: 'ben' }],
  ['/operators/:name/remove', {}, { name: 'anna' }],
  ['/operators/:name/remove', {}, { name: 'ben' }],
  ['/profile/password', { password: PASSWORD, new_password: ' 14 and space ' }],
  ['/profile/password', { password: PASSWORD, new_password: ' 15 with spaces ' }],
  ['/profile/password', { password: PASSWORD.trim(), new_password: ' 15 with spaces ' }],
  ['/profile/second-factor', { password: PASSWORD, secret: 'short', code: '123456' }],
  ['/profile/second-factor/off', { password: PASSWORD }],
  ['/profile/second-factor/off'],
  ['/settings/check'],
  ['/settings/backup'],
];

const ANSWERED = FORMS.map(([path, form, params, known]): Drawing => [
  `${path} ${JSON.stringify({ ...form, ...params })}${known === undefined ? '' : ` where ${Object.keys(known).join()} differs`}`,
  () => posted(path, form, params, known),
]);

const REPLAY = `${A}/webhooks/:id/replay`;
export const ANSWERS: readonly Drawing[] = [
  ...ANSWERED,
  [
    'the last hour of a replay, where the time was set',
    () => posted(REPLAY, { hours: '1' }, {}, {}, ahead),
  ],
];
