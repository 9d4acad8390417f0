/**
 * Large emails that are sent again, after another process has accepted them: read on the background thread, their bytes
 * shared with the signing thread. They arrive whole, and verify.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';

import PostalMime from 'postal-mime';

import { verifyAllWithOpendkim } from '../rig/dkim-verifier.ts';
import { describeWith } from '../rig/programs.ts';
import { openTarget, type Target } from '../torture/open-target.ts';

const MIB = 1024 * 1024;
/** Of what the API takes in one email: 14 MB with base64. */
const FILE = randomBytes(6 * MIB);
const HTML = `<p>"Grüße"</p>\r\n<p>.\r\n</p>\r\n`.repeat(40_000);
/** Lines with and without a dot at their beginning. */
const LINES = `.\r\n..one\r\n${'x'.repeat(900)}\r\n`.repeat(4_000);

/** The parser ends lines in its own way; a hash, since a difference would be printed whole. */
const lines = (text = ''): string =>
  Bun.SHA256.hash(text.replaceAll('\r\n', '\n').trimEnd(), 'hex');

describeWith(['openssl', 'opendkim'], 'large emails that are sent again', () => {
  let target: Target;

  beforeAll(async () => {
    target = await openTarget();
  }, 60_000);
  afterAll(() => target.world.stop());

  test('arrive whole, and verify', async () => {
    const { world } = target;
    const { appliance, receiver, records } = world;
    receiver.script.rcpt = () => '450 4.2.2 try later';
    const send = async (content: object): Promise<string> => {
      const email = { from: 'a@example.org', to: 'b@example.net', subject: 'API', ...content };
      const { status, text } = await target.post(Buffer.from(JSON.stringify([email])));
      expect([status, text]).toEqual([200, expect.any(String)]);
      return (JSON.parse(text) as { data: { id: string }[] }).data[0]?.id ?? '';
    };
    const file = { filename: 'a.bin', content: FILE.toString('base64') };
    const fileId = await send({ text: 'A file.', attachments: [file] });
    await send({ html: HTML, text: 'Text.' });
    const head = 'From: a@example.org\r\nTo: b@example.net\r\nSubject: SMTP\r\n\r\n';
    // As it stands in DATA: the client doubles the dots.
    expect(await target.submit(head + LINES.replaceAll(/^\./gm, '..'))).toMatch(/^250 /);
    await appliance.log.atLeast(
      3,
      ({ event, status }) => event === 'attempt' && status === 'delivery_delayed',
      30_000,
    );
    // What the process that accepted them may have kept is gone.
    expect(await appliance.signal('SIGTERM')).toBe(0);
    receiver.script.rcpt = () => null;
    await appliance.start();
    await appliance.json(['queue', 'retry']);

    const received = await receiver.messages.atLeast(3, () => true, 60_000);
    const bytes = received.map((message) => message.bytes);
    expect(await verifyAllWithOpendkim(bytes, records)).toEqual([true, true, true]);
    const parsed = await Promise.all(bytes.map((one) => PostalMime.parse(one)));
    const withFile = parsed.find(({ attachments }) => attachments.length === 1);
    const content = withFile?.attachments[0]?.content;
    expect(content instanceof ArrayBuffer && FILE.equals(Buffer.from(content))).toBe(true);
    const withHtml = parsed.find(({ html }) => html !== undefined);
    expect(lines(withHtml?.html)).toBe(lines(HTML));
    const submitted = parsed.find(({ subject }) => subject === 'SMTP');
    expect(lines(submitted?.text)).toBe(lines(LINES));

    // Whoever asks for the file gets it whole, too.
    const list = await (await appliance.api('GET', `/emails/${fileId}/attachments`)).json();
    const { data } = list as { data: { download_url: string }[] };
    const { pathname, search } = new URL(data[0]?.download_url ?? '');
    const download = await fetch(appliance.url + pathname + search);
    expect(FILE.equals(Buffer.from(await download.arrayBuffer()))).toBe(true);
  }, 120_000);
});
