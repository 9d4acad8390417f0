/** The tab "Spam" of the inbox: every end in plain words, for those who can repair it and for those who look. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { addOperator, setPassword } from '../../../src/flow/people/operators.ts';
import { type RspamdStub, saying, startRspamdStub, ANSWER } from '../../rig/rspamd-stub.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';
import { rowsOf } from '../page-text.ts';

const PASSWORD = 'long enough for anyone';

let stub: RspamdStub;
let rig: DashboardRig;
let unset: DashboardRig;
let gone: DashboardRig;
const readers = new Map<DashboardRig, string>();

beforeAll(async () => {
  stub = await startRspamdStub();
  const inbox = (url: string) => ({ config: `[inbox]\nrspamd_url = "${url}"\n` });
  [rig, unset, gone] = await Promise.all([
    startDashboardRig(inbox(stub.url)),
    startDashboardRig(),
    startDashboardRig(inbox(`http://127.0.0.1:1`)),
  ]);
  for (const one of [rig, unset, gone]) {
    await captured(one, 1);
    readers.set(one, await readerOf(one));
  }
}, 30_000);
afterAll(async () => {
  for (const one of [rig, unset, gone]) await one.stop();
  await stub.stop();
});

/** Sends, and waits until the inbox has it under this number. */
async function captured(one: DashboardRig, number: number): Promise<void> {
  await one.send({
    from: 'shop@sender.example',
    to: 'ann@receiver.example',
    subject: 'Your invoice',
    text: 'Hello',
  });
  while ((await one.visit(`/inbox/${number}`)).status !== 200) await Bun.sleep(20);
}

