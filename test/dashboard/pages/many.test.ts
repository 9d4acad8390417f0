/** The pages of a server with many accounts, and of an account with many domains and keys: what each shows at most, and finds. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';

import { PAGES } from '../../../src/dashboard/pages/routes.ts';
import { addOperator, setPassword } from '../../../src/flow/people/operators.ts';
import type { Account, Domain, Key } from '../../../src/store/rows.ts';
import { newAccount, newDomain, newKey, newLogRecord } from '../../store/samples.ts';
import { newId } from '../../rig/ids.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';
import { rowsOf, textOf } from '../page-text.ts';

const MANY = 130;
const KEYS = 260;
/** Of the keys that are made here; the rig has one more. */
const WORKING = new Set([0, 130, 259]);
/** So many of the first hundred domains that those of a second account are offered too. */
const isPending = (at: number): boolean => (at >= 20 && at < 40) || at === 128;
const PASSWORD = 'long enough for anyone';

let rig: DashboardRig;
let accounts: Account[];
let domains: Domain[];
let keys: Key[];
/** An email from the domain of the rig, by its key. */
let email: string;

const numbers = Array.from({ length: MANY }, (_, at) => at);

beforeAll(async () => {
  rig = await startDashboardRig();
  const { store } = rig.rig.appliance.ctx;
  accounts = numbers.map((at) => newAccount(`shop ${at}`));
  for (const account of accounts) await store.createAccount(account);
  const made = { status: 'verified', nextCheckAt: null } as const;
  domains = numbers.map((at) => ({
    ...newDomain(rig.rig.account, `d${at}.example`),
    ...made,
    ...(isPending(at) && { status: 'pending' as const }),
  }));
  const others = numbers
    .slice(0, 30)
    .map((at) => ({ ...newDomain(accounts[0]?.id ?? '', `other${at}.example`), ...made }));
  for (const domain of [...domains, ...others]) await store.createDomain(domain, 1_000);
  keys = Array.from({ length: KEYS }, (_, at) => ({
    ...newKey(rig.rig.account),
    name: `key ${at}`,
  }));
  for (const [at, key] of keys.entries()) {
    await store.createKey(key, Buffer.from(`hash ${at}`), 100);
    if (!WORKING.has(at)) await store.revokeKey(rig.rig.account, key.id, Date.now());
  }
  email = await rig.send({
    from: 'a@sender.example',
    to: 'b@receiver.example',
    subject: 'found',
    text: 'x',
  });
  const path = `${rig.account}/emails/${email}`;
  while (!(await rig.visit(path)).text.includes('email.delivered')) await Bun.sleep(10);
});
afterAll(() => rig.stop());

const page = async (path: string): Promise<string> => (await rig.visit(path)).text;

/** The texts under this heading, of the rows of the page. */
const column = (text: string, heading: string): string[] =>
  rowsOf(text).flatMap((row) => row[heading] ?? []);

