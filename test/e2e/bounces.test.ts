/** A real Postfix and a real Exim take a message of the compiled binary, and bounce it back to its own port 25. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { startExim } from '../rig/exim.ts';
import { freePorts } from '../rig/ports.ts';
import { startPostfix } from '../rig/postfix.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

interface EmailAnswer {
  status: string;
  failure_reason: string | null;
  events: { type: string; payload: string | null }[];
}

interface Bouncer {
  host: string;
  port: number;
  log(): string;
  stop(): void | Promise<void>;
}

const DOMAIN = 'bounce.test';
const NEXT = '127.0.0.1';

/** Takes everything at RCPT, so that its local delivery agent finds out too late. */
function bouncingPostfix(inboundPort: number): Promise<Bouncer> {
  return startPostfix(`mx.${DOMAIN}`, ['elsewhere.test'], {
    main: `mydestination = ${DOMAIN}
local_recipient_maps =
relayhost = [${NEXT}]:${inboundPort}
disable_dns_lookups = yes
`,
    master: 'smtp unix - - n - - smtp\nlocal unix - n n - - local\n',
  });
}

for (const [name, start] of [
  ['Postfix', bouncingPostfix],
  ['Exim', (inboundPort: number) => startExim(DOMAIN, { host: NEXT, port: inboundPort })],
] as const) {
  describeWith(['root', 'libgnutls-dane', 'postfix', 'openssl'], `a real ${name}`, () => {
    let bouncer: Bouncer | undefined;
    let world: World | undefined;

    beforeAll(async () => {
      const [inboundPort = 0] = await freePorts(1, NEXT);
      bouncer = await start(inboundPort);
      world = await startWorld({
        port: bouncer.port,
        config: `[smtp]\ninbound = "${NEXT}:${inboundPort}"\n`,
      });
      world.names.set(DOMAIN, 'MX', [`10 mx.${DOMAIN}`]);
      world.names.set(`mx.${DOMAIN}`, 'A', [bouncer.host]);
    }, 60_000);

    afterAll(async () => {
      await world?.stop();
      await bouncer?.stop();
    });

    test('takes a message, bounces it, and the bounce finds its recipient', async () => {
      if (world === undefined || bouncer === undefined) throw new Error('nothing runs');
      const { appliance, hook } = world;
      const log = bouncer.log.bind(bouncer);
      const endpoint = await appliance.api('POST', '/webhooks', { endpoint: hook.url });
      expect(endpoint.status).toBe(201);
      const sent = await appliance.api('POST', '/emails', {
        from: 'hello@example.org',
        to: `nobody-at-all@${DOMAIN}`,
        subject: 'Will come back',
        text: 'Hello.',
      });
      const { id } = (await sent.json()) as { id: string };
      const applied = await appliance.log
        .first((line) => line.event === 'report_applied', 30_000)
        .catch((error: unknown) => {
          throw new Error(`no report came; the log of ${name} says:\n${log()}`, {
            cause: error,
          });
        });
      expect(applied).toMatchObject({ message_id: id, status: 'bounced' });

      const email = (await (await appliance.api('GET', `/emails/${id}`)).json()) as EmailAnswer;
      expect(email.status).toBe('bounced');
      expect(email.events.map(({ type }) => type)).toEqual([
        'email.queued',
        'email.sent',
        'email.delivered',
        'email.bounced',
      ]);
      const payload = JSON.parse(email.events.at(-1)?.payload ?? '{}') as object;
      expect(payload).toMatchObject({
        recipient: `nobody-at-all@${DOMAIN}`,
        via: 'report',
        bounce: { type: 'Permanent', subType: 'NoEmail' },
      });
      const list = (await (await appliance.api('GET', '/suppressions')).json()) as {
        data: { email: string; reason: string }[];
      };
      expect(list.data).toMatchObject([
        { email: `nobody-at-all@${DOMAIN}`, reason: 'hard_bounce' },
      ]);
    }, 60_000);
  });
}

describeWith(['root', 'postfix', 'openssl'], 'a real Postfix as smarthost', () => {
  let relay: Bouncer | undefined;
  let world: World | undefined;

  beforeAll(async () => {
    const [inboundPort = 0] = await freePorts(1, NEXT);
    relay = await startPostfix('relay.test', ['delivered.test'], {
      main: `relayhost = [${NEXT}]:${inboundPort}\ndisable_dns_lookups = yes\n`,
      master: 'smtp unix - - n - - smtp\n',
    });
    world = await startWorld();
    // The domain is verified; from here on everything goes by the relay.
    await world.appliance.signal('SIGTERM');
    world.appliance.writeConfig(
      'mail.rig.test',
      `[smtp]
inbound = "${NEXT}:${inboundPort}"
[delivery]
mode = "smarthost"
allow_networks = ["127.0.0.0/8"]
[delivery.smarthost]
host = "${relay.host}"
port = ${relay.port}
tls = "opportunistic"
`,
    );
    await world.appliance.start();
  }, 60_000);

  afterAll(async () => {
    await world?.stop();
    await relay?.stop();
  });

  test('is told to report success, and its report changes sent to delivered', async () => {
    if (world === undefined) throw new Error('nothing runs');
    const { appliance } = world;
    const sent = await appliance.api('POST', '/emails', {
      from: 'hello@example.org',
      to: 'root@delivered.test',
      subject: 'By a relay',
      text: 'Hello.',
    });
    const { id } = (await sent.json()) as { id: string };
    const applied = await appliance.log.first((line) => line.event === 'report_applied', 30_000);
    expect(applied).toMatchObject({ message_id: id, status: 'delivered' });
    const email = (await (await appliance.api('GET', `/emails/${id}`)).json()) as EmailAnswer;
    expect(email.status).toBe('delivered');
    expect(email.events.map(({ type }) => type)).toEqual([
      'email.queued',
      'email.sent',
      'email.delivered',
    ]);
  }, 60_000);
});
