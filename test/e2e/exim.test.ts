/** A real Exim receives a message of the compiled binary over TLS, and its own log and mailbox say so. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import PostalMime from 'postal-mime';

import { testAuthority } from '../rig/certificates.ts';
import { verifyWithDkimpy } from '../rig/dkim-verifier.ts';
import { startExim } from '../rig/exim.ts';
import type { Exim } from '../rig/exim.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const DOMAIN = 'exim.test';
/** Dots where SMTP needs them doubled, a line that a mailbox would take for a beginning, and no line end at the end. */
const TEXT = 'A line.\n.\n..dots at the start\nFrom here on\nand an end without a line end';

interface Email {
  status: string;
  events: { type: string; payload: string | null }[];
}

describeWith(['root', 'libgnutls-dane', 'openssl', 'python3-dkim'], 'a real Exim', () => {
  let exim: Exim | undefined;
  let world: World | undefined;

  beforeAll(async () => {
    const certificate = testAuthority().issue([`mx.${DOMAIN}`]);
    exim = await startExim(DOMAIN, { host: '127.0.0.1', port: 1 }, certificate);
    world = await startWorld({ port: exim.port });
    world.names.set(DOMAIN, 'MX', [`10 mx.${DOMAIN}`]);
    world.names.set(`mx.${DOMAIN}`, 'A', [exim.host]);
  }, 120_000);

  afterAll(async () => {
    await world?.stop();
    await exim?.stop();
  });

  test('takes a message over TLS; its bytes still verify in its mailbox', async () => {
    if (exim === undefined || world === undefined) throw new Error('nothing runs');
    const { appliance, hook } = world;
    const endpoint = await appliance.api('POST', '/webhooks', { endpoint: hook.url });
    expect(endpoint.status).toBe(201);
    const sent = await appliance.api('POST', '/emails', {
      from: 'Grüße <hello@example.org>',
      to: `ann@${DOMAIN}`,
      subject: 'Für Exim',
      text: TEXT,
    });
    const { id } = (await sent.json()) as { id: string };
    await hook.calls.first(({ body }) => body.includes('"email.delivered"'), 20_000);

    const email = (await (await appliance.api('GET', `/emails/${id}`)).json()) as Email;
    const delivered = email.events.find(({ type }) => type === 'email.delivered');
    expect(JSON.parse(delivered?.payload ?? '{}')).toMatchObject({
      host: `mx.${DOMAIN}`,
      reply: expect.stringMatching(/^250 OK id=/),
      tls: { version: 'TLSv1.3', cipher: expect.stringMatching(/^TLS_/), verified: true },
    });
    const mailbox = await kept(exim);
    expect(exim.log()).toMatch(/ <= b-[0-9a-f-]+@send\.example\.org H=.* P=esmtps X=TLS1\.3:/);
    expect(mailbox).toContain(`Envelope-to: ann@${DOMAIN}\n`);
    const stored = mailbox.slice(mailbox.indexOf('DKIM-Signature:')).replace(/\n\n$/, '\n');
    const bytes = Buffer.from(
      stored.replace(/^>From /gm, 'From ').replaceAll('\n', '\r\n'),
      'latin1',
    );
    expect(await verifyWithDkimpy(bytes, world.records)).toBe(true);
    const mail = await PostalMime.parse(bytes);
    expect(mail).toMatchObject({ subject: 'Für Exim', from: { name: 'Grüße' } });
    expect(mail.text?.trimEnd()).toBe(TEXT);
  }, 60_000);
});

/** The mailbox once Exim's log says that the message is in it: another process writes both. */
async function kept(exim: Exim): Promise<string> {
  for (const end = Date.now() + 20_000; !/ => ann <ann@.* T=mailbox/.test(exim.log());) {
    if (Date.now() > end) throw new Error(`Exim kept nothing; its log says:\n${exim.log()}`);
    await Bun.sleep(20);
  }
  return exim.mailbox();
}
