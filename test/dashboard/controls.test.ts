/**
 * Every page as every role sees it: no form, no button and no link that the viewer's own rights would refuse; and no
 * action without a control on some page. Nothing is submitted.
 *
 * A new page is opened by itself; if its path has values of its own, `ADDRESSES` must say where such a page is.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { accessTo, type Rights } from '../../src/dashboard/access.ts';
import { findPage, PAGES } from '../../src/dashboard/pages/routes.ts';
import { createAccount, setAccountStatus } from '../../src/flow/accounts/accounts.ts';
import { addDomain } from '../../src/flow/domains/domains.ts';
import { prepareKey } from '../../src/flow/domains/rotation.ts';
import { addOperator, setPassword } from '../../src/flow/people/operators.ts';
import { addSuppression } from '../../src/flow/suppressions/suppressions.ts';
import { addEndpoint } from '../../src/flow/webhooks/endpoints.ts';
import type { Operator } from '../../src/store/people.ts';
import { FakeNodes } from '../rig/fake-nodes.ts';
import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';

const ROOT = '/dashboard';
const PASSWORD = 'long enough for anyone';

interface Viewer {
  rights: Rights;
  cookie: string;
}

/** What one page shows. */
interface Controls {
  /** Method and address of each form. */
  forms: { method: string; action: string }[];
  links: string[];
  /** What is pressed or filled in outside a form. */
  loose: string[];
}

let rig: DashboardRig;
let viewers: Record<'admin' | 'reader' | 'owner' | 'guest', Viewer>;
/** For pages with values of their own in the path: where there are such pages, by pattern. */
let ADDRESSES: Record<string, string[]>;

beforeAll(async () => {
  rig = await startDashboardRig({
    config: '[api]\nsingle_send = "full"\n[webhooks]\nallow_networks = ["127.0.0.0/8"]',
  });
  const account = rig.rig.account;
  viewers = {
    admin: { rights: { role: 'admin', accountId: null }, cookie: rig.cookie },
    reader: await signedIn('reader', { role: 'read_only', accountId: null }),
    owner: await signedIn('owner', { role: 'admin', accountId: account }),
    guest: await signedIn('guest', { role: 'read_only', accountId: account }),
  };
  // Servers that share the store: what is changed of one stands on its page.
  const nodes = new FakeNodes();
  const node = { name: 'one', version: '1', addresses: [], beganAt: 0, isDrainAsked: false };
  nodes.listed = [{ ...node, id: 'id', heardMsAgo: 0, report: null }];
  Object.assign(rig.rig.appliance.ctx, { nodes });
  ADDRESSES = await everything();
}, 30_000);
afterAll(() => rig.stop());

