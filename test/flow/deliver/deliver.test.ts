/** Delivery beyond the plain case: routes, TLS that fails, slow-down, sources, the smarthost's stand-in. */
import { afterEach, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { testAuthority } from '../../rig/certificates.ts';
import { startReceiver } from '../../rig/receiver.ts';
import type { Receiver, ReceiverOptions } from '../../rig/receiver.ts';
import { startQueueRig } from '../queue/queue-rig.ts';
import type { QueueRig, QueueRigOptions } from '../queue/queue-rig.ts';
import { startRelay } from './relay-rig.ts';

const MINUTE = 60_000;

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function receiver(options?: ReceiverOptions): Promise<Receiver> {
  const started = await startReceiver(options);
  ended.push(() => started.stop());
  return started;
}

async function rigFor(mx: { port: number }, options: QueueRigOptions = {}): Promise<QueueRig> {
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port, ...options.delivery } });
  ended.push(() => rig.stop());
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return rig;
}

/** A server that offers STARTTLS and AUTH and then speaks no TLS; counts what it was told in the clear. */
async function brokenTlsServer(): Promise<{
  port: number;
  said: string[];
  connections: () => number;
}> {
  const said: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    let isBroken = false;
    socket.on('error', () => {});
    socket.write('220 mx\r\n');
    socket.on('data', (chunk) => {
      if (isBroken) return;
      for (const line of chunk.toString('latin1').split('\r\n').filter(Boolean)) {
        said.push(line);
        if (line.startsWith('EHLO')) socket.write('250-mx\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n');
        else if (line === 'STARTTLS') {
          isBroken = true;
          socket.write('220 go\r\nthis is no TLS\r\n');
        } else if (line === 'DATA') socket.write('354 go\r\n');
        else if (line === '.') socket.write('250 taken\r\n');
        else if (line.startsWith('AUTH')) socket.write('235 welcome\r\n');
        else if (/^(MAIL|RCPT|RSET|QUIT)/.test(line)) socket.write('250 ok\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ended.push(() => new Promise((resolve) => server.close(resolve)));
  return { port: (server.address() as AddressInfo).port, said, connections: () => connections };
}

describe('TLS', () => {
  test('that fails is met with a new connection in the clear, remembered for the next message', async () => {
    const server = await brokenTlsServer();
    const rig = await rigFor(server);
    const first = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(first.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    expect(settled?.attempts).toHaveLength(1);
    expect(settled?.attempts[0]?.tls).toBeNull();
    expect(server.connections()).toBe(2);
    await rig.clock.advance(10_000);
    const second = await rig.send(['bob@example.com']);
    await rig.attempted(second.id, 1);
    expect(server.connections()).toBe(3);
    expect(server.said.filter((line) => line === 'STARTTLS')).toHaveLength(1);
  });

  test('that a route requires never gives way to plaintext', async () => {
    const server = await brokenTlsServer();
    const target = { host: '127.0.0.1', port: server.port, username: '', password: '' };
    const routes = [{ domains: ['example.com'], target: { ...target, tls: 'required' as const } }];
    const rig = await rigFor(server, { delivery: { routes } });
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivery_delayed');
    expect(server.said.some((line) => line.startsWith('MAIL'))).toBe(false);
  });

  test('that fails on an opportunistic route with a login sends no password in the clear', async () => {
    const server = await brokenTlsServer();
    const target = { host: '127.0.0.1', port: server.port, username: 'box', password: 's3cret' };
    const opportunistic = { ...target, tls: 'opportunistic' as const };
    const routes = [{ domains: ['example.com'], target: opportunistic }];
    const rig = await rigFor(server, { delivery: { routes } });
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'deferred', stage: 'starttls' });
    expect(server.said.map((line) => line.split(' ')[0])).toEqual(['EHLO', 'STARTTLS']);
    expect(server.connections()).toBe(1);
  });

  test('that a route requires is verified by the extra CA, and says so in the event', async () => {
    const mx = await receiver({ certificate: testAuthority().issue(['inside.example']) });
    const target = { host: 'inside.example', port: mx.port, username: '', password: '' };
    const routes = [
      { domains: ['*.corp.example'], target: { ...target, tls: 'required' as const } },
    ];
    const options = { delivery: { routes }, extraCaFile: testAuthority().certFile };
    const rig = await rigFor(mx, options);
    rig.names.set('inside.example', 'A', ['127.0.0.1']);
    const message = await rig.send(['ann@eu.corp.example']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    const facts: unknown = JSON.parse(settled?.events.at(-1)?.payload ?? 'null');
    expect(facts).toMatchObject({ tls: { verified: true, policy: 'required' } });
  });
});

test('the first route that matches wins, also in capture mode', async () => {
  const mx = await receiver();
  const at = (port: number) =>
    ({ host: '127.0.0.1', port, username: '', password: '', tls: 'none' }) as const;
  const routes = [
    { domains: ['corp.example', '*.corp.example'], target: at(mx.port) },
    { domains: ['corp.example'], target: at(1) },
  ];
  const rig = await rigFor(mx, { delivery: { mode: 'capture', routes } });
  const message = await rig.send(['ann@corp.example', 'bob@eu.corp.example']);
  const settled = await rig.attempted(message.id, 2);
  expect(settled.map((s) => s.recipient.status)).toEqual(['delivered', 'delivered']);
  expect(rig.names.queries).toEqual([]);
});

test('a relay at localhost is on this machine, whatever DNS says', async () => {
  const mx = await receiver();
  const target = { host: 'localhost', port: mx.port, username: '', password: '' };
  const routes = [{ domains: ['example.com'], target: { ...target, tls: 'none' as const } }];
  const rig = await rigFor(mx, { delivery: { routes } });
  rig.names.fail('localhost', 'servfail');
  const message = await rig.send(['ann@example.com']);
  const [settled] = await rig.attempted(message.id, 1);
  expect(settled?.recipient.status).toBe('delivered');
});

test('mail leaves from the configured source address', async () => {
  const mx = await receiver();
  const rig = await rigFor(mx, { delivery: { sourceAddresses: ['127.0.0.7'] } });
  const message = await rig.send(['ann@example.com']);
  await rig.attempted(message.id, 1);
  expect(mx.messages.items[0]?.remoteAddress).toBe('127.0.0.7');
});

test('a provider’s 421 slows that provider only, with its hint, and it recovers by itself', async () => {
  const gmail = await receiver();
  const rig = await rigFor(gmail);
  rig.names.set('gmail.test', 'MX', ['5 gmail-smtp-in.l.google.com']);
  rig.names.set('gmail-smtp-in.l.google.com', 'A', ['127.0.0.1']);
  let isStrict = true;
  gmail.script.rcpt = (to) =>
    isStrict && to.endsWith('gmail.test')
      ? '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address. To protect our users from spam, mail sent from your IP address has been temporarily rate limited. For more information, go to https://support.google.com/mail/?p=UnsolicitedRateLimitError - gsmtp'
      : null;
  const first = await rig.send(['ann@gmail.test']);
  const [slowed] = await rig.attempted(first.id, 1);
  expect(slowed?.recipient.status).toBe('delivery_delayed');
  expect(slowed?.recipient.lastReason).toContain('4.7.28');
  expect(slowed?.recipient.lastReason).toContain('https://');
  expect(rig.queue.throttles()).toMatchObject([{ site: 'Gmail', class: 'reputation' }]);
  const before = gmail.connections();
  const second = await rig.send(['bob@gmail.test']);
  const [waiting] = await rig.attempted(second.id, 1);
  expect(waiting?.recipient.lastReason).toStartWith('Slowed down until ');
  expect(waiting?.attempts[0]).toMatchObject({
    outcome: 'deferred',
    stage: 'throttled',
    host: null,
  });
  expect(waiting?.events.map((event) => event.type)).toEqual(['email.delivery_delayed']);
  // Not before the minute's pause is over, and a quarter of it later: not all at once.
  expect(waiting?.recipient.nextAttemptAt).toBe(rig.clock.now() + 75_000);
  // What is throttled is not even signed: that its key is gone does not show yet.
  const unsignable = await rig.accept(['eve@gmail.test']);
  unsignable.message.domainId = 'gone';
  rig.queue.offerAccepted([unsignable]);
  const [eve] = await rig.attempted(unsignable.message.id, 1);
  expect(eve?.attempts[0]?.stage).toBe('throttled');
  const other = await rig.send(['cat@example.com']);
  const [fine] = await rig.attempted(other.id, 1);
  expect(fine?.recipient.status).toBe('delivered');
  expect(gmail.connections()).toBe(before + 1);
  isStrict = false;
  // A pause of a minute, by the rig's random a quarter of it more, and the look of the queue.
  await rig.clock.advance(3 * MINUTE);
  const [bob] = await rig.attempted(second.id, 2);
  expect(bob?.recipient.status).toBe('delivered');
  expect(bob?.events.map((event) => event.type)).toContain('email.sent');
});

test('a kept session that is lost after the final dot is not taken for a stale one: nothing goes twice', async () => {
  let bodies = 0;
  const server = createServer((socket) => {
    let isBody = false;
    socket.on('error', () => {});
    socket.write('220 mx\r\n');
    socket.on('data', (chunk) => {
      for (const line of chunk.toString('latin1').split('\r\n').filter(Boolean)) {
        if (isBody && line !== '.') continue;
        if (isBody) {
          isBody = false;
          bodies += 1;
          // The second one may have been taken: nobody knows.
          if (bodies === 2) socket.destroy();
          else socket.write('250 taken\r\n');
        } else if (line === 'DATA') {
          isBody = true;
          socket.write('354 go\r\n');
        } else socket.write('250 ok\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ended.push(() => new Promise((resolve) => server.close(resolve)));
  const rig = await rigFor({ port: (server.address() as AddressInfo).port });
  const first = await rig.send(['ann@example.com']);
  await rig.attempted(first.id, 1);
  const second = await rig.send(['bob@example.com']);
  const [settled] = await rig.attempted(second.id, 1);
  expect(settled?.attempts[0]).toMatchObject({ outcome: 'deferred', mayBeDuplicate: true });
  expect(bodies).toBe(2);
});

test('a message that could not be signed is signed anew at its next attempt', async () => {
  const rig = await rigFor(await receiver());
  const made = await rig.accept(['ann@example.com']);
  // As it is offered its domain is gone; in the store it is there, as after the operator brought a key back.
  made.message.domainId = 'gone';
  rig.queue.offerAccepted([made]);
  const [unsigned] = await rig.attempted(made.message.id, 1);
  expect(unsigned?.attempts[0]).toMatchObject({ outcome: 'deferred', stage: 'sign' });
  await rig.clock.advance(MINUTE + 300);
  const [settled] = await rig.attempted(made.message.id, 2);
  expect(settled?.recipient.status).toBe('delivered');
});

test('a dead host is dialled once for many messages, and each is put off with the reason', async () => {
  const mx = await receiver();
  const rig = await rigFor(mx);
  rig.names.set('dead.example', 'MX', ['10 mx.dead.example']);
  rig.names.set('mx.dead.example', 'A', ['127.0.0.9']);
  const to = Array.from({ length: 60 }, (_, at) => `r${at}@dead.example`);
  const message = await rig.send(to);
  const settled = await rig.attempted(message.id, to.length);
  for (const { recipient, attempts } of settled) {
    expect(recipient.status).toBe('delivery_delayed');
    expect(attempts).toHaveLength(1);
  }
  const stages = settled.map(({ attempts }) => attempts[0]?.stage);
  // At most the sessions a new lane begins with.
  expect(stages.filter((stage) => stage === 'connect').length).toBeLessThanOrEqual(5);
  expect(stages.filter((stage) => stage === 'throttled').length).toBeGreaterThanOrEqual(55);
  // What comes now is not even signed: that its key is gone does not show.
  const unsignable = await rig.accept(['eve@dead.example']);
  unsignable.message.domainId = 'gone';
  rig.queue.offerAccepted([unsignable]);
  const [eve] = await rig.attempted(unsignable.message.id, 1);
  expect(eve?.attempts[0]?.stage).toBe('throttled');
});

describe('the smarthost', () => {
  async function withRelay(mode: 'direct' | 'smarthost') {
    const mx = await receiver();
    const relay = await startRelay({ username: 'postrider', password: 'secret' });
    ended.push(() => relay.stop());
    const rig = await rigFor(mx, {
      delivery: {
        mode,
        smarthost: {
          host: 'relay.example',
          port: relay.port,
          username: 'postrider',
          password: 'secret',
          tls: 'required',
        },
      },
      extraCaFile: testAuthority().certFile,
    });
    rig.names.set('relay.example', 'A', ['127.0.0.1']);
    return { mx, relay, rig };
  }

  test('takes everything in its mode, after AUTH over verified TLS, and 250 means sent', async () => {
    const { relay, rig } = await withRelay('smarthost');
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient).toMatchObject({ status: 'sent', nextAttemptAt: null });
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'sent', host: 'relay.example' });
    expect(settled?.events.map((event) => event.type)).toEqual(['email.sent']);
    expect(relay.messages.items[0]).toMatchObject({ user: 'postrider', isSecure: true });
  });

  test('stands in for a provider that refuses our address, and only for that one', async () => {
    const { mx, relay, rig } = await withRelay('direct');
    rig.names.set('fine.example', 'MX', ['10 mx.fine.example']);
    rig.names.set('mx.fine.example', 'A', ['127.0.0.1']);
    mx.script.rcpt = (to) =>
      to.endsWith('@example.com')
        ? '550 5.7.1 Service unavailable, client host blocked using Spamhaus'
        : null;
    const first = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(first.id, 1);
    expect(settled?.recipient.status).toBe('sent');
    expect(settled?.attempts).toHaveLength(1);
    expect(relay.messages.items).toHaveLength(1);
    const other = await rig.send(['bob@fine.example']);
    const [direct] = await rig.attempted(other.id, 1);
    expect(direct?.recipient.status).toBe('delivered');
    expect(relay.messages.items).toHaveLength(1);
  });

  test('stands in when nothing is reachable on port 25, and direct delivery comes back', async () => {
    const { mx, relay, rig } = await withRelay('direct');
    for (const [at, name] of ['a', 'b', 'c', 'd'].entries()) {
      rig.names.set(`${name}.example`, 'MX', [`10 mx.${name}.example`]);
      rig.names.set(`mx.${name}.example`, 'A', [`127.0.1.${at}`], 1);
    }
    const delayed: string[] = [];
    for (const name of ['a', 'b']) {
      const { id } = await rig.send([`ann@${name}.example`]);
      const [settled] = await rig.attempted(id, 1);
      expect(settled?.recipient.status).toBe('delivery_delayed');
      delayed.push(id);
    }
    const third = await rig.send(['ann@c.example']);
    const [relayed] = await rig.attempted(third.id, 1);
    expect(relayed?.recipient.status).toBe('sent');
    expect(rig.logLines.some((line) => line.includes('port_25_closed'))).toBe(true);
    const fourth = await rig.send(['ann@d.example']);
    await rig.attempted(fourth.id, 1);
    const before = relay.messages.items.length;
    expect(before).toBeGreaterThanOrEqual(2);
    rig.names.set('mx.d.example', 'A', ['127.0.0.1'], 1);
    // The second attempts end first: one that began later would be the one that may try port 25 again.
    await rig.clock.advance(2 * MINUTE);
    for (const id of delayed) await rig.attempted(id, 2);
    await rig.clock.advance(9 * MINUTE);
    const fifth = await rig.send(['bob@d.example']);
    const [direct] = await rig.attempted(fifth.id, 1);
    expect(direct?.recipient.status).toBe('delivered');
    expect(mx.messages.items.length).toBeGreaterThan(0);
    expect(rig.logLines.some((line) => line.includes('port_25_open'))).toBe(true);
  });
});
