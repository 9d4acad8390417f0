/**
 * The first email, on the compiled binary: sent with the `resend` package, delivered over STARTTLS to the MX of a DNS
 * server, its signature verified by dkimpy, its webhooks by `standardwebhooks`. And once more after a kill -9.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import PostalMime from 'postal-mime';
import { Resend } from 'resend';
import { Webhook } from 'standardwebhooks';

import { verifyWithDkimpy } from '../rig/dkim-verifier.ts';
import type { HookCall } from '../rig/hook.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

describeWith(['openssl', 'python3-dkim'], 'the first email', () => {
  let world: World;
  let secret = '';
  const resend = (): Resend =>
    new Resend(world.appliance.made.key, { baseUrl: world.appliance.url });
  const eventOf = (call: HookCall): { type: string; data: Record<string, unknown> } =>
    JSON.parse(call.body) as { type: string; data: Record<string, unknown> };
  const isAbout = (id: string, type: string) => (call: HookCall) =>
    eventOf(call).type === type && eventOf(call).data['email_id'] === id;

  beforeAll(async () => {
    world = await startWorld();
    const made = await resend().webhooks.create({
      endpoint: world.hook.url,
      events: ['email.sent', 'email.delivered'],
    });
    if (made.error) throw new Error(made.error.message);
    secret = made.data.signing_secret;
  });

  afterAll(() => world.stop());

  test('POST /domains told us two records to publish', () => {
    expect(world.records.map(({ type, name }) => [type, name])).toEqual([
      ['TXT', expect.stringMatching(/^pr[0-9a-f]{8}\._domainkey\.example\.org$/)],
      ['CNAME', 'send.example.org'],
    ]);
  });

  test('a record that was corrected is seen by the next verify, whatever its TTL', async () => {
    const { names, appliance } = world;
    const added = await appliance.api('POST', '/domains', { name: 'corrected.example.org' });
    const { id, records } = (await added.json()) as {
      id: string;
      records: { type: 'TXT' | 'CNAME'; name: string; value: string }[];
    };
    const verify = async (): Promise<unknown> =>
      (await appliance.api('POST', `/domains/${id}/verify`)).json();
    for (const { type, name } of records)
      names.set(name, type, ['v=DKIM1; p=wrong.example'], 86_400);
    expect(await verify()).toMatchObject({ status: 'pending', dns_ready: false });
    for (const { type, name, value } of records) names.set(name, type, [value], 86_400);
    expect(await verify()).toMatchObject({
      status: 'verified',
      dns_ready: true,
      ses_verified: true,
    });
  });

  test('goes from the client library over STARTTLS into the receiver, signed and aligned', async () => {
    const { data, error } = await resend().emails.send({
      from: 'Grüße <hello@example.org>',
      to: 'ana@example.net',
      replyTo: 'help@example.org',
      subject: 'Willkommen 👋',
      html: '<p>Schön, dass du da bist.</p>',
      text: 'Schön, dass du da bist.',
      tags: [{ name: 'kind', value: 'welcome' }],
    });
    expect(error).toBeNull();
    const received = await world.receiver.messages.first(({ to }) =>
      to.includes('ana@example.net'),
    );

    expect(received.tls?.protocol).toBe('TLSv1.3');
    expect(received.helo).toBe('mail.rig.test');
    expect(received.from).toMatch(/^b-[0-9a-f-]+@send\.example\.org$/);
    expect(await verifyWithDkimpy(received.bytes, world.records)).toBe(true);
    const altered = Buffer.from(
      received.bytes.toString('latin1').replace('Subject:', 'Subject: x'),
      'latin1',
    );
    expect(await verifyWithDkimpy(altered, world.records)).toBe(false);

    const mail = await PostalMime.parse(received.bytes);
    expect(mail.subject).toBe('Willkommen 👋');
    expect(mail.from).toMatchObject({ name: 'Grüße', address: 'hello@example.org' });
    expect(mail.html?.trim()).toBe('<p>Schön, dass du da bist.</p>');
    expect(mail.text?.trim()).toBe('Schön, dass du da bist.');
    expect(mail.messageId).toMatch(/^<[^@]+@[a-z.]+>$/);
    expect(mail.headers.find(({ key }) => key === 'dkim-signature')?.value).toContain(
      'd=example.org',
    );

    const read = await resend().emails.get(data?.id ?? '');
    expect(read.data).toMatchObject({
      id: data?.id,
      to: ['ana@example.net'],
      subject: 'Willkommen 👋',
    });
  });

  test('email.sent and email.delivered arrive and verify with the reference library', async () => {
    const { data } = await resend().emails.send({
      from: 'hello@example.org',
      to: 'ben@example.net',
      subject: 'Hooks',
      text: 'x',
    });
    const id = data?.id ?? '';
    const calls = await Promise.all([
      world.hook.calls.first(isAbout(id, 'email.sent')),
      world.hook.calls.first(isAbout(id, 'email.delivered')),
    ]);
    for (const call of calls) {
      const headers = call.headers as Record<string, string>;
      expect(new Webhook(secret).verify(call.body, headers)).toMatchObject({
        data: { email_id: id, to: ['ben@example.net'], subject: 'Hooks' },
      });
      const forged = call.body.replace('Hooks', 'Hacks');
      expect(() => new Webhook(secret).verify(forged, headers)).toThrow();
    }
    const ids = calls.map((call) => call.headers['webhook-id']);
    expect(new Set(ids).size).toBe(2);
  });

  test('after kill -9 right behind the 2xx it is delivered, once, with the same Message-ID', async () => {
    // The first attempt finds a receiver that does not answer: the kill comes while the mail is only ours.
    world.receiver.script.connect = () => 'stall';
    // It answers on connections that are kept from the mail before; those end by themselves.
    while (world.receiver.openSessions() > 0) await Bun.sleep(20);
    const { data } = await resend().emails.send({
      from: 'hello@example.org',
      to: 'crash@example.net',
      subject: 'Survivor',
      text: 'x',
    });
    const id = data?.id ?? '';
    expect(await world.appliance.signal('SIGKILL')).toBeNull();
    world.receiver.script.connect = () => null;
    await world.appliance.start();

    const kept = await world.appliance.api('GET', `/emails/${id}`);
    const { message_id: messageId } = (await kept.json()) as { message_id: string };
    expect(messageId).toMatch(/^<.+>$/);
    // The attempt that died costs one step of the schedule: the operator need not wait for it.
    await world.appliance.json(['queue', 'retry', id]);
    const received = await world.receiver.messages.first(
      ({ to }) => to.includes('crash@example.net'),
      30_000,
    );
    expect(received.bytes.toString()).toContain(`Message-ID: ${messageId}`);
    await world.hook.calls.first(isAbout(id, 'email.delivered'));
    expect(await world.appliance.signal('SIGTERM')).toBe(0);
    const copies = world.receiver.messages.items.filter(({ to }) =>
      to.includes('crash@example.net'),
    );
    expect(copies).toHaveLength(1);
  });
});
