/** What signing in says to the operator, to the log and to the audit log, each whole. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';

import { createDashboard, type Dashboard } from '../../src/dashboard/dashboard.ts';
import type { Operator } from '../../src/store/people.ts';
import { openFixture, type Fixture } from '../flow/fixture.ts';

const PASSWORD = ' a pass phrase with space ';
const PEER = '203.0.113.7';

setDefaultTimeout(60_000);

let fixture: Fixture;
let dashboard: Dashboard;
beforeEach(async () => {
  fixture = await openFixture();
  await make('admin');
  dashboard = createDashboard(fixture.ctx, {} as Parameters<typeof createDashboard>[1]);
  fixture.logged.length = 0;
});
afterEach(() => fixture.close());

/** A hash that takes no time to check. */
const quick = (password: string): Promise<string> =>
  Bun.password.hash(password, { algorithm: 'bcrypt', cost: 4 });

/** An operator with the password of this test. */
async function make(name: string, accountId: string | null = null): Promise<void> {
  const { ctx, clock } = fixture;
  const passwordHash = await quick(PASSWORD);
  const rest = { sealedTotp: null, recoveryCodes: 0, createdAt: 0, signedInAt: null };
  const id = ctx.ids.next(clock.now());
  await ctx.store.createOperator({ id, name, role: 'admin', accountId, passwordHash, ...rest }, 10);
}

const other = async (): Promise<Operator> => ({ passwordHash: await quick('x') }) as Operator;

interface Said {
  status: number;
  alert: string | null;
  location: string | null;
  cookie: string | null;
  /** Where the form that is shown again leads to. */
  to: string | null;
}

/** Posts the sign-in form. */
async function signIn(fields: Record<string, string>, peer: string | null = PEER): Promise<Said> {
  const request = new Request('http://mail.example/dashboard/sign-in', {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin', 'content-length': '100' },
    body: new URLSearchParams(fields),
  });
  const response = await dashboard(request, peer);
  const text = await response.text();
  return {
    status: response.status,
    alert: /role="alert">([^<]*)</.exec(text)?.[1] ?? null,
    location: response.headers.get('location') ?? null,
    cookie: response.headers.get('set-cookie')?.replace(/=[^;]+/, '=…') ?? null,
    to: /name="to" value="([^"]*)"/.exec(text)?.[1] ?? null,
  };
}

const refused = (status: number, alert: string, to = '/dashboard'): Said => ({
  status,
  alert,
  location: null,
  cookie: null,
  to,
});
const taken = (location: string): Said => ({
  status: 303,
  alert: null,
  location,
  cookie: 'postrider_session=…; Path=/dashboard; Max-Age=43200; HttpOnly; SameSite=Strict',
  to: null,
});
const WRONG = refused(401, 'The name, the password or the code is wrong.');
const line = (level: string, event: string, fields: object): Record<string, unknown> => ({
  time: new Date(fixture.clock.now()).toISOString(),
  level,
  event,
  ...fields,
});

test('who signs in is logged, noted with the time, and in the audit log with account and address', async () => {
  const { ctx, clock } = fixture;
  const { account } = await fixture.sender();
  await make('anna', account.id);
  await clock.advance(1_000);
  // What people read is the time of the host, which may have been set since the start.
  clock.jump(3_600_000);
  const to = '/dashboard/queue?domain=x';
  expect(await signIn({ name: ' Anna ', password: PASSWORD, to })).toEqual(taken(to));
  expect(await signIn({ password: PASSWORD }, null)).toEqual(taken('/dashboard'));
  expect(fixture.logged).toEqual([
    line('info', 'dashboard_sign_in', { peer: PEER, operator: 'anna' }),
    line('info', 'dashboard_sign_in', { peer: '', operator: 'admin' }),
  ]);
  const operators = await ctx.store.operators();
  expect(operators.map(({ name, signedInAt }) => [name, signedInAt])).toEqual([
    ['admin', clock.now()],
    ['anna', clock.now()],
  ]);
  const entry = { at: clock.now(), via: 'dashboard', action: 'sign_in', target: '' };
  expect(await ctx.store.audit({ limit: 10, before: null, who: null })).toEqual([
    { ...entry, seq: 2, who: 'admin', accountId: null, address: '' },
    { ...entry, seq: 1, who: 'anna', accountId: account.id, address: PEER },
  ] as never);
});

test('a password is taken as it is, with its spaces', async () => {
  expect(await signIn({ password: PASSWORD.trim() })).toEqual(WRONG);
  expect(await signIn({ name: 'nobody', password: PASSWORD })).toEqual(WRONG);
  expect(await signIn({})).toEqual(WRONG);
  const wrong = line('warn', 'dashboard_sign_in_refused', { peer: PEER, reason: 'wrong' });
  expect(fixture.logged).toEqual([wrong, wrong, wrong]);
  expect(await fixture.ctx.store.audit({ limit: 10, before: null, who: null })).toEqual([]);
});

test('the tenth wrong password is answered, the eleventh is not even checked', async () => {
  let checks = 0;
  fixture.ctx.store.operatorNamed = () => {
    checks += 1;
    return other();
  };
  for (let guesses = 0; guesses < 10; guesses += 1) expect(await signIn({})).toEqual(WRONG);
  const to = '/dashboard/queue';
  expect(await signIn({ to })).toEqual(
    refused(429, 'Too many wrong passwords. Try again in a minute.', to),
  );
  expect(checks).toBe(10);
  expect(fixture.logged.at(-1)).toEqual(
    line('warn', 'dashboard_sign_in_refused', { peer: PEER, reason: 'slow_down' }),
  );
});

test('while two are checked and sixteen wait, the next is told to come back in a moment', async () => {
  const { store } = fixture.ctx;
  const gate = Promise.withResolvers<void>();
  store.operatorNamed = () => gate.promise.then(other);
  const waiting = Array.from({ length: 18 }, (_, at) => signIn({}, `198.51.100.${at}`));
  const to = '/dashboard/queue';
  expect(await signIn({ to })).toEqual(
    refused(503, 'Too many sign-in attempts right now. Try again in a moment.', to),
  );
  expect(fixture.logged).toEqual([
    line('warn', 'dashboard_sign_in_refused', { peer: PEER, reason: 'busy' }),
  ]);
  gate.resolve();
  expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([401]));
});
