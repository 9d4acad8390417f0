/** The inbox of capture mode: searched, shown in tabs, checked, deleted. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';
import { rowsOf } from '../page-text.ts';

let rig: DashboardRig;
let count = 0;
beforeAll(async () => {
  rig = await startDashboardRig({ config: '[api]\nsingle_send = "full"\n' });
  await sent('Welcome <b>', {
    html: '<style>p{display:grid}</style><p>Hello <a href="http://x.example/?a=1">x</a><img src="https://x.example/<i>.png">',
    attachments: [{ filename: 'a"b.txt', content: Buffer.from('Ten euros.').toString('base64') }],
  });
  await sent('Your invoice', { text: 'Only text' });
});
afterAll(() => rig.stop());

/** Sends, and waits until the inbox has it: as the next number. */
async function sent(subject: string, content: Record<string, unknown>): Promise<void> {
  await rig.send({ from: 'shop@sender.example', to: 'me@receiver.example', subject, ...content });
  const number = (count += 1);
  while ((await rig.visit(`/inbox/${number}`)).status !== 200) await Bun.sleep(20);
}

const tab = async (name: string): Promise<string> => (await rig.visit(`/inbox/1?tab=${name}`)).text;

test('the list is searched by subject, sender and recipient', async () => {
  for (const [q, hits] of [
    ['INVOICE', 1],
    ['shop@', 2],
    ['me@receiver', 2],
    ['nothing', 0],
  ] as const) {
    const { text } = await rig.visit(`/inbox?q=${q}`);
    expect([q, (text.match(/inbox\/\d+"/g) ?? []).length]).toEqual([q, hits]);
  }
});

test('the HTML is shown in three widths, checked, and its links are listed', async () => {
  expect((await rig.visit('/inbox/1?tab=html&width=phone')).text).toContain(
    '<iframe class="phone"',
  );
  expect(await tab('html')).toContain('<iframe class="desktop"');
  const check = await tab('check');
  expect(check).toContain('<code>display: grid</code>');
  expect(check).toContain('1 image has no alt text');
  const grid = rowsOf(check).find(({ Used = '' }) => Used.startsWith('display: grid'));
  expect(Object.keys(grid ?? {})).toEqual([
    'Used',
    'Gmail',
    'Outlook on Windows',
    'Apple Mail',
    'Yahoo',
  ]);
  const links = await tab('links');
  expect(links).toContain('http://x.example/?a=1');
  expect(links).toContain('not encrypted: use https');
  expect(links).not.toContain('<i>');
  expect(await tab('source')).toContain('Subject: ');
});

test('a message without HTML has no tabs for it', async () => {
  const { text } = await rig.visit('/inbox/2?tab=check');
  expect(text).toContain('Only text');
  expect(text).not.toContain('HTML check');
});

test('an attachment is only ever saved', async () => {
  expect(await tab('attachments')).toContain('a&quot;b.txt');
  const { headers, text } = await rig.visit('/inbox/1/attachments/1');
  expect(text).toBe('Ten euros.');
  expect(headers.get('content-type')).toBe('application/octet-stream');
  expect(headers.get('content-disposition')).toStartWith('attachment; filename="a_b.txt"');
  for (const at of ['0', '2', 'x']) {
    expect((await rig.visit(`/inbox/1/attachments/${at}`)).status).toBe(404);
  }
});

test('one message is deleted, then all', async () => {
  const removed = await rig.submit('/inbox/1/remove');
  expect(removed.headers.get('location')).toBe('/dashboard/inbox?done=removed');
  const isNoted = ({ event }: { event: string }): boolean => event === 'dashboard_action';
  expect(await rig.rig.log.first(isNoted)).toMatchObject({
    level: 'info',
    path: '/inbox/1/remove',
    operator: 'admin',
  });
  expect((await rig.visit('/inbox/1')).status).toBe(404);
  expect((await rig.submit('/inbox/1/remove')).status).toBe(404);
  expect((await rig.visit('/inbox/2')).status).toBe(200);
  const cleared = await rig.submit('/inbox/clear');
  expect(cleared.headers.get('location')).toBe('/dashboard/inbox?done=inbox_cleared&count=1');
  expect((await rig.visit('/inbox')).text).toContain('Nothing was captured since the start');
});
