/**
 * What commands print, on the compiled binary: each value under its own heading and name, whole lists of wrong rows no
 * longer than promised, the process that runs, and the exit codes that go with it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { BinaryAppliance, runBinary } from '../rig/binary.ts';

const CONFIG = '[delivery]\nmode = "capture"\n';

let appliance: BinaryAppliance;
/** Of a captured email. */
let emailId = '';

beforeAll(async () => {
  appliance = await BinaryAppliance.start({ config: CONFIG });
  const made = ['key', 'create', '--account', 'default', '--name', 'tries', '--test'];
  const { token } = await appliance.json(made);
  const email = { from: 'a@b.example', to: 'delivered@sandbox.test', subject: 's', text: 't' };
  const headers = { authorization: `Bearer ${String(token)}` };
  const sent = await appliance.api('POST', '/emails', email, headers);
  emailId = ((await sent.json()) as { id: string }).id;
});
afterAll(() => appliance.stop());

/** What stands below each heading of a printed table, whose rows have as many lines as its heading. */
function tableOf(text: string, lines: number): Record<string, string>[] {
  const all = text.trimEnd().split('\n');
  const columns = all
    .slice(0, lines)
    .map((line) =>
      Array.from(line.matchAll(/\S+(?: \S+)*/g), ({ 0: heading, index }) => ({ heading, index })),
    );
  const rows: Record<string, string>[] = [];
  for (let at = lines; at < all.length; at += lines) {
    const cells = columns.flatMap((headings, line) =>
      headings.map(({ heading, index }, number) => {
        const end = headings[number + 1]?.index;
        return [heading, (all[at + line] ?? '').slice(index, end).trim()];
      }),
    );
    rows.push(Object.fromEntries(cells) as Record<string, string>);
  }
  return rows;
}

/** Seconds of a time as tables show it. */
const shown = (iso: string): string => iso.slice(0, 19).replace('T', ' ');

test('suppression list: each value under its heading', async () => {
  const words = ['--reason', 'complaint', '--note', 'asked by phone'];
  const added = await appliance.json(['suppression', 'add', 'ann@example.net', ...words]);
  const { stdout } = await appliance.run(['suppression', 'list']);
  expect(tableOf(stdout, 2)).toEqual([
    {
      ADDRESS: 'ann@example.net',
      REASON: 'complaint',
      'SINCE (UTC)': shown(String(added['created_at'])),
      SOURCE: 'operator',
      NOTE: 'asked by phone',
    },
  ]);
});

test('suppression import: names the first 20 wrong rows, however many pieces the file travels in', async () => {
  // Each third is a piece or more; 15 wrong rows in each of two.
  const wrong = Array.from({ length: 15 }, (_, at) => `nobody${at}`);
  const right = Array.from({ length: 12_000 }, (_, at) => `reader${at}@long-name.example.org`);
  const csv = ['email', ...wrong, ...right, ...wrong, ...right].join('\n');
  const done = await appliance.run(['suppression', 'import', '-', '--json'], csv);
  const { named, ...counts } = done.json() as { named: { line: number }[] };
  expect([done.code, counts]).toEqual([1, { rows: 24_000, added: 12_000, known: 12_000, bad: 30 }]);
  const lines = Array.from({ length: 20 }, (_, at) => (at < 15 ? at + 2 : at + 12_002));
  expect(named.map(({ line }) => line)).toEqual(lines);
});

test('version --server: the process of the server, in words and as JSON', async () => {
  const { stdout } = await appliance.run(['version', '--server']);
  expect(stdout).toMatch(new RegExp(`^postrider \\S+ \\(pid ${appliance.pid}\\)\n$`));
  expect(await appliance.json(['version', '--server'])).toMatchObject({ pid: appliance.pid });
});

test('log list: the message of each request', async () => {
  const { data } = (await appliance.json(['log', 'list', '--method', 'POST'])) as {
    data: { id: string; message_id: string }[];
  };
  expect(data.map(({ message_id }) => message_id)).toEqual([emailId]);
});

test('queue retry: of a message that does not wait any more it ends with 1', async () => {
  const done = await appliance.run(['queue', 'retry', emailId, '--json']);
  expect([done.code, done.json()]).toEqual([1, { retried: 0 }]);
});

test('operator list and audit: when somebody signed in, and from where what was changed', async () => {
  const { password } = await appliance.json(['operator', 'add', 'clerk']);
  const before = Date.now();
  const post = (path: string, fields: Record<string, string>, cookie = ''): Promise<Response> =>
    fetch(`${appliance.url}/dashboard${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin', cookie },
      body: new URLSearchParams(fields),
    });
  const signedIn = await post('/sign-in', { name: 'clerk', password: String(password) });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const operators = (await appliance.json(['operator', 'list'])) as unknown as {
    name: string;
    signed_in_at: string;
  }[];
  const at = operators.find(({ name }) => name === 'clerk')?.signed_in_at ?? '';
  expect(Date.parse(at)).toBeGreaterThanOrEqual(before);

  const { account_id: account } = appliance.made;
  const paused = await post(`/accounts/${account}/pause`, { reason: 'unpaid' }, cookie);
  expect(paused.status).toBe(303);
  const [newest] = tableOf((await appliance.run(['audit', '--limit', '1'])).stdout, 2);
  expect(newest).toMatchObject({
    WHO: 'clerk',
    WHAT: 'pause',
    ACCOUNT: 'default',
    FROM: '127.0.0.1',
  });
});

test('init: a value that no config may have is wrong usage, what exists is not', async () => {
  const folder = join(appliance.folder, 'second');
  const paths = ['--config', join(folder, 'postrider.toml'), '--data-dir', join(folder, 'data')];
  const codes: Record<string, number> = {};
  let said = '';
  const run = async (name: string, words: string[]): Promise<void> => {
    const { code, stderr } = await runBinary(['init', ...paths, ...words]);
    codes[name] = code;
    said = stderr;
  };
  await run('hostname', ['--hostname', 'no name']);
  await run('acme', ['--hostname', 'mail.example.com', '--acme', 'nobody']);
  await run('prefix', ['--hostname', 'mail.example.com', '--key-prefix', 'A']);
  expect(existsSync(folder)).toBe(false);
  await run('first', ['--hostname', 'mail.example.com']);
  await run('again', ['--hostname', 'mail.example.com']);
  rmSync(join(folder, 'postrider.toml'));
  await run('database', ['--hostname', 'mail.example.com']);
  expect(said).toContain(`${join(folder, 'data', 'mail.db')} exists already`);
  expect(codes).toEqual({ hostname: 64, acme: 64, prefix: 64, first: 0, again: 1, database: 1 });
});
