/** Attachments as they are listed: inline where the HTML can show them, with names that are safe in a header. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { openBench, type Bench } from '../bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  const account = await bench.account('files', 'fast');
  await bench.domain(account, 'own.example.com');
  key = await bench.key(account);
});
afterAll(() => bench.close());

test('one with a Content-ID is inline, and every delimiter of RFC 8187 is escaped', async () => {
  const content = 'Yg==';
  const attachments = [
    { filename: 'logo.png', content, content_id: 'logo' },
    { filename: "a'(b)*c.txt", content },
  ];
  const email = { from: 'a@own.example.com', to: 'delivered@sandbox.test', subject: 's' };
  const body = [{ ...email, attachments }];
  const sent = await bench.ask({ path: '/emails/batch', key, body });
  const path = `/emails/${sent.json.data[0].id}/attachments`;
  const { data } = (await bench.ask({ path, key })).json;
  expect(data).toMatchObject([
    { filename: 'logo.png', content_disposition: 'inline', content_id: 'logo' },
    { filename: "a'(b)*c.txt", content_disposition: 'attachment', content_id: null },
  ]);
  for (const row of data) {
    const one = await bench.ask({ path: `${path}/${row.id}`, key });
    const { download_url: _url, expires_at: _end, ...kept } = row;
    expect(one.json).toMatchObject({ object: 'attachment', ...kept });
  }
  const { pathname, search } = new URL(data[1].download_url);
  const file = await bench.ask({ path: pathname + search });
  expect(file.headers.get('content-disposition')).toBe(
    "attachment; filename*=UTF-8''a%27%28b%29%2Ac.txt",
  );
});