async function signedIn(name: string, rights: Rights): Promise<Viewer> {
  const { ctx } = rig.rig.appliance;
  await addOperator(ctx, { name, ...rights });
  await setPassword(ctx, name, PASSWORD);
  const credentials = new URLSearchParams({ name, password: PASSWORD });
  const answer = await fetch(`${rig.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: credentials,
  });
  return { rights, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** One object of each kind in each state that changes what its page offers. */
async function everything(): Promise<Record<string, string[]>> {
  const { appliance } = rig.rig;
  const { ctx } = appliance;
  const account = await ctx.store.account(rig.rig.account);
  if (account === null) throw new Error('no account');
  const waiting = await createAccount(ctx, { name: 'paused' });
  await setAccountStatus(ctx, waiting.id, 'paused', null);
  const pending = await addDomain(ctx, account, 'pending.example');
  const [verified] = (await ctx.store.domains(account.id)).filter(({ id }) => id !== pending.id);
  if (verified === undefined) throw new Error('no verified domain');
  await prepareKey(ctx, pending);
  const { endpoint } = await addEndpoint(ctx, account.id, {
    url: 'https://127.0.0.1:1/',
    events: [],
  });
  const disabled = await addEndpoint(ctx, account.id, { url: 'https://127.0.0.1:2/', events: [] });
  await rig.submit(`${rig.account}/webhooks/${disabled.endpoint.id}/disable`);
  await addSuppression(ctx, account.id, { email: 'someone@x.example', source: 'operator' });
  await ctx.store.addConfirmedRecipient(account.id, 'someone@y.example', 1);
  const owner = (await ctx.store.operatorNamed('owner')) as Operator;
  await ctx.store.setOperatorTotp(owner.id, new Uint8Array(1), ['hash']);
  const mail = {
    from: 'a@sender.example',
    subject: 's',
    html: '<a href="https://sender.example">s</a>',
    attachments: [{ filename: 'a.txt', content: 'YQ==' }],
  };
  const delivered = await rig.send({ ...mail, to: 'b@receiver.example' });
  await rig.rig.log.first(({ event }) => event === 'webhook_call');
  appliance.queue.setResting(true);
  const waits = await rig.send({ ...mail, to: 'b@slow.example' });
  const page = { limit: 1, after: null, before: null };
  const [attempt] = (await ctx.store.callAttempts(endpoint.id, page, false)).rows;
  // The request log is written a moment after the request.
  const { logId } = (await ctx.store.messageById(waits)) ?? {};
  while ((await ctx.store.log(account.id, logId ?? '')) === null) await Bun.sleep(10);
  const one = '/accounts/:account';
  const own = rig.account;
  const emails = [delivered, waits].map((id) => `${own}/emails/${id}`);
  const hook = `${own}/webhooks/${endpoint.id}`;
  return {
    '/queue': ['/queue', '/queue?domain=slow.example'],
    [`${one}/edit`]: [`${own}/edit`, `/accounts/${waiting.id}/edit`],
    [`${one}/emails/:id`]: emails,
    [`${one}/emails/:id/html`]: emails.map((path) => `${path}/html`),
    [`${one}/emails/:id/source`]: emails.map((path) => `${path}/source`),
    [`${one}/emails/:id/attachments/:number`]: emails.map((path) => `${path}/attachments/1`),
    [`${one}/domains/:id`]: [pending, verified].map(({ id }) => `${own}/domains/${id}`),
    [`${one}/domains/:id/zone`]: [`${own}/domains/${pending.id}/zone`],
    [`${one}/webhooks/:id`]: [hook, `${own}/webhooks/${disabled.endpoint.id}`],
    [`${one}/webhooks/:id/attempts/:attempt`]: [`${hook}/attempts/${attempt?.id}`],
    [`${one}/logs/:id`]: [`${own}/logs/${logId}`],
    '/inbox/:number': ['/inbox/1', '/inbox/1?tab=attachments', '/inbox/1?tab=spam'],
    '/inbox/:number/html': ['/inbox/1/html'],
    '/inbox/:number/source': ['/inbox/1/source'],
    '/inbox/:number/attachments/:at': ['/inbox/1/attachments/1'],
  };
}

/** Where a page is opened; a pattern that nobody knows the values of stays as it is, and is not found. */
function addressesOf(pattern: string): string[] {
  return ADDRESSES[pattern] ?? [pattern.replace('/accounts/:account', rig.account)];
}

async function controlsOf(text: string): Promise<Controls> {
  const found: Controls = { forms: [], links: [], loose: [] };
  let depth = 0;
  const rewriter = new HTMLRewriter()
    .on('form', {
      element(form) {
        depth += 1;
        form.onEndTag(() => void (depth -= 1));
        const method = (form.getAttribute('method') ?? 'get').toUpperCase();
        found.forms.push({ method, action: form.getAttribute('action') ?? '' });
      },
    })
    .on('a', { element: (link) => void found.links.push(link.getAttribute('href') ?? '') })
    .on('button, input, select, textarea, [formaction]', {
      element(control) {
        const isOurs =
          control.hasAttribute('data-copy') || control.getAttribute('id') === 'menu-toggle';
        if (control.hasAttribute('formaction') || (depth === 0 && !isOurs)) {
          found.loose.push(`${control.tagName} ${control.getAttribute('name') ?? ''}`);
        }
      },
    });
  await rewriter.transform(new Response(text)).text();
  return found;
}

/** Every page that opens for the viewer, with what it shows. Fails where a page is not there. */
async function pagesOf({ rights, cookie }: Viewer): Promise<Map<string, Controls>> {
  const pages = new Map<string, Controls>();
  for (const page of PAGES) {
    const params = { account: rig.rig.account };
    if (page.method !== 'GET' || accessTo(rights, page, params) !== 'open') continue;
    for (const address of addressesOf(page.path)) {
      const seen = await rig.visit(address, { cookie });
      expect([address, seen.status]).toEqual([address, 200]);
      const isPage = (
        seen.headers.get('content-disposition') ??
        seen.headers.get('content-security-policy') ??
        ''
      ).startsWith("default-src 'none'; script-src");
      if (isPage) pages.set(address, await controlsOf(seen.text));
    }
  }
  return pages;
}

/** The pattern of the page behind an address; null when the viewer's rights do not open it. */
function opens({ rights }: Viewer, method: string, address: string): string | null {
  if (address === `${ROOT}/sign-out` && method === 'POST') return '/sign-out';
  if (method !== 'GET' && method !== 'POST') return null;
  const found = findPage(method, address.slice(ROOT.length).replace(/[?#].*/, ''));
  if (found === null || !address.startsWith(ROOT)) return null;
  return accessTo(rights, found.page, found.params) === 'open' ? found.page.path : null;
}

const NAMES = ['admin', 'reader', 'owner', 'guest'] as const;

test.each(NAMES)(
  'no form of any page refuses %s',
  async (name) => {
    const viewer = viewers[name];
    const pages = await pagesOf(viewer);
    expect(pages.size).toBeGreaterThan(name === 'admin' ? 30 : 10);
    const refused = Array.from(pages, ([address, { forms, loose }]) => [
      ...forms
        .filter(({ method, action }) => opens(viewer, method, action) === null)
        .map(({ action }) => `${address}: form to ${action}`),
      ...loose.map((control) => `${address}: ${control} outside a form`),
    ]).flat();
    expect(refused).toEqual([]);
  },
  30_000,
);

test.each(NAMES)(
  'no link of any page leads %s to a refusal',
  async (name) => {
    const viewer = viewers[name];
    const known = new Map<string, number>();
    const wrong: string[] = [];
    for (const [address, { links }] of await pagesOf(viewer)) {
      for (const link of links.filter((href) => href.startsWith(ROOT))) {
        const path = link.slice(ROOT.length).replace(/#.*/, '');
        const status = known.get(path) ?? (await rig.visit(path, { cookie: viewer.cookie })).status;
        known.set(path, status);
        const isStart = path === '' && status === 303;
        if (status !== 200 && !isStart) wrong.push(`${address}: ${link} answers ${status}`);
      }
    }
    expect(known.size).toBeGreaterThan(10);
    expect(wrong).toEqual([]);
  },
  60_000,
);

test('every action has its control on a page', async () => {
  const shown = new Set<string | null>();
  const { ctx } = rig.rig.appliance;
  for (const isHalted of [false, true]) {
    if (isHalted) await ctx.halt.halt('A test');
    for (const viewer of [viewers.admin, viewers.owner]) {
      for (const { forms } of (await pagesOf(viewer)).values()) {
        for (const { method, action } of forms)
          shown.add(method === 'POST' ? opens(viewer, method, action) : null);
      }
    }
  }
  await ctx.halt.resume();
  const without = PAGES.filter(({ method, path }) => method === 'POST' && !shown.has(path));
  expect(without.map(({ path }) => path)).toEqual([]);
}, 60_000);

test('while sending is halted a read-only operator sees why, and no way to resume', async () => {
  const { ctx } = rig.rig.appliance;
  await ctx.halt.halt('The wrong list');
  const seen = await rig.visit('', { cookie: viewers.reader.cookie });
  await ctx.halt.resume();
  expect(seen.text).toContain('The wrong list');
  expect(seen.text).not.toContain('/dashboard/resume');
  expect(seen.text).toContain('reader (read-only)');
});

test('a page that is only a form has the form that it says', () => {
  const forms = PAGES.filter(({ isForm }) => isForm === true);
  expect(forms.length).toBeGreaterThan(3);
  for (const { path } of forms) {
    expect(
      PAGES.filter((page) => page.path === path)
        .map(({ method }) => method)
        .toSorted(),
    ).toEqual(['GET', 'POST']);
  }
});