/** The cookie of somebody who may look and change nothing. */
async function readerOf(one: DashboardRig): Promise<string> {
  const { ctx } = one.rig.appliance;
  await addOperator(ctx, { name: 'reader', role: 'read_only', accountId: null });
  await setPassword(ctx, 'reader', PASSWORD);
  const answer = await fetch(`${one.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ name: 'reader', password: PASSWORD }),
  });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** What the tab says, without markup. */
async function said(one: DashboardRig, number = 1, cookie = one.cookie): Promise<string> {
  const { status, text } = await one.visit(`/inbox/${number}?tab=spam`, { cookie });
  expect(status).toBe(200);
  const main = /<\/nav>(?!.*<\/nav>)(.*)<\/main>/s.exec(text)?.[1] ?? '';
  return main.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}

const reader = (one: DashboardRig): string => readers.get(one) ?? '';

/** A new message, about which rspamd says `answer`. */
let last = 1;
async function scored(answer: unknown): Promise<string> {
  stub.answerWith(saying(JSON.stringify(answer)));
  await captured(rig, (last += 1));
  return said(rig, last);
}

test('the score, what rspamd would do, and its rules by weight', async () => {
  const words = await said(rig);
  expect(words).toContain('Score 12.7 of 15 : rspamd would deliver it marked as spam add header');
  const rules = words.match(/(?:[+−][\d.]+ )?[A-Z]+(?:_[A-Z]+)+/g);
  expect(rules).toEqual([
    '+8 BROKEN_HEADERS',
    '+3 FORGED_MUA_THEBAT_MSGID_UNKNOWN',
    '+0.5 HTTP_TO_HTTPS',
    '−0.2 R_DKIM_ALLOW',
    'FROM_HAS_DN',
  ]);
  expect(words).toContain('Headers structure is likely broken');
  expect(words).toContain('paypal.com.evil.example');
  expect(await said(rig, 1, reader(rig))).toContain('Score 12.7 of 15');
  expect(stub.requests).toHaveLength(1);
  expect(stub.requests[0]?.headers['rcpt']).toBe('ann@receiver.example');
});

test('other tabs and lists ask nothing', async () => {
  for (const path of ['/inbox', '/inbox/1', '/inbox/1?tab=source', '/inbox/1/source']) {
    expect((await rig.visit(path)).status).toBe(200);
  }
  expect(stub.requests).toHaveLength(1);
});

test.each([
  ['no action', 'would deliver it'],
  ['greylist', 'would put the first attempt off'],
  ['soft reject', 'would put it off for now'],
  ['rewrite subject', 'marked as spam in its subject'],
  ['quarantine', 'would keep it in quarantine'],
  ['reject', 'would refuse it'],
  ['discard', 'would accept it and throw it away'],
  ['make tea', 'would do what its operator calls so make tea'],
  ['constructor', 'would do what its operator calls so constructor'],
])('%s is said in plain words', async (action, words) => {
  expect(await scored({ ...ANSWER, action })).toContain(words);
});

test('scores below zero, no limit, no rules, and more than are shown', async () => {
  const { required_score: _, ...rest } = ANSWER;
  const low = await scored({ ...rest, score: -1.236, symbols: {} });
  expect(low).toContain('Score −1.24 :');
  expect(low).not.toContain('less weight');
  expect(low).toContain('No rule says anything of it.');
  const many = Array.from({ length: 103 }, (_, at) => [`R_${at}`, { score: at }]);
  expect(await scored({ ...ANSWER, symbols: Object.fromEntries(many) })).toContain(
    '3 rules of less weight are not shown.',
  );
  expect(await scored({ ...ANSWER, is_skipped: true })).toContain('did not ask all its rules');
});

test('what rspamd repeats of a message is text, not markup', async () => {
  const evil = '<img src=x onerror=alert(1)>"\'';
  const symbols = { [evil]: { score: 1, description: evil, options: [evil] } };
  await scored({ ...ANSWER, action: evil, symbols });
  const { text } = await rig.visit(`/inbox/${last}?tab=spam`);
  expect(text).not.toContain('<img');
  expect(text.match(/&lt;img src=x onerror=alert\(1\)&gt;&quot;&#39;/g)).toHaveLength(4);
});

test('without an rspamd it says how to have one, to those who can', async () => {
  const words = await said(unset);
  expect(words).toContain('rspamd_url = "http://127.0.0.1:11333" under [inbox]');
  expect(words).toContain('postrider reload');
  const seen = await said(unset, 1, reader(unset));
  expect(seen).toContain('This server is not set up to ask rspamd for one.');
  expect(seen).not.toContain('rspamd_url');
});

test('an rspamd that does not answer is named, with what to do, to those who can', async () => {
  const words = await said(gone);
  expect(words).toContain('rspamd gave no score');
  expect(words).toMatch(/asked at http:\/\/127\.0\.0\.1:\d+ : the connection was refused\./);
  expect(words).toContain('See that rspamd runs there');
  const seen = await said(gone, 1, reader(gone));
  expect(seen).toContain('got no answer that it understands');
  expect(seen).not.toContain('127.0.0.1');
  stub.answerWith((response) => response.writeHead(401).end('{"error":"Unauthorized"}'));
  await captured(rig, (last += 1));
  expect(await said(rig, last)).toMatch(/status 401\. See that .* usually port 11333/);
});

test('the config in force shows the address', async () => {
  const { text } = await rig.visit('/settings/config');
  expect(text).toContain('inbox.rspamd_url');
  expect(text).toContain(stub.url);
});

test('the whole tab of a score', async () => {
  const text = (await scored(ANSWER)).replace(/Asked [\d: -]+/, 'Asked TIME ');
  expect(text.trim()).toBe(
    [
      'Score 12.7 of 15 : rspamd would deliver it marked as spam add header',
      'Score Rule',
      '+8 BROKEN_HEADERS Headers structure is likely broken',
      '+3 FORGED_MUA_THEBAT_MSGID_UNKNOWN Message pretends to be send from The Bat! but has forged Message-ID',
      '+0.5 HTTP_TO_HTTPS Anchor text contains different scheme to target URL paypal.com.evil.example',
      '−0.2 R_DKIM_ALLOW',
      'FROM_HAS_DN From header has a display name',
      'Points above 0 speak for spam; rules without points only note something.',
      'Rules about the address and the name of the sending server (SPF, blocklists) say nothing here, where there is none.',
      'Asked TIME UTC ; a page that is loaded after a minute asks again.',
    ].join(' '),
  );
  const { text: page } = await rig.visit(`/inbox/${last}?tab=spam`);
  expect(rowsOf(page).map((row) => row['Score'])).toEqual(['+8', '+3', '+0.5', '−0.2', undefined]);
});