/** The pages of a list, by its links. */
async function walked(path: string): Promise<string[]> {
  const pages: string[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const text = await page(next);
    pages.push(text);
    next = /rel="next" href="\/dashboard([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  }
  return pages;
}

const options = (text: string, name: string): string[] => {
  const [select = ''] = new RegExp(`<select[^>]*name="${name}".*?</select>`, 's').exec(text) ?? [];
  return Array.from(select.matchAll(/<option value="([^"]*)"/g), ([, value = '']) => value);
};
/** What stands in the text field with this name; null where there is none. */
const written = (text: string, name: string): string | null =>
  new RegExp(
    `<input\\s+type="(?:text|search)"\\s+id="[^"]*"\\s+name="${name}"\\s+value="([^"]*)"`,
  ).exec(text)?.[1] ?? null;
const chosen = (text: string): string[] =>
  Array.from(text.matchAll(/<option value="([^"]*)" selected/g), ([, value = '']) => value);

describe('accounts', () => {
  test('are listed fifty a page, each once, oldest first, and the words of the links say so', async () => {
    const pages = await walked('/accounts');
    expect(pages.map((text) => column(text, 'Sent this month').length)).toEqual([50, 50, 31]);
    const names = pages.flatMap((text) =>
      rowsOf(text).flatMap((row) => (row['Created'] === undefined ? [] : (row['Account'] ?? []))),
    );
    expect(names).toEqual([names[0] ?? '', ...accounts.map(({ name }) => name)]);
    expect(pages[1]).toMatch(/rel="prev" href="[^"]*"\s*>First<\/a/);
    expect(pages[1]).toMatch(/rel="next" href="[^"]*"\s*>Next<\/a/);
    expect(await page(`/accounts?after=${accounts.at(-1)?.id}`)).toContain(
      'There are no more accounts.',
    );
  });

  test.each([['name'], ['id']] as const)('one is found by its %s alone', async (by) => {
    const wanted = accounts[120];
    const text = await page(`/accounts?name=${encodeURIComponent(wanted?.[by] ?? '')}`);
    expect(column(text, 'Created')).toHaveLength(1);
    expect(column(text, 'Account')).toEqual(['shop 120']);
    expect(written(text, 'name')).toBe(wanted?.[by] ?? '');
  });

  test('a name of none is said to be one', async () => {
    for (const name of ['shop', 'SHOP 1', 'none']) {
      const text = await page(`/accounts?name=${encodeURIComponent(name)}`);
      expect([name, column(text, 'Created')]).toEqual([name, []]);
      expect(text).toContain('No account has this name.');
    }
  });

  test('the menu has twenty others and the way to all of them, also on the page of a late account', async () => {
    for (const path of ['/accounts', `/accounts/${accounts[100]?.id}/keys`]) {
      const [others = ''] = /<details class="others">.*?<\/details>/s.exec(await page(path)) ?? [];
      expect(others.split('<li>')).toHaveLength(21);
      expect(others).toContain('All accounts');
    }
  });

  test('an operator of one has a menu with that one', async () => {
    const { ctx } = rig.rig.appliance;
    const own = accounts[100];
    await addOperator(ctx, { name: 'guest', role: 'read_only', accountId: own?.id ?? '' });
    await setPassword(ctx, 'guest', PASSWORD);
    const form = { name: 'guest', password: PASSWORD };
    const signed = await rig.submit('/sign-in', form);
    const cookie = signed.headers.get('set-cookie')?.split(';')[0] ?? '';
    for (const path of [`/accounts/${own?.id}/emails`, '/profile']) {
      const { text, status } = await rig.visit(path, { cookie });
      expect([path, status]).toEqual([path, 200]);
      const [menu = ''] = /<nav class="menu".*?<\/nav>/s.exec(text) ?? [];
      expect(menu).toContain('</span>shop 100</p>');
      expect(menu).not.toContain('Other accounts');
      expect(menu).not.toContain('shop 1<');
    }
    const table = rowsOf(await page('/operators'));
    expect(table.find(({ Name }) => Name === 'guest')?.['Sees']).toBe('Only shop 100');
  });

  test('the overview takes the name or the id of one, keeps it, and says where there is none', async () => {
    const all = await page('');
    expect([options(all, 'account'), written(all, 'account')]).toEqual([[], '']);
    expect(all).toMatch(/Delivered <b>1<\/b>/);
    for (const by of ['name', 'id'] as const) {
      const wanted = accounts[111];
      const one = await page(`?account=${encodeURIComponent(wanted?.[by] ?? '')}`);
      expect(one).toMatch(/Delivered <b>0<\/b>/);
      expect(written(one, 'account')).toBe(wanted?.[by] ?? '');
      expect(one).toContain(`account=${wanted?.id}"`);
      expect(one).not.toContain('No account has this name');
    }
    const none = await page('?account=none');
    expect(none).toMatch(/Delivered <b>1<\/b>/);
    expect([written(none, 'account'), none.includes('No account has this name')]).toEqual([
      'none',
      true,
    ]);
  });

  test('an operator is added to one by its name, and the refusal of another stands at the field', async () => {
    const text = await page('/operators');
    expect([options(text, 'account'), written(text, 'account')]).toEqual([[], '']);
    const fields = { name: 'late', role: 'read_only', account: 'shop 129' };
    expect((await rig.submit('/operators', fields)).status).toBe(200);
    const { store } = rig.rig.appliance.ctx;
    expect((await store.operatorNamed('late'))?.accountId).toBe(accounts[129]?.id ?? '');
    const refused = await rig.submit('/operators', { ...fields, name: 'x', account: 'none' });
    expect(refused.status).toBe(404);
    expect(/id="f-account-message"\s*>([^<]*)/.exec(refused.text)?.[1]).toBe(
      'There is no account &quot;none&quot;.',
    );
    expect(written(refused.text, 'account')).toBe('none');
  });

  test('the audit log names the late one', async () => {
    await rig.submit(`/accounts/${accounts[125]?.id}/pause`, { reason: '' });
    const [first] = rowsOf(await page('/audit'));
    expect(first?.['Account']).toBe('shop 125');
  });
});

describe('domains of an account', () => {
  test('are listed fifty a page, each once, oldest first', async () => {
    const pages = await walked(`${rig.account}/domains`);
    const names = pages.map((text) => column(text, 'Domain'));
    expect(names.map(({ length }) => length)).toEqual([50, 50, 31]);
    expect(names.flat()).toEqual(['sender.example', ...domains.map(({ name }) => name)]);
  });

  test('one is found by its name in any case and by its id; none of another account', async () => {
    const path = `${rig.account}/domains?name=`;
    for (const asked of ['+D128.Example+', domains[128]?.id ?? '']) {
      expect(column(await page(path + asked), 'Domain')).toEqual(['d128.example']);
    }
    for (const asked of ['d128', 'other1.example', newId(1)]) {
      const text = await page(path + asked);
      expect([asked, column(text, 'Domain')]).toEqual([asked, []]);
      expect(text).toContain('No domain has this name.');
    }
  });

  test('emails are found by the name or the id of a domain, in the list and in its CSV', async () => {
    const { store } = rig.rig.appliance.ctx;
    const sender = await store.domainByName(rig.rig.account, 'sender.example');
    const path = `${rig.account}/emails`;
    expect(options(await page(path), 'domain')).toEqual([]);
    for (const [asked, found] of [
      ['Sender.Example', ['found']],
      [sender?.id ?? '', ['found']],
      ['d3.example', []],
      [domains[3]?.id ?? '', []],
      ['none.example', []],
      ['other1.example', []],
    ] as const) {
      const text = await page(`${path}?domain=${asked}`);
      expect([asked, column(text, 'Subject')]).toEqual([asked, [...found]]);
      expect(written(text, 'domain')).toBe(asked);
      const csv = await page(`${path}.csv?domain=${asked}`);
      expect([asked, csv.trim().split('\r\n').length - 1]).toEqual([asked, found.length]);
    }
  });

  test('a hundred are offered for a test email, and a later one is taken if it is verified', async () => {
    const { store } = rig.rig.appliance.ctx;
    const read = spyOn(store, 'domains');
    expect(options(await page('/test-email'), 'domain')).toHaveLength(100);
    expect(read.mock.calls.map(([id]) => id)).toEqual([rig.rig.account, accounts[0]?.id ?? '']);
    read.mockRestore();
    const send = (domain = '') => rig.submit('/test-email', { domain, to: 'b@receiver.example' });
    const sent = await send(domains[129]?.id);
    expect(sent.headers.get('location')).toStartWith(`/dashboard${rig.account}/emails/`);
    await store.deleteDomain(rig.rig.account, domains[127]?.id ?? '', Date.now());
    for (const at of [127, 128])
      expect([at, (await send(domains[at]?.id)).status]).toEqual([at, 422]);
    expect((await send('none')).status).toBe(422);
    // What a domain sent is found by its id when it is removed, while its name is free again.
    await store.deleteDomain(rig.rig.account, domains[129]?.id ?? '', Date.now());
    const emails = `${rig.account}/emails?domain=`;
    expect(column(await page(emails + domains[129]?.id), 'Subject')).toHaveLength(1);
    expect(column(await page(`${emails}d129.example`), 'Subject')).toEqual([]);
  });
});

describe('keys of an account', () => {
  test('are all that work and the newest fifty revoked ones, with the number of the others', async () => {
    const text = await page(`${rig.account}/keys`);
    const names = column(text, 'Name');
    const revoked = keys.filter((_, at) => !WORKING.has(at)).map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(['key 259', 'key 130', 'key 0']);
    expect(names.slice(4)).toEqual(revoked.slice(-50).toReversed());
    expect(textOf(text)).toContain('207 older revoked keys are not shown; the API lists all.');
  });

  test('an old revoked one still filters requests and emails, and is chosen in the form', async () => {
    const [, old, another] = keys;
    const { store } = rig.rig.appliance.ctx;
    await store.appendLogs([
      newLogRecord(rig.rig.account, { keyId: old?.id ?? '', keyName: 'old one' }),
    ]);
    const logs = `${rig.account}/logs`;
    expect(options(await page(logs), 'key')).not.toContain(old?.id);
    const found = await page(`${logs}?key=${old?.id}`);
    expect([column(found, 'Key'), chosen(found)]).toEqual([['old one'], ['', '', old?.id ?? '']]);
    expect(column(await page(`${logs}?key=${another?.id}`), 'Key')).toEqual([]);
    const emails = await page(`${rig.account}/emails?key=${old?.id}`);
    expect(chosen(emails)).toContain(old?.id ?? '');
    expect(column(emails, 'Subject')).toEqual([]);
    expect(options(emails, 'key')).toHaveLength(1 + 4 + 50 + 1);
  });

  test('an email names its key', async () => {
    const { store } = rig.rig.appliance.ctx;
    const message = await store.message(rig.rig.account, email);
    const key = await store.key(message?.keyId ?? '');
    expect(key?.name).toBeString();
    expect(textOf(await page(`${rig.account}/emails/${email}`))).toContain(
      `with the key “${key?.name}”`,
    );
    const foreign = key && { ...key, accountId: accounts[0]?.id ?? '' };
    const read = spyOn(store, 'key').mockResolvedValue(foreign);
    expect(await page(`${rig.account}/emails/${email}`)).not.toContain('with the key');
    read.mockRestore();
  });
});

test('no page reads all accounts, or all domains of one', async () => {
  const { store } = rig.rig.appliance.ctx;
  const spies = [spyOn(store, 'accounts'), spyOn(store, 'domains')];
  for (const { method, path } of PAGES) {
    if (method !== 'GET') continue;
    await rig.visit(path.replace(':account', rig.rig.account).replaceAll(/:\w+/g, 'none'));
    for (const spy of spies) {
      for (const call of spy.mock.calls) {
        const part = call.at(-1);
        const isBounded = typeof part === 'object' && part.limit <= 101;
        expect([path, isBounded]).toEqual([path, true]);
      }
    }
  }
  for (const spy of spies) {
    expect(spy.mock.calls.length).toBeGreaterThan(0);
    spy.mockRestore();
  }
});
