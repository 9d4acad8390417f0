/**
 * Who may use the dashboard: sessions and their end, guesses, forms of other sites, and the headers that
 * every response has.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { resetAdminPassword } from '../../src/flow/people/operators.ts';
import { Sessions } from '../../src/dashboard/session.ts';
import { startRigAppliance } from '../rig/appliance.ts';
import { testAuthority } from '../rig/certificates.ts';
import { TestClock } from '../rig/clock.ts';
import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';

const clock = new TestClock(Date.now());
let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig({ clock });
});
afterAll(() => rig.stop());

const PAGES = ['', '/queue', '/inbox', '/accounts', '/halt', '/nothing-here'];

function signIn(password: string): Promise<Response> {
  return fetch(`${rig.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ password }),
  });
}

const isSignInPage = (text: string): boolean => text.includes('name="password"');

describe('sign-in leads to', () => {
  /** Where a right password leads from the sign-in page that `path` shows. */
  async function leadsTo(path: string, method: 'visit' | 'submit' = 'visit'): Promise<string> {
    const asked =
      method === 'visit'
        ? await rig.visit(path, { cookie: '' })
        : await rig.submit(path, {}, { cookie: '', 'sec-fetch-site': 'same-origin' });
    const [, to = ''] = /name="to" value="([^"]*)"/.exec(asked.text) ?? [];
    return await signedInTo(to.replaceAll('&amp;', '&'));
  }

  async function signedInTo(to: string, password = rig.password): Promise<string> {
    const answer = await fetch(`${rig.url}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ password, to }),
    });
    return answer.headers.get('location') ?? (await answer.text());
  }

  test('the page that was asked for, with its query', async () => {
    expect(await leadsTo('/queue?domain=a.example&after=1')).toBe(
      '/dashboard/queue?domain=a.example&after=1',
    );
    expect(await leadsTo('')).toBe('/dashboard');
    expect(await leadsTo('/nothing-here')).toBe('/dashboard');
  });

  test('the page of a form that was sent too late', async () => {
    expect(await leadsTo('/accounts/x/keys/y/revoke', 'submit')).toBe('/dashboard/accounts/x/keys');
  });

  test('it after a wrong password too', async () => {
    expect(await signedInTo('/dashboard/queue', 'wrong')).toContain('value="/dashboard/queue"');
  });

  test.each([
    'https://elsewhere.example/dashboard/x',
    '//elsewhere.example/dashboard/queue',
    'javascript:alert(1)',
    '/dashboard/../health',
    '/dashboardx',
    'not a path',
  ])('nowhere else for %j', async (to) => {
    expect(await signedInTo(to)).toMatch(/^\/dashboard(\/queue)?$/);
  });
});

describe('without a session', () => {
  test.each([...PAGES, '/accounts/x/emails', '/accounts/x/keys'])(
    '%j shows only the sign-in page',
    async (path) => {
      const answer = await rig.visit(path, { cookie: '' });
      expect(isSignInPage(answer.text)).toBe(true);
      expect(answer.text).not.toContain('<nav');
      expect(answer.status).toBe(path === '' ? 200 : 401);
    },
  );

  test('no form is accepted', async () => {
    const before = (await rig.rig.appliance.ctx.store.accounts()).length;
    const answer = await rig.submit(
      '/accounts',
      { name: 'elsewhere' },
      {
        cookie: '',
        'sec-fetch-site': 'same-origin',
      },
    );
    expect(answer.status).toBe(401);
    expect(await rig.rig.appliance.ctx.store.accounts()).toHaveLength(before);
  });

  test.each(['', 'x', 'a.b.c', '99999999999999.nonce.mac', '9.9.9', '.', '1e99.x.y'])(
    'a cookie of %j is none',
    async (value) => {
      const answer = await rig.visit('/queue', { cookie: `postrider_session=${value}` });
      expect(answer.status).toBe(401);
    },
  );

  test('a cookie that was altered anywhere is invalid', async () => {
    const [name, value = ''] = rig.cookie.split('=');
    const parts = value.split('.');
    for (const at of parts.keys()) {
      const altered = parts.with(
        at,
        (parts[at] ?? '').replace(/.$/, (end) => (end === '1' ? '2' : '1')),
      );
      const answer = await rig.visit('/queue', { cookie: `${name}=${altered.join('.')}` });
      expect([at, answer.status]).toEqual([at, 401]);
    }
    expect((await rig.visit('/queue')).status).toBe(200);
  });
});

describe('a session', () => {
  test('comes in a cookie that scripts and other sites cannot use', async () => {
    const answer = await signIn(rig.password);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard']);
    const cookie = answer.headers.get('set-cookie') ?? '';
    for (const word of ['Path=/dashboard', 'HttpOnly', 'SameSite=Strict', 'Max-Age=43200']) {
      expect(cookie).toContain(word);
    }
    expect(cookie).not.toContain('Secure');
  });

  test('has a Secure cookie where the public URL is https', async () => {
    const behind = await startDashboardRig({ config: 'public_url = "https://mail.example.com"' });
    const answer = await behind.submit('/sign-in', { password: behind.password });
    expect(answer.headers.get('set-cookie')).toContain('; Secure');
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000');
    expect((await rig.visit('')).headers.has('strict-transport-security')).toBe(false);
    await behind.stop();
  });

  test('has a Secure cookie where the listener itself speaks TLS, whatever the public URL says', async () => {
    const { certFile, keyFile } = testAuthority().issue(['localhost']);
    const config = `tls_cert = "${certFile}"\ntls_key = "${keyFile}"\npublic_url = "http://mail.example.com"`;
    const tls = await startRigAppliance({ config });
    const password = await resetAdminPassword(tls.appliance.ctx);
    const answer = await fetch(`${tls.url}/dashboard/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ password }),
      tls: { rejectUnauthorized: false },
    });
    expect(answer.headers.get('set-cookie')).toContain('; Secure');
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000');
    await tls.stop();
  });

  test('that was signed out stays so in another process on the same data', async () => {
    const cookie = (await signIn(rig.password)).headers.get('set-cookie')?.split(';')[0] ?? '';
    const request = new Request(rig.url, { headers: { cookie } });
    const { ctx } = rig.rig.appliance;
    expect(await new Sessions(ctx).operatorOf(request)).toMatchObject({ name: 'admin' });
    await new Sessions(ctx).close(request, false);
    expect(await new Sessions(ctx).operatorOf(request)).toBeNull();
    expect(
      await new Sessions(ctx).operatorOf(new Request(rig.url, { headers: { cookie: rig.cookie } })),
    ).toMatchObject({ name: 'admin' });
  });

  test('ends at sign-out, also for a copy of the cookie', async () => {
    const cookie = (await signIn(rig.password)).headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await rig.visit('/queue', { cookie })).status).toBe(200);
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    const answer = await rig.submit('/sign-out', {}, headers);
    expect(answer.headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await rig.visit('/queue', { cookie })).status).toBe(401);
    // Another session stays valid.
    expect((await rig.visit('/queue')).status).toBe(200);
  });

  test('ends when the password is changed, and after twelve hours', async () => {
    const other = await startDashboardRig({ clock });
    expect((await other.visit('/queue')).status).toBe(200);
    await resetAdminPassword(other.rig.appliance.ctx);
    expect((await other.visit('/queue')).status).toBe(401);
    await other.stop();

    const own = new TestClock(Date.now());
    const aged = await startDashboardRig({ clock: own });
    own.pass(12 * 3_600_000 - 1);
    expect((await aged.visit('/queue')).status).toBe(200);
    own.pass(1);
    expect((await aged.visit('/queue')).status).toBe(401);
    await aged.stop();
  });

  test('is refused for a wrong password, and guessing is limited', async () => {
    const answers = [];
    for (let at = 0; at < 11; at += 1) answers.push((await signIn('guess')).status);
    expect(answers).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    // Even the right password is refused, so that the limit reveals nothing.
    expect((await signIn(rig.password)).status).toBe(429);
    clock.pass(60_001);
    expect((await signIn(rig.password)).status).toBe(303);
  });
});

