/** A form is answered once all that it asked for is done: what a page says was done is done, also with a slow store. */
import { expect, test } from 'bun:test';

import { UNLIMITED } from '../../../src/base/config.ts';
import type { Page } from '../../../src/dashboard/frame/visit.ts';
import { PAGES } from '../../../src/dashboard/pages/routes.ts';
import type { Operator } from '../../../src/store/people.ts';
import { newDomain, newEndpoint, newMessage, newSuppression } from '../../store/samples.ts';
import { account, clock, visitOf } from '../drawn/page.ts';

const PASSWORD = 'long enough for anyone';
const operator = {
  id: 'op',
  name: 'ben',
  role: 'admin',
  accountId: null,
  passwordHash: Bun.password.hashSync(PASSWORD, {
    algorithm: 'argon2id',
    memoryCost: 8,
    timeCost: 1,
  }),
  sealedTotp: new Uint8Array(1),
} as unknown as Operator;

/** What the verbs of the store and of other parts come to. */
const RESULTS: Readonly<Record<string, unknown>> = {
  account,
  accounts: [account],
  changeAccount: 'changed',
  createAccount: 'created',
  createKey: 'created',
  createOperator: 'created',
  createDomain: 'created',
  createEndpoint: 'created',
  domain: { ...newDomain('acc', 'x.example'), id: 'dom', status: 'verified' },
  domains: [],
  endpoint: { ...newEndpoint('acc'), id: 'hook', createdAt: 0 },
  endpoints: [],
  message: newMessage('acc', { id: 'mail' }).message,
  operatorNamed: operator,
  operators: [operator, { ...operator, id: 'other' }],
  recipientById: {},
  missCalls: null,
  replayCalls: { calls: [], next: null },
  suppression: newSuppression('acc', 'a@x.example'),
  retry: 1,
  fail: 1,
};
/** Changes of one row, which say whether there was one. */
const FOUND = /^(?:rename|revoke|remove|delete)/;

/** A verb that takes a while; `open` has those that are not done. */
async function slowly(open: Set<string>, verb: string): Promise<unknown> {
  open.add(verb);
  await new Promise((resolve) => setImmediate(resolve));
  open.delete(verb);
  return verb in RESULTS ? RESULTS[verb] : FOUND.test(verb);
}

/** What is still being done when the form at this pattern is answered, and what was asked for. */
async function answered(path: string, form: Record<string, string>): Promise<[string, string[]]> {
  const open = new Set<string>();
  const part = new Proxy(
    {},
    {
      get: (_, verb) =>
        typeof verb === 'string' && verb !== 'then' ? () => slowly(open, verb) : undefined,
    },
  );
  const nothing = (): void => undefined;
  const visit = visitOf({
    form,
    params: { id: 'dom', name: 'ben' },
    operator: { ...operator, name: 'anna' },
    ctx: {
      config: { live: { plans: new Map([['unlimited', UNLIMITED]]), api: { keyPrefix: 'pr' } } },
      halt: part,
      identities: { forget: nothing },
      senderDomains: { forget: nothing },
      ids: { next: () => 'new' },
      clock,
      log: { info: nothing },
      store: part,
    },
    parts: {
      vitals: part,
      queue: {
        retry: () => slowly(open, 'retry'),
        fail: () => slowly(open, 'fail'),
        setResting: nothing,
      },
      webhooks: { endpointChanged: nothing },
    },
  });
  const page = PAGES.find((one: Page) => one.method === 'POST' && one.path === path);
  const answer = await page?.open(visit);
  return [answer?.kind ?? 'none', [...open]];
}

const A = '/accounts/:account';
test.each([
  ['/halt', { reason: 'x' }],
  ['/resume'],
  ['/queue/retry', { id: 'r' }],
  ['/queue/fail', { id: 'r' }],
  ['/accounts', { name: 'new' }],
  [`${A}/edit`, { name: 'new', plan: 'unlimited' }],
  [`${A}/pause`, { reason: 'x' }],
  [`${A}/payment-required`],
  [`${A}/resume`],
  [`${A}/domains/:id/remove`],
  [`${A}/keys`, { name: 'k' }],
  [`${A}/keys/:id/rename`, { name: 'k' }],
  [`${A}/keys/:id/revoke`],
  [`${A}/suppressions`, { email: 'a@x.example' }],
  [`${A}/suppressions/remove`, { email: 'a@x.example' }],
  [`${A}/webhooks/:id/remove`],
  [`${A}/webhooks/:id/enable`],
  [`${A}/webhooks/:id/disable`],
  ['/operators', { name: 'new' }],
  ['/operators/:name/password'],
  ['/operators/:name/totp-reset'],
  ['/operators/:name/remove'],
  ['/profile/password', { password: PASSWORD, new_password: `${PASSWORD} too` }],
  ['/profile/second-factor/off', { password: PASSWORD }],
  ['/settings/check'],
] as [string, Record<string, string>?][])(
  '%s %j leaves nothing to be done',
  async (path, form = {}) => {
    const [kind, open] = await answered(path, form);
    expect(['redirect', 'page']).toContain(kind);
    expect(open).toEqual([]);
  },
);

test('a fault of the store while a password is set is no fault of the password', async () => {
  const fault = new Error('the disk is gone');
  const page = PAGES.find(({ path }) => path === '/profile/password');
  const store = {
    operatorNamed: () => Promise.resolve(operator),
    setOperatorPassword: () => Promise.reject(fault),
  };
  const form = { password: PASSWORD, new_password: `${PASSWORD} too` };
  expect(page?.open(visitOf({ store, form, operator }))).rejects.toBe(fault);
});
