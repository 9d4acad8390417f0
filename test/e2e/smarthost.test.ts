/**
 * A real Postfix as smarthost of the compiled binary: AUTH, required TLS on both kinds of port, what is refused and
 * why, reports that complete `sent`, and the smarthost as a stand-in while port 25 is closed.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { verifyWithDkimpy } from '../rig/dkim-verifier.ts';
import { eventOf, explanationOf, listen, readEmail, sendTo } from '../rig/journey.ts';
import { freePorts } from '../rig/ports.ts';
import { faketimeLibrary } from '../rig/faketime.ts';
import { describeWith } from '../rig/programs.ts';
import { startReceiver } from '../rig/receiver.ts';
import type { Receiver } from '../rig/receiver.ts';
import { startRelayPostfix } from '../rig/relay-postfix.ts';
import type { RelayPostfix } from '../rig/relay-postfix.ts';
import { startScriptedSmtp } from '../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../rig/scripted-smtp.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const LOGIN = { username: 'appliance', password: 'p"ä ss' };
const SMARTHOST = 'smart.relay.test';
/** The same host under a name that its certificate does not have. */
const ALIAS = 'alias.relay.test';
const NEEDS = ['root', 'postfix', 'openssl', 'sasl2', 'sasl2-modules'] as const;

function route(domain: string, fields: Record<string, string | number>): string {
  const all = { host: SMARTHOST, ...LOGIN, tls: 'required', ...fields };
  const lines = Object.entries(all).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[[delivery.routes]]\ndomains = ["${domain}"]\n${lines.join('\n')}\n`;
}

describeWith([...NEEDS, 'python3-dkim'], 'a real Postfix as smarthost', () => {
  let behind: Receiver;
  let postfix: RelayPostfix;
  let reporter: ScriptedSmtp;
  let world: World;

  beforeAll(async () => {
    behind = await startReceiver({ hostname: 'mx.behind.test' });
    reporter = await startScriptedSmtp({
      keywords: ['DSN', 'AUTH PLAIN'],
      reply: (line) => (line.startsWith('AUTH') ? '235 2.7.0 welcome' : undefined),
    });
    const [inbound = 0] = await freePorts(1);
    postfix = await startRelayPostfix({
      hostname: SMARTHOST,
      login: LOGIN,
      domains: ['inside.test'],
      next: {
        'behind.test': behind.port,
        'implicit.test': behind.port,
        'send.example.org': inbound,
      },
    });
    const { port } = postfix;
    world = await startWorld({
      delivery: 'mode = "smarthost"',
      config: `[smtp]
inbound = "127.0.0.1:${inbound}"
[delivery.smarthost]
host = "${SMARTHOST}"
port = ${port}
username = ${JSON.stringify(LOGIN.username)}
password = ${JSON.stringify(LOGIN.password)}
tls = "required"
${route('wrong-password.test', { port, password: 'another' })}
${route('wrong-name.test', { port, host: ALIAS })}
${route('implicit.test', { port: 465, host: 'implicit.smart.relay.test' })}
${route('implicit-name.test', { port: 465, host: 'alias.implicit.test' })}
${route('asks.test', { port: reporter.port, host: '127.0.0.1', tls: 'none' })}`,
    });
    world.names.set(SMARTHOST, 'A', [postfix.host]);
    world.names.set(ALIAS, 'A', [postfix.host]);
    world.names.set('implicit.smart.relay.test', 'A', [postfix.implicitHost]);
    world.names.set('alias.implicit.test', 'A', [postfix.implicitHost]);
    await listen(world);
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    postfix.stop();
    await Promise.all([behind.stop(), reporter.stop()]);
  });

  test('relays after AUTH under TLS; the next receiver gets the bytes as they were signed', async () => {
    const id = await sendTo(world, 'ann@behind.test');
    const received = await behind.messages.first(({ to }) => to.includes('ann@behind.test'));
    const text = received.bytes.toString('latin1');
    const signed = text.slice(text.indexOf('DKIM-Signature:'));
    expect(await verifyWithDkimpy(Buffer.from(signed, 'latin1'), world.records)).toBe(true);
    expect(postfix.log()).toMatch(/TLS connection established from .*: TLSv1\.3/);
    expect(postfix.log()).toContain(`sasl_method=PLAIN, sasl_username=${LOGIN.username}@`);

    await eventOf(world, id, 'email.sent');
    // Postfix reports that it passed it on; that is no delivery.
    await until(() => / to=<b-[0-9a-f-]+@send\.example\.org>.* status=sent/.test(postfix.log()));
    const email = await readEmail(world, id);
    expect(email.status).toBe('sent');
    expect(email.events.map(({ type }) => type)).toEqual(['email.queued', 'email.sent']);
    expect(world.receiver.connections()).toBe(0);
  }, 30_000);

  test('its report of success makes `sent` into `delivered`', async () => {
    const id = await sendTo(world, 'box@inside.test');
    expect(await eventOf(world, id, 'email.delivered')).toMatchObject({
      recipient: 'box@inside.test',
      via: 'report',
      status: '2.0.0',
    });
    expect((await readEmail(world, id)).status).toBe('delivered');
  }, 30_000);

  test('a report is asked for where the server knows how', async () => {
    await sendTo(world, 'ann+x@asks.test');
    await until(() => reporter.bodies.length === 1);
    expect(reporter.lines.find((line) => line.startsWith('MAIL'))).toEndWith(' RET=HDRS');
    expect(reporter.lines).toContain(
      'RCPT TO:<ann+x@asks.test> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;ann+2Bx@asks.test',
    );
  });

  test('an operator who waits has waited enough when the smarthost has the mail', async () => {
    const mail = ['--from', 'hello@example.org', '--to', 'bob@asks.test', '--subject', 'x'];
    const sent = await world.appliance.run(['send', ...mail, '--text', 'x', '--wait', '--json']);
    expect([sent.code, sent.json()]).toMatchObject([
      0,
      { status: 'sent', recipients: [{ address: 'bob@asks.test', status: 'sent' }] },
    ]);
  });

  test('port 465 is TLS from the first byte', async () => {
    const before = postfix.log().length;
    await sendTo(world, 'ann@implicit.test');
    await behind.messages.first(({ to }) => to.includes('ann@implicit.test'));
    const log = (): string => postfix.log().slice(before);
    await until(() => /TLS connection established from /.test(log()));
    await until(() => log().includes('sasl_method=PLAIN'));
  });

  // [domain, how the explanation ends]
  const waits: [string, RegExp][] = [
    ['wrong-password.test', /after one attempt: .* replied 535 5\.7\.8 .* at AUTH/],
    [
      'wrong-name.test',
      /after one attempt: alias\.relay\.test .* at the TLS handshake: .*alias\.relay\.test/,
    ],
    [
      'implicit-name.test',
      /after one attempt: alias\.implicit\.test .* at the TLS handshake: .*alias/,
    ],
  ];
  test.each(waits)('%s waits, and says why', async (domain, why) => {
    const id = await sendTo(world, `ann@${domain}`);
    await eventOf(world, id, 'email.delivery_delayed');
    expect(await explanationOf(world, id)).toMatch(why);
    expect((await readEmail(world, id)).status).toBe('delivery_delayed');
    // Nothing was said to a host that is not what it should be.
    expect(postfix.log()).not.toContain(domain);
  });
});

describeWith([...NEEDS, 'libfaketime'], 'port 25 closed everywhere', () => {
  const sites = ['one', 'two', 'three', 'four'].map((name, number) => ({
    domain: `${name}.direct.test`,
    host: `127.0.0.${21 + number}`,
  }));
  const offsetFile = join(tmpdir(), `postrider-faketime-${process.pid}`);
  const receivers: Receiver[] = [];
  let behind: Receiver;
  let postfix: RelayPostfix;
  let world: World;
  let port = 0;

  beforeAll(async () => {
    behind = await startReceiver({ hostname: 'mx.behind.test' });
    [port = 0] = await freePorts(1);
    postfix = await startRelayPostfix({
      hostname: SMARTHOST,
      login: LOGIN,
      domains: ['inside.test'],
      next: Object.fromEntries(sites.map(({ domain }) => [domain, behind.port])),
    });
    writeFileSync(offsetFile, '+0');
    world = await startWorld({
      port,
      env: {
        LD_PRELOAD: faketimeLibrary(),
        // The time that passes is what counts: that is faked too.

        FAKETIME_TIMESTAMP_FILE: offsetFile,
        FAKETIME_NO_CACHE: '1',
      },
      config: `[delivery.smarthost]
host = "${SMARTHOST}"
port = ${postfix.port}
username = ${JSON.stringify(LOGIN.username)}
password = ${JSON.stringify(LOGIN.password)}
tls = "required"`,
    });
    world.names.set(SMARTHOST, 'A', [postfix.host]);
    for (const { domain, host } of sites) {
      world.names.set(domain, 'MX', [`10 mx.${domain}`]);
      world.names.set(`mx.${domain}`, 'A', [host]);
    }
    await listen(world);
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    postfix.stop();
    await Promise.all([behind.stop(), ...receivers.map((receiver) => receiver.stop())]);
    rmSync(offsetFile, { force: true });
  });

  test('the smarthost stands in, and goes when port 25 opens', async () => {
    const { appliance } = world;
    const [one, two, three, four] = sites;
    if (!one || !two || !three || !four) throw new Error('no sites');
    const waiting: string[] = [];
    for (const { domain } of [one, two]) {
      const id = await sendTo(world, `ann@${domain}`);
      await eventOf(world, id, 'email.delivery_delayed');
      waiting.push(id);
    }
    expect(behind.messages.items).toEqual([]);

    // The third site that cannot be reached shows that the fault is ours: its mail goes through the smarthost at once.
    await sendTo(world, `ann@${three.domain}`);
    await behind.messages.first(({ to }) => to.includes(`ann@${three.domain}`));
    expect(await appliance.log.first(({ event }) => event === 'port_25_closed')).toMatchObject({
      level: 'error',
      hint: expect.stringContaining('through the smarthost'),
    });
    await appliance.json(['queue', 'retry']);
    for (const { domain } of [one, two]) {
      await behind.messages.first(({ to }) => to.includes(`ann@${domain}`));
    }
    const email = await readEmail(world, waiting[0] ?? '');
    expect(email.events.map(({ type }) => type)).toContain('email.sent');

    // Port 25 opens. Ten minutes later one message looks, and finds it open.
    for (const { host } of sites) receivers.push(await startReceiver({ host, port }));
    await sendTo(world, `ben@${four.domain}`);
    await behind.messages.first(({ to }) => to.includes(`ben@${four.domain}`));
    expect(receivers.every((receiver) => receiver.connections() === 0)).toBe(true);
    writeFileSync(offsetFile, '+11m');
    const probe = await sendTo(world, `cy@${four.domain}`);
    await receivers[3]?.messages.first(({ to }) => to.includes(`cy@${four.domain}`));
    await appliance.log.first(({ event }) => event === 'port_25_open');
    await eventOf(world, probe, 'email.delivered');
    await sendTo(world, `cy@${one.domain}`);
    await receivers[0]?.messages.first(({ to }) => to.includes(`cy@${one.domain}`));
    expect(behind.messages.items.some(({ to }) => to.some((who) => who.startsWith('cy')))).toBe(
      false,
    );
  }, 60_000);
});

/** Postfix writes its log from another process: there is nothing but to look again. */
async function until(isTrue: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !isTrue(); await Bun.sleep(20)) {
    if (Date.now() > end) throw new Error(`waited in vain for ${isTrue.toString()}`);
  }
}
