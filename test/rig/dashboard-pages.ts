/**
 * Every page of a running appliance's dashboard by name, found by its own links; and a session to open them with.
 *
 * Promises one page of each kind: of many emails, domains or endpoints one that leads to the most. Reads HTML only.
 */

export interface DashboardSession {
  /** Base URL of the API. */
  url: string;
  /** As a browser takes it. */
  cookie: { name: string; value: string; url: string };
  read(path: string): Promise<string>;
}

export interface NamedPage {
  name: string;
  /** Below the host. */
  path: string;
}

const ROOT = '/dashboard';

/** Signs in at the appliance at `url`. */
export async function signedIn(url: string, password: string): Promise<DashboardSession> {
  const answer = await fetch(`${url}${ROOT}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ password }),
  });
  const pair = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  const [name = '', value = ''] = pair.split('=');
  if (value === '') throw new Error(`not signed in: ${answer.status}`);
  return {
    url,
    cookie: { name, value, url },
    read: async (path) => (await fetch(url + path, { headers: { cookie: pair } })).text(),
  };
}

/** The pages in the menu, of the first account, and one of each kind of object that their lists link to. */
export async function pagesOf(session: DashboardSession): Promise<NamedPage[]> {
  const found = new Map<string, string>();
  const add = (path: string): void => {
    const name = nameOf(path);
    if (!found.has(name)) found.set(name, path);
  };
  const overview = await session.read(ROOT);
  const menu = linksIn(/<nav class="menu".*?<\/nav>/s.exec(overview)?.[0] ?? '');
  for (const path of [ROOT, ...menu]) if (!path.includes('sign-out')) add(path);
  const account = menu.find((path) => path.endsWith('/emails'))?.replace(/\/emails$/, '') ?? '';
  const first = Array.from(found.values());
  for (const path of first) {
    if (!path.startsWith(ROOT)) continue;
    const main = /<main.*<\/main>/s.exec(await session.read(path))?.[0] ?? '';
    for (const link of linksIn(main)) {
      const isOther = link.includes('/accounts/') && !link.startsWith(account);
      const isFile = /\.(?:csv|zone|txt)$|\/(?:export|source|zone)/.test(link);
      if (link.startsWith(ROOT) && !isOther && !isFile) add(link);
    }
  }
  const email = [...found.values()].find((path) => /\/emails\/[0-9a-f-]{36}$/.test(path));
  // Whether one account has an email of a status just now is chance: the others are asked too.
  const accounts = [account, ...linksIn(overview).flatMap(accountsIn)];
  for (const status of ['bounced', 'delivery_delayed']) {
    const path = await firstEmail(session, new Set(accounts), status);
    if (path !== null) found.set(`email-${status}`, path);
  }
  for (const tab of ['source', 'headers']) addTab(found, 'email', email, tab);
  const captured = found.get('inbox-one');
  for (const tab of ['check', 'links', 'spam', 'source']) addTab(found, 'inbox', captured, tab);
  const queue = await session.read(`${ROOT}/queue`);
  const waiting = /queue\?domain=[^"]+/.exec(queue)?.[0];
  if (waiting !== undefined) found.set('queue-one', `${ROOT}/${waiting}`);
  found.set('overview-30d', `${ROOT}?period=30d`);
  return Array.from(found, ([name, path]) => ({ name, path }));
}

/** The account's pages that a link of the menu leads to. */
function accountsIn(link: string): string[] {
  const [path] = /^.*\/accounts\/[0-9a-f-]{36}/.exec(link) ?? [];
  return path === undefined ? [] : [path];
}

async function firstEmail(
  session: DashboardSession,
  accounts: ReadonlySet<string>,
  status: string,
): Promise<string | null> {
  for (const account of accounts) {
    const list = await session.read(`${account}/emails?status=${status}`);
    const path = linksIn(list).find((link) => /\/emails\/[0-9a-f-]{36}$/.test(link));
    if (path !== undefined) return path;
  }
  return null;
}

function addTab(
  found: Map<string, string>,
  name: string,
  path: string | undefined,
  tab: string,
): void {
  if (path !== undefined) found.set(`${name}-${tab}`, `${path}?tab=${tab}`);
}

/** Paths of links, without their query and fragment, in the order of the page. */
function linksIn(html: string): string[] {
  return Array.from(html.matchAll(/<a [^>]*href="(\/[^"?#]*)/g), ([, path]) => path ?? '');
}

/** `/dashboard/accounts/ID/emails/ID` is `email`; other objects alike. */
function nameOf(path: string): string {
  if (path === ROOT) return 'overview';
  const words = path
    .replace(ROOT, '')
    .split('/')
    .filter((part) => part !== '' && part !== 'accounts');
  const names = words.map((word) => (isId(word) ? 'one' : word));
  const kept = names[0] === 'one' && names.length > 1 ? names.slice(1) : names;
  return kept.join('-') || 'accounts';
}

function isId(word: string): boolean {
  return /^[0-9a-f-]{36}$|^\d+$/.test(word);
}
