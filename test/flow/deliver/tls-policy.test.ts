/** What a recipient's domain demands of TLS, enforced in delivery: DANE and MTA-STS. */
import { afterEach, describe, expect, test } from 'bun:test';
import { createHash, X509Certificate } from 'node:crypto';
import { createServer } from 'node:https';

import { policyOf } from '../../../src/flow/deliver/tls-policy.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { startReceiver } from '../../rig/receiver.ts';
import type { Receiver } from '../../rig/receiver.ts';
import { startQueueRig } from '../queue/queue-rig.ts';
import type { QueueRig } from '../queue/queue-rig.ts';

/** An address of the loopback net that no other suite uses: policies are served on port 443. */
const POLICY_ADDRESS = '127.0.3.43';

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

const certificate = testAuthority().issue(['mx.example.com']);

async function start(): Promise<{ rig: QueueRig; mx: Receiver }> {
  const mx = await startReceiver({ hostname: 'mx.example.com', certificate });
  ended.push(() => mx.stop());
  const rig = await startQueueRig({
    delivery: { port: mx.port },
    extraCaFile: testAuthority().certFile,
  });
  ended.push(() => rig.stop());
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return { rig, mx };
}

test.each([
  [465, 'implicit'],
  [2465, 'implicit'],
  [587, 'required'],
  [2587, 'required'],
  [2525, 'required'],
  [25, 'required'],
])('a relay at port %i that must have TLS has it %s', (port, mode) => {
  const target = { host: 'relay.example', port, username: '', password: '' };
  expect(policyOf({ ...target, tls: 'required' })).toMatchObject({ mode, verify: true });
  expect(policyOf({ ...target, tls: 'none' })).toMatchObject({ mode: 'none' });
});

describe('DANE', () => {
  const spki = new X509Certificate(certificate.cert).publicKey.export({
    type: 'spki',
    format: 'der',
  });
  const digest = createHash('sha256').update(spki).digest('hex');

  test('a key that matches is delivered to, and the event says by which policy', async () => {
    const { rig, mx } = await start();
    rig.names.setAuthenticated(true);
    rig.names.set(`_${mx.port}._tcp.mx.example.com`, 'TLSA', [`3 1 1 ${digest}`]);
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    const facts: unknown = JSON.parse(settled?.events.at(-1)?.payload ?? 'null');
    expect(facts).toMatchObject({ tls: { policy: 'dane' } });
  });

  test('a key that does not is deferred, without a word of mail', async () => {
    const { rig, mx } = await start();
    rig.names.setAuthenticated(true);
    rig.names.set(`_${mx.port}._tcp.mx.example.com`, 'TLSA', [`3 1 1 ${'00'.repeat(32)}`]);
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivery_delayed');
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'deferred', stage: 'handshake' });
    expect(mx.messages.items).toEqual([]);
  });

  test('records that cannot be learnt defer the host', async () => {
    const { rig, mx } = await start();
    rig.names.setAuthenticated(true);
    rig.names.fail(`_${mx.port}._tcp.mx.example.com`, 'servfail');
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'deferred', stage: 'policy' });
    expect(mx.connections()).toBe(0);
  });
});

describe('MTA-STS', () => {
  async function publish(rig: QueueRig, policy: string): Promise<void> {
    const { key, cert } = testAuthority().issue(['mta-sts.example.com']);
    const server = createServer({ key, cert }, (_request, answer) => {
      answer.writeHead(200, { 'content-type': 'text/plain' }).end(policy);
    });
    await new Promise<void>((resolve) => server.listen(443, POLICY_ADDRESS, resolve));
    ended.push(
      () =>
        new Promise((resolve) => {
          server.close(resolve);
          server.closeAllConnections();
        }),
    );
    rig.names.set('_mta-sts.example.com', 'TXT', ['v=STSv1; id=20260101;']);
    rig.names.set('mta-sts.example.com', 'A', [POLICY_ADDRESS]);
  }
  const enforce = (mx: string): string =>
    `version: STSv1\r\nmode: enforce\r\nmx: ${mx}\r\nmax_age: 86400\r\n`;

  test('a host in the policy is delivered to over verified TLS', async () => {
    const { rig } = await start();
    await publish(rig, enforce('mx.example.com'));
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    const facts: unknown = JSON.parse(settled?.events.at(-1)?.payload ?? 'null');
    expect(facts).toMatchObject({ tls: { policy: 'mta-sts', verified: true } });
  });

  test('a host that is not in the policy is not dialled', async () => {
    const { rig, mx } = await start();
    await publish(rig, enforce('mail.example.com'));
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'deferred', stage: 'policy' });
    expect(settled?.recipient.lastReason).toContain('MTA-STS');
    expect(mx.connections()).toBe(0);
  });

  test('TLS that is stripped defers, never plaintext', async () => {
    const plain = await startReceiver({ hostname: 'mx.example.com', certificate: null });
    ended.push(() => plain.stop());
    const rig = await startQueueRig({
      delivery: { port: plain.port },
      extraCaFile: testAuthority().certFile,
    });
    ended.push(() => rig.stop());
    rig.names.set('example.com', 'MX', ['10 mx.example.com']);
    rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
    await publish(rig, enforce('*.example.com'));
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivery_delayed');
    expect(settled?.attempts[0]?.stage).toBe('starttls');
    expect(plain.messages.items).toEqual([]);
  });

  test('in testing mode a broken host gets its mail all the same', async () => {
    const { rig } = await start();
    await publish(rig, enforce('mail.example.com').replace('enforce', 'testing'));
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    const facts: unknown = JSON.parse(settled?.events.at(-1)?.payload ?? 'null');
    expect(facts).toMatchObject({ tls: { policy: 'mta-sts-testing' } });
  });
});
