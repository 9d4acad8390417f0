/**
 * A running appliance, in capture mode unless a test says otherwise, with its dashboard, and an operator who uses it by HTTP.
 *
 * Promises a verified domain `sender.example` and an account `default`. `visit` and `submit` carry the
 * session's cookie; `submit` also what a browser sends with a form of the same page.
 */
import { addDomain } from '../../src/flow/domains/domains.ts';
import { resetAdminPassword } from '../../src/flow/people/operators.ts';
import { type RigAppliance, startRigAppliance } from '../rig/appliance.ts';

export interface Seen {
  status: number;
  headers: Headers;
  text: string;
}

export interface DashboardRig {
  rig: RigAppliance;
  /** Base URL of the dashboard. */
  url: string;
  password: string;
  cookie: string;
  /** Path of the account's pages. */
  account: string;
  visit(path: string, headers?: Record<string, string>): Promise<Seen>;
  submit(
    path: string,
    fields?: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Seen>;
  /** Sends by the API; returns the id. */
  send(email: Record<string, unknown>): Promise<string>;
  stop(): Promise<void>;
}

/** `delivery`: TOML inside `[delivery]`, instead of capture mode. */
export async function startDashboardRig(
  options: NonNullable<Parameters<typeof startRigAppliance>[0]> & { delivery?: string } = {},
): Promise<DashboardRig> {
  const delivery = options.delivery ?? 'mode = "capture"';
  const config = `${options.config ?? ''}\n[delivery]\n${delivery}\n`;
  const rig = await startRigAppliance({ ...options, config });
  const { ctx } = rig.appliance;
  const password = await resetAdminPassword(ctx);
  const account = await ctx.store.account(rig.account);
  if (account === null) throw new Error('the rig has no account');
  const domain = await addDomain(ctx, account, 'sender.example');
  const now = ctx.clock.now();
  await ctx.store.finishDomainCheck({
    id: domain.id,
    now,
    status: 'verified',
    recordStates: { DKIM: 'verified', SPF: 'verified' },
    verifiedAt: now,
    nextCheckAt: null,
    failingSince: null,
    pendingSince: now,
  });
  const url = `${rig.url}/dashboard`;
  const answer = await fetch(`${url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ password }),
  });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  return {
    rig,
    url,
    password,
    cookie,
    account: `/accounts/${rig.account}`,
    visit: (path, headers = {}) =>
      seen(fetch(url + path, { redirect: 'manual', headers: { cookie, ...headers } })),
    submit: (path, fields = {}, headers = { 'sec-fetch-site': 'same-origin' }) =>
      seen(
        fetch(url + path, {
          method: 'POST',
          redirect: 'manual',
          headers: { cookie, ...headers },
          body: new URLSearchParams(fields),
        }),
      ),
    async send(email) {
      const sent = await fetch(`${rig.url}/emails`, {
        method: 'POST',
        headers: { authorization: `Bearer ${rig.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(email),
      });
      const body = (await sent.json()) as { id?: string };
      if (body.id === undefined) throw new Error(`not sent: ${JSON.stringify(body)}`);
      return body.id;
    },
    stop: () => rig.stop(),
  };
}

async function seen(answer: Promise<Response>): Promise<Seen> {
  const response = await answer;
  return { status: response.status, headers: response.headers, text: await response.text() };
}
