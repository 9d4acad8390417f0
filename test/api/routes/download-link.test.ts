/**
 * Download links: one attachment, one hour, no key, and nothing else.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { olderSummary } from '../../../src/api/shapes/email-response.ts';
import { TestClock } from '../../rig/clock.ts';
import { openBench, type Bench } from '../bench.ts';

const clock = new TestClock();
let bench: Bench;
let key: string;
let id: string;
let links: string[];

beforeAll(async () => {
  bench = await openBench({ clock });
  const account = await bench.account('links', 'fast');
  await bench.domain(account, 'own.example.com');
  key = await bench.key(account);
  const sent = await bench.ask({
    path: '/emails/batch',
    key,
    body: [
      {
        from: 'a@own.example.com',
        to: 'delivered@sandbox.test',
        subject: 's',
        attachments: [
          {
            filename: 'äh "x".html',
            content: Buffer.from('<script>1</script>').toString('base64'),
          },
          { filename: 'b.txt', content: 'Yg==' },
          { filename: "*(c')!~.txt", content: 'Yw==' },
        ],
      },
    ],
  });
  id = sent.json.data[0].id;
  const list = await bench.ask({ path: `/emails/${id}/attachments`, key });
  links = list.json.data.map((row: { download_url: string }) => {
    const { pathname, search } = new URL(row.download_url);
    return pathname + search;
  });
});

afterAll(() => bench.close());

test('a link gives the bytes, as a file and never as a page', async () => {
  const sent = await bench.ask({ path: links[0] ?? '' });
  expect([sent.status, sent.text]).toEqual([200, '<script>1</script>']);
  expect(sent.headers.get('content-type')).toBe('application/octet-stream');
  expect(sent.headers.get('content-disposition')).toBe(
    "attachment; filename*=UTF-8''%C3%A4h%20%22x%22.html",
  );
  expect(sent.headers.get('x-content-type-options')).toBe('nosniff');
  // RFC 8187 section 3.2.1 allows fewer characters than a URL does.
  const third = await bench.ask({ path: links[2] ?? '' });
  expect([third.text, third.headers.get('content-disposition')]).toEqual([
    'c',
    "attachment; filename*=UTF-8''%2A%28c%27%29!~.txt",
  ]);
});

test('a link opens nothing else, and no other text opens it', async () => {
  const [first = '', second = ''] = links;
  const [path = '', query = ''] = first.split('?');
  const otherQuery = second.split('?')[1] ?? '';
  for (const wrong of [
    `${path}?${otherQuery}`,
    `${path}?${query.replace(/expires=(\d)/, 'expires=9$1')}`,
    `${path}?${query.slice(0, -2)}`,
    `${path}?expires=${clock.now() + 1_000}&signature=`,
    first.replace(id, '01913c7e-89ab-7cde-8f01-23456789abcd'),
  ]) {
    const sent = await bench.ask({ path: wrong });
    expect([sent.status, sent.json.code]).toEqual([404, 'not_found']);
  }
  expect((await bench.ask({ path })).status).toBe(422);
});

test('the end of a link is told in the time that the clock on the wall shows', async () => {
  for (const ms of [86_400_000, -86_400_000]) {
    clock.jump(ms);
    const list = await bench.ask({ path: `/emails/${id}/attachments`, key });
    const ends = list.json.data.map((row: { expires_at: string }) => Date.parse(row.expires_at));
    expect(ends).toEqual(links.map(() => clock.now() + 3_600_000));
  }
});

test('a link ends after an hour', async () => {
  clock.pass(3_600_000 - 1);
  expect((await bench.ask({ path: links[1] ?? '' })).text).toBe('b');
  clock.pass(1);
  expect((await bench.ask({ path: links[1] ?? '' })).status).toBe(404);
});

test('content that is no longer kept: archived is false, and no content is returned', async () => {
  expect(await bench.ctx.store.purgeBodies(clock.now() + 1)).toBe(1);
  const body = await bench.ask({ path: `/emails/${id}/body`, key });
  expect(body.json).toEqual({
    archived: false,
    html: null,
    text: null,
    headers: null,
    attachments: [],
  });
  const found = await bench.ask({ path: `/emails/${id}`, key });
  expect(found.json).toMatchObject({ id, html: null, text: null, subject: 's' });
  const older = await bench.ask({ path: `/email/${id}`, key });
  expect(older.json).toMatchObject({ html: '', text: null });
  const list = await bench.ask({ path: `/emails/${id}/attachments`, key });
  expect(list.json.data).toEqual([]);
});

test('the older family has six values for a status', async () => {
  const message = await bench.ctx.store.messageById(id);
  if (message === null) throw new Error('no message');
  const statuses = [
    'queued',
    'sent',
    'delivered',
    'delivery_delayed',
    'bounced',
    'complained',
    'failed',
    'suppressed',
  ] as const;
  expect(statuses.map((status) => olderSummary({ ...message, status }).status)).toEqual([
    'queued',
    'sent',
    'delivered',
    'sent',
    'bounced',
    'complained',
    'failed',
    'failed',
  ]);
});
