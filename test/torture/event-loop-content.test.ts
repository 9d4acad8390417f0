/**
 * Content that is read back holds the event loop no more than content that comes in (docs/reliability.md R84): a hundred
 * clients at once ask for the largest there is, of every kind, by the API and on the dashboard.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { bulkKey, FAST_PLAN } from '../rig/bulk-account.ts';
import { gapBeside, LONGEST_MS } from './gap-beside.ts';
import { openTarget, type Target } from './open-target.ts';

const SEED = 0;
const CLIENTS = 100;
const LARGE = 'QUJD'.repeat(13_300_000 / 4);
/** Beyond ASCII, which costs most to be written as a message. */
const HTML = 'QUJDé'.repeat(13_300_000 / 6);
/** Lines of 76 characters, as mail has them. */
const LINES = `${'QUJD'.repeat(19)}\r\n`.repeat(160_000);

let target: Target;
let key = '';
let cookie = '';
const ids: Record<string, string> = {};

beforeAll(async () => {
  target = await openTarget(
    {},
    `${FAST_PLAN}reads_per_minute = 100000\n[api]\nsingle_send = "full"\n`,
  );
  const { appliance } = target.world;
  key = await bulkKey(target.world);
  const send = async (content: object): Promise<string> => {
    const email = { from: 'a@bulk.test', to: 'delivered@sandbox.test', subject: 's', ...content };
    const response = await asked('/emails', { method: 'POST', body: JSON.stringify(email) });
    if (response.status !== 200) throw new Error(await response.text());
    return ((await response.json()) as { id: string }).id;
  };
  ids['an attachment'] = await send({
    text: 't',
    attachments: [{ filename: 'a', content: LARGE }],
  });
  ids['HTML'] = await send({ html: HTML });
  const head = 'From: a@bulk.test\r\nTo: b@example.net\r\nSubject: s\r\n';
  const file = 'Content-Type: a/b; name=f\r\nContent-Transfer-Encoding: base64\r\n\r\n';
  const reply = await target.submit(head + file + LINES, { key, from: 'a@bulk.test' });
  ids['a submitted file'] = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(reply)?.[0] ?? '';
  const signedIn = await fetch(`${appliance.url}/dashboard/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ password: appliance.made.admin_password }),
  });
  cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
}, 120_000);
afterAll(() => target.world.stop());

function asked(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...(path.startsWith('/dashboard/') && { cookie }),
  };
  return fetch(target.world.appliance.url + path, { redirect: 'manual', ...init, headers });
}

/** The status of each response, read to its end, beside the longest silence. */
async function statusesBeside(path: string): Promise<[gap: number, statuses: number[]]> {
  const statuses = new Set<number>();
  const gap = await gapBeside(target.world.appliance, SEED, () =>
    Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        const response = await asked(path);
        await response.arrayBuffer();
        statuses.add(response.status);
      }),
    ),
  );
  return [gap, [...statuses].sort((one, other) => one - other)];
}

const KINDS = ['an attachment', 'HTML', 'a submitted file'];
const PATHS: [name: string, path: (id: string) => string][] = [
  ['GET /emails/:id', (id) => `/emails/${id}`],
  ['GET /emails/:id/body', (id) => `/emails/${id}/body`],
  ['GET /emails/:id/attachments', (id) => `/emails/${id}/attachments`],
  ['the page of the email', (id) => `/dashboard/accounts/bulk/emails/${id}`],
  ['its source', (id) => `/dashboard/accounts/bulk/emails/${id}/source`],
  ['its HTML', (id) => `/dashboard/accounts/bulk/emails/${id}/html`],
];

for (const kind of KINDS) {
  test.each(PATHS)(
    `${kind}: %s`,
    async (_, pathOf) => {
      const [gap, statuses] = await statusesBeside(pathOf(ids[kind] ?? ''));
      expect(gap).toBeLessThanOrEqual(LONGEST_MS);
      // What the budget has no bytes for is refused, and some are always served.
      expect(statuses).toContain(200);
      expect([[200], [200, 503]]).toContainEqual(statuses);
    },
    240_000,
  );
}

test.each(['an attachment', 'a submitted file'])(
  '%s: its download',
  async (kind) => {
    const list = await (await asked(`/emails/${ids[kind]}/attachments`)).json();
    const { data } = list as { data: { download_url: string }[] };
    const { pathname, search } = new URL(data[0]?.download_url ?? '');
    const [gap, statuses] = await statusesBeside(pathname + search);
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
    expect(statuses).toContain(200);
    const of = `/dashboard/accounts/bulk/emails/${ids[kind]}/attachments/1`;
    const [dashboardGap, dashboardStatuses] = await statusesBeside(of);
    expect(dashboardGap).toBeLessThanOrEqual(LONGEST_MS);
    expect(dashboardStatuses).toContain(200);
  },
  240_000,
);
