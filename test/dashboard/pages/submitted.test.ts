/**
 * A message taken over SMTP looks on the dashboard and in the API like one that came by HTTP: with its attachments.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createTransport } from 'nodemailer';

import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

const PIXEL = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64');

let rig: DashboardRig;
let id = '';
beforeAll(async () => {
  rig = await startDashboardRig({ config: '[smtp]\nsubmissions = ["127.0.0.1:0"]\n' });
  const [host, port] = (rig.rig.appliance.addresses.submissions[0] ?? '').split(':');
  const client = createTransport({
    host: host ?? '',
    port: Number(port),
    secure: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'postrider', pass: rig.rig.key },
  });
  const { response } = await client.sendMail({
    from: 'news@sender.example',
    to: 'someone@receiver.example',
    subject: 'Your invoice',
    html: '<p>Thanks.</p><img src="cid:pixel@sender.example">',
    attachments: [
      { filename: 'invoice.txt', content: 'Ten euros.', contentType: 'text/plain' },
      { filename: 'pixel.gif', content: PIXEL, cid: 'pixel@sender.example' },
    ],
  });
  client.close();
  id = /as ([0-9a-f-]{36})/.exec(response)?.[1] ?? '';
});
afterAll(() => rig.stop());

interface Listed {
  filename: string;
  content_type: string;
  size: number;
}

async function read(path: string): Promise<unknown> {
  const response = await fetch(`${rig.rig.url}/v1/emails/${id}${path}`, {
    headers: { authorization: `Bearer ${rig.rig.key}` },
  });
  return response.json();
}

const byName = (list: readonly Listed[]): string[] =>
  list
    .map(({ filename, content_type: type, size }) => `${filename} (${type}, ${size} bytes)`)
    .toSorted();

/** What the tab of attachments lists, in order of names. */
function attachmentsIn(page: string): string[] {
  const cells =
    /data-label="Name" [^>]*>([^<]*)<\/td><td data-label="Type" *>([^<]*)<\/td><td data-label="Size" [^>]*>([^<]*)</g;
  return Array.from(
    page.matchAll(cells),
    ([, name, type, size]) => `${name} (${type}, ${size})`,
  ).toSorted((a, b) => a.localeCompare(b));
}

test('the dashboard and both reads of the API list the same attachments', async () => {
  const { text } = await rig.visit(`${rig.account}/emails/${id}?tab=attachments`);
  const expected = ['invoice.txt (text/plain, 10 bytes)', 'pixel.gif (image/gif, 23 bytes)'];
  expect(attachmentsIn(text)).toEqual(expected);
  const list = (await read('/attachments')) as { data: Listed[] };
  const body = (await read('/body')) as { attachments: Listed[] };
  expect(byName(list.data)).toEqual(expected);
  expect(byName(body.attachments)).toEqual(expected);
});

test('an image that the HTML names by its Content-ID is shown from the message', async () => {
  const { text } = await rig.visit(`${rig.account}/emails/${id}/html`);
  expect(text).toContain(`data:image/gif;base64,${PIXEL.toString('base64')}`);
});

test('an email from the API shows its attachments and the images of its HTML', async () => {
  // The API takes no attachments on this route unless the operator allows them; a batch does.
  const response = await fetch(`${rig.rig.url}/emails/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rig.rig.key}`, 'content-type': 'application/json' },
    body: JSON.stringify([
      {
        from: 'news@sender.example',
        to: 'someone@receiver.example',
        subject: 'Hi',
        html: '<img src="cid:pixel">',
        attachments: [
          { filename: 'pixel.gif', content: PIXEL.toString('base64'), content_id: 'pixel' },
        ],
      },
    ]),
  });
  const { data } = (await response.json()) as { data: { id: string }[] };
  const path = `${rig.account}/emails/${data[0]?.id}`;
  const { text } = await rig.visit(`${path}?tab=attachments`);
  expect(attachmentsIn(text)).toEqual(['pixel.gif (image/gif, 23 bytes)']);
  const saved = await rig.visit(`${path}/attachments/1`);
  expect(saved.headers.get('content-disposition')).toContain('attachment; filename="pixel.gif"');
  expect(saved.headers.get('content-type')).toBe('application/octet-stream');
  expect(saved.text).toBe(PIXEL.toString());
  expect((await rig.visit(`${path}/attachments/2`)).status).toBe(404);
  expect((await rig.visit(`${path}/html`)).text).toContain('data:image/gif;base64,');
});
