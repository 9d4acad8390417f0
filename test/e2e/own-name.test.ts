/**
 * `[cluster] name` on the compiled binary: what stands in customers' DNS records and in messages is the service's name,
 * what the machine says of itself stays its own, and mail to either comes in.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { freePorts } from '../rig/ports.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';
import { RawClient } from '../smtp/raw-client.ts';

const SERVICE = 'mail.service.example';
const MACHINE = 'mail.rig.test';

describeWith(['openssl'], 'a service with a name of its own', () => {
  let world: World;
  let inbound: { host: string; port: number };
  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    inbound = { host: '127.0.0.1', port };
    world = await startWorld({
      config: `[cluster]\nname = "${SERVICE}"\n[smtp]\ninbound = "${inbound.host}:${inbound.port}"\n`,
    });
  }, 60_000);
  afterAll(() => world.stop());

  const returnPath = (): string =>
    world.records.find(({ type }) => type === 'CNAME')?.value ?? 'no record';
  /** What a check says of the return path that leads to `target`. */
  const statusWith = async (target: string): Promise<string> => {
    const { data } = (await (await world.appliance.api('GET', '/domains')).json()) as {
      data: { id: string }[];
    };
    world.names.set('send.example.org', 'CNAME', [target]);
    const answer = await world.appliance.api('POST', `/domains/${data[0]?.id ?? ''}/verify`);
    const { records } = (await answer.json()) as { records: { type: string; status: string }[] };
    return records.find(({ type }) => type === 'CNAME')?.status ?? 'no record';
  };

  test('customers point their return path at the service; one that points at the machine stays verified', async () => {
    expect(returnPath()).toBe(SERVICE);
    expect(await statusWith(MACHINE)).toBe('verified');
    expect(await statusWith('mail.elsewhere.example')).not.toBe('verified');
    expect(await statusWith(SERVICE)).toBe('verified');
  });

  test('neither name can be a sending domain', async () => {
    for (const name of [SERVICE, MACHINE]) {
      const answer = await world.appliance.api('POST', '/domains', { name });
      expect([name, answer.status]).toEqual([name, 422]);
    }
  });

  test('messages carry the name of the service, and the machine greets with its own', async () => {
    const { appliance, receiver } = world;
    await appliance.api('POST', '/emails', {
      from: 'a@example.org',
      to: 'b@example.net',
      subject: 'named',
      text: 'x',
    });
    const { bytes, helo } = await receiver.messages.first(({ bytes: all }) =>
      all.includes('Subject: named\r'),
    );
    expect(helo).toBe(MACHINE);
    const header = bytes.toString('latin1');
    const messageId = /^Message-ID: (<[^>]+>)/m.exec(header)?.[1] ?? '';
    expect(messageId).toEndWith(`@${SERVICE}>`);
    expect(/^Feedback-ID: ([^\r]+)/m.exec(header)?.[1]).toEndWith(`:${SERVICE}`);

    for (const forged of [messageId, messageId.replace(SERVICE, MACHINE)]) {
      const answer = await appliance.api('POST', '/emails', {
        from: 'a@example.org',
        to: 'b@example.net',
        subject: 'forged',
        text: 'x',
        headers: { 'Message-ID': forged },
      });
      expect([forged, answer.status]).toEqual([forged, 422]);
    }
  });

  test('mail to postmaster comes in under both names', async () => {
    const client = await RawClient.open(inbound);
    await client.hello();
    expect(await client.command('MAIL FROM:<>')).toStartWith('250');
    for (const name of [SERVICE, MACHINE]) {
      expect(await client.command(`RCPT TO:<postmaster@${name}>`)).toStartWith('250');
    }
    expect(await client.command('RCPT TO:<postmaster@elsewhere.example>')).toStartWith('550');
    client.close();
  });
});