describe('a form', () => {
  const post = (headers: Record<string, string>) =>
    rig.submit(`${rig.account}/suppressions`, { email: 'form@receiver.example' }, headers);

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling host', { 'sec-fetch-site': 'same-site' }],
    ['nowhere', { 'sec-fetch-site': 'none' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin', {}],
    ['a null origin', { origin: 'null' }],
    ['another site, with our origin', { 'sec-fetch-site': 'cross-site', origin: 'OURS' }],
  ])('from %s is refused', async (_name, headers) => {
    const sent = JSON.parse(JSON.stringify(headers).replace('OURS', new URL(rig.url).origin));
    expect((await post(sent)).status).toBe(403);
    const { store } = rig.rig.appliance.ctx;
    expect(await store.suppression(rig.rig.account, 'form@receiver.example')).toBeNull();
  });

  test('from our own page is accepted, by either header', async () => {
    expect((await post({ 'sec-fetch-site': 'same-origin' })).status).toBe(303);
    expect((await post({ origin: new URL(rig.url).origin })).status).toBe(303);
    // Behind a proxy: the public address.
    const { publicUrl } = rig.rig.appliance.ctx.config.live.http;
    expect((await post({ origin: new URL(publicUrl).origin })).status).toBe(303);
  });

  test('that is too large is refused', async () => {
    const answer = await rig.submit(`${rig.account}/suppressions`, { email: 'x'.repeat(70_000) });
    expect(answer.status).toBe(413);
  });
});

describe('every response', () => {
  test('forbids scripts of others, foreign loads, framing, sniffing and storing', async () => {
    const { account } = rig;
    const paths = [...PAGES, `${account}/emails`, `${account}/keys`, `${account}/emails/none`];
    for (const path of paths) {
      const { headers } = await rig.visit(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).not.toContain('unsafe');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  test('what pages load needs no session, is kept until it changes, and is small', async () => {
    const { text } = await rig.visit('', { cookie: '' });
    const addresses = Array.from(text.matchAll(/(?:src|href)="\/dashboard(\/[a-z]+\.[^"]+)"/g));
    expect(
      addresses
        .map(([, address = '']) => address.split('?')[0] ?? '')
        .toSorted((a, b) => a.localeCompare(b)),
    ).toEqual(['/enhance.js', '/icon.svg', '/morph.js', '/style.css']);
    let packedBytes = 0;
    for (const [, address = ''] of addresses) {
      const url = rig.url + address;
      const packed = await fetch(url, {
        headers: { 'accept-encoding': 'gzip' },
        decompress: false,
      });
      packedBytes += (await packed.arrayBuffer()).byteLength;
      expect(packed.headers.get('cache-control')).toContain('immutable');
      const other = await rig.visit(address.replace(/v=.*/, 'v=older'), { cookie: '' });
      expect(other.headers.get('cache-control')).toBe('no-cache');
    }
    expect(packedBytes).toBeLessThan(50_000);
  });

  test('other methods are refused, HEAD has no body, other paths are not ours', async () => {
    const put = await fetch(`${rig.url}/queue`, { method: 'PUT', headers: { cookie: rig.cookie } });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    const head = await fetch(rig.url, { method: 'HEAD', headers: { cookie: rig.cookie } });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const api = await fetch(`${rig.rig.url}/dashboards`);
    expect(api.headers.get('content-type')).toContain('application/json');
  });
});
