/** The queue end to end: a real store, real sockets, a movable clock. */
import { afterEach, describe, expect, test } from 'bun:test';

import { explain } from '../../../src/flow/queue/operator.ts';
import { verifyOwn } from '../../../src/mail/dkim/proof.ts';
import { decodeReturnPath } from '../../../src/mail/reports/return-path.ts';
import { startReceiver } from '../../rig/receiver.ts';
import type { Receiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';
import type { QueueRig, QueueRigOptions } from './queue-rig.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function start(options: QueueRigOptions = {}): Promise<{ rig: QueueRig; mx: Receiver }> {
  const mx = await startReceiver({ hostname: 'mx.example.com' });
  ended.push(() => mx.stop());
  const rig = await startQueueRig({ ...options, delivery: { port: mx.port, ...options.delivery } });
  ended.push(() => rig.stop());
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return { rig, mx };
}

const MINUTE = 60_000;
const typesOf = (events: { type: string }[]): string[] => events.map((event) => event.type);

describe('a message that is taken', () => {
  test('arrives signed, over TLS, with a return path that names its recipient', async () => {
    const { rig, mx } = await start();
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    const [received] = mx.messages.items;
    expect(mx.messages.items).toHaveLength(1);
    expect(received?.to).toEqual(['ann@example.com']);
    expect(received?.helo).toBe('mail.rig.test');
    expect(received?.tls?.protocol).toBe('TLSv1.3');
    expect(received?.bytes.toString()).toContain(`Message-ID: ${message.messageId}`);
    const published = (): Promise<string[]> =>
      Promise.resolve([`v=DKIM1; k=rsa; p=${rig.dkimPublicKey}`]);
    expect(await verifyOwn(received?.bytes ?? Buffer.alloc(0), published)).toMatchObject({
      isProven: true,
    });
    const [local = '', domain] = received?.from.split('@') ?? [];
    expect(domain).toBe('send.sender.example');
    const mac = (text: string): Buffer => rig.ctx.secrets.mac('return-path', text);
    expect(decodeReturnPath(local, mac)).toBe(settled?.recipient.id ?? 'none');
    expect(settled?.recipient.status).toBe('delivered');
    expect(settled?.recipient.nextAttemptAt).toBeNull();
    expect(typesOf(settled?.events ?? [])).toEqual(['email.sent', 'email.delivered']);
    expect(settled?.attempts).toHaveLength(1);
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'delivered', host: 'mx.example.com' });
    const facts: unknown = JSON.parse(settled?.events[1]?.payload ?? 'null');
    expect(facts).toMatchObject({
      recipient: 'ann@example.com',
      tls: { version: 'TLSv1.3', policy: 'opportunistic', verified: false },
    });
    expect((await rig.ctx.store.messageById(message.id))?.status).toBe('delivered');
  });

  test('goes to each recipient in a transaction of its own, with the same bytes', async () => {
    const { rig, mx } = await start();
    const message = await rig.send(['a@example.com', 'b@example.com', 'c@example.com']);
    await rig.attempted(message.id, 3);
    const received = mx.messages.items;
    expect(received.map((m) => m.to.join()).sort()).toEqual([
      'a@example.com',
      'b@example.com',
      'c@example.com',
    ]);
    expect(new Set(received.map((m) => m.from)).size).toBe(3);
    expect(new Set(received.map((m) => m.bytes.toString('latin1'))).size).toBe(1);
  });
});

describe('a temporary refusal', () => {
  test('is tried again by the schedule, with one sent and one delayed event', async () => {
    const { rig, mx } = await start();
    let refusals = 3;
    mx.script.rcpt = () => (refusals-- > 0 ? '451 4.7.1 greylisted, come back' : null);
    const message = await rig.send(['ann@example.com']);
    const [first] = await rig.attempted(message.id, 1);
    expect(first?.recipient).toMatchObject({ status: 'delivery_delayed', attempts: 1 });
    expect(first?.recipient.nextAttemptAt).toBe(rig.clock.now() + MINUTE);
    expect(first?.recipient.lastReason).toContain('451 4.7.1 greylisted, come back');
    await rig.clock.advance(MINUTE + 300);
    await rig.attempted(message.id, 2);
    // The first attempt was marked as begun with the acceptance.
    const metrics = await rig.ctx.metrics.render();
    expect(metrics).toContain('postrider_claim_seconds_count{step="begin"} 1');
    await rig.clock.advance(5 * MINUTE + 300);
    await rig.attempted(message.id, 3);
    await rig.clock.advance(10 * MINUTE + 300);
    const [last] = await rig.attempted(message.id, 4);
    expect(last?.recipient).toMatchObject({ status: 'delivered', attempts: 4 });
    expect(typesOf(last?.events ?? [])).toEqual([
      'email.sent',
      'email.delivery_delayed',
      'email.delivered',
    ]);
    const bodies = new Set(mx.messages.items.map((m) => m.bytes.toString('latin1')));
    expect(bodies.size).toBe(1);
  });

  test('that never ends bounces as Transient at the expiry and suppresses nobody', async () => {
    const { rig, mx } = await start({ delivery: { expiresMs: 20 * MINUTE } });
    mx.script.rcpt = () => '451 4.3.0 later';
    const message = await rig.send(['ann@example.com']);
    let [last] = await rig.attempted(message.id, 1);
    for (let attempt = 2; last?.recipient.nextAttemptAt; attempt += 1) {
      await rig.clock.advance(last.recipient.nextAttemptAt - rig.clock.now() + 300);
      [last] = await rig.attempted(message.id, attempt);
    }
    expect(last?.recipient.status).toBe('bounced');
    // At 0, 1, 6 and 16 minutes, and at the end of its time.
    expect(last?.attempts).toHaveLength(5);
    expect(typesOf(last?.events ?? [])).toEqual([
      'email.sent',
      'email.delivery_delayed',
      'email.bounced',
    ]);
    const facts: unknown = JSON.parse(last?.events[2]?.payload ?? 'null');
    expect(facts).toMatchObject({ bounce: { type: 'Transient' } });
    const accountId = message.accountId;
    expect(await rig.ctx.store.suppression(accountId, 'ann@example.com')).toBeNull();
  });
});

describe('a permanent refusal', () => {
  test('of the address bounces and suppresses it', async () => {
    const { rig, mx } = await start();
    mx.script.rcpt = () => '550 5.1.1 no such user';
    const message = await rig.send(['gone@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('bounced');
    expect(typesOf(settled?.events ?? [])).toEqual(['email.sent', 'email.bounced']);
    const kept = await rig.ctx.store.suppression(message.accountId, 'gone@example.com');
    expect(kept?.reason).toBe('hard_bounce');
    expect(kept?.note).toMatch(
      /^mx\S* \(127\.0\.0\.1\) replied 550 5\.1\.1 no such user at RCPT TO$/,
    );
  });

  test('for policy bounces and leaves the address alone', async () => {
    const { rig, mx } = await start();
    mx.script.dot = () => '550 5.7.1 rejected by policy';
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('bounced');
    expect(await rig.ctx.store.suppression(message.accountId, 'ann@example.com')).toBeNull();
  });
});

describe('a domain', () => {
  test('that does not exist fails at once', async () => {
    const { rig } = await start();
    const message = await rig.send(['ann@nowhere.test']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('failed');
    expect(settled?.recipient.lastReason).toContain('nowhere.test');
  });

  test('with a null MX bounces', async () => {
    const { rig } = await start();
    rig.names.set('null.example', 'MX', ['0 .']);
    const message = await rig.send(['ann@null.example']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('bounced');
  });

  test('whose DNS does not answer is deferred', async () => {
    const { rig } = await start();
    rig.names.fail('broken.example', 'servfail');
    const message = await rig.send(['ann@broken.example']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivery_delayed');
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'deferred', stage: 'dns' });
  });

  test('with hosts in a network that is not admitted fails and is not dialled', async () => {
    const { rig, mx } = await start({ delivery: { allowNetworks: [] } });
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('failed');
    expect(mx.connections()).toBe(0);
  });

  test('with a dead first host gets its mail at the second', async () => {
    const { rig, mx } = await start();
    rig.names.set('two.example', 'MX', ['10 dead.two.example', '20 mx.example.com']);
    rig.names.set('dead.two.example', 'A', ['127.0.0.9']);
    const message = await rig.send(['ann@two.example']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    expect(mx.messages.items).toHaveLength(1);
  });
});

describe('a session', () => {
  test('lost after the final dot is deferred as a possible duplicate, never failed', async () => {
    const { rig, mx } = await start();
    let drops = 1;
    mx.script.dot = () => (drops-- > 0 ? 'drop' : null);
    const message = await rig.send(['ann@example.com']);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'deferred', mayBeDuplicate: true });
    await rig.clock.advance(MINUTE + 300);
    const [again] = await rig.attempted(message.id, 2);
    expect(again?.recipient.status).toBe('delivered');
  });

  test('that was kept and is found closed costs no attempt', async () => {
    const { rig, mx } = await start();
    const first = await rig.send(['ann@example.com']);
    await rig.attempted(first.id, 1);
    let drops = 1;
    mx.script.mail = () => (drops-- > 0 ? 'drop' : null);
    const second = await rig.send(['bob@example.com']);
    const [settled] = await rig.attempted(second.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    expect(mx.messages.items.map((m) => m.connection)).toEqual([1, 2]);
  });

  test('carries messages for several domains with the same host', async () => {
    const { rig, mx } = await start();
    rig.names.set('other.example', 'MX', ['10 mx.example.com']);
    const first = await rig.send(['ann@example.com']);
    await rig.attempted(first.id, 1);
    const second = await rig.send(['bob@other.example']);
    await rig.attempted(second.id, 1);
    expect(mx.messages.items.map((m) => m.connection)).toEqual([1, 1]);
  });
});

test('a line longer than is kept in memory is delivered completely, each recipient once', async () => {
  const { rig, mx } = await start({ isStarted: false });
  rig.names.set('other.example', 'MX', ['10 mx.example.com']);
  const to = Array.from({ length: 1_300 }, (_, at) => `r${at}@example.com`);
  const { message } = await rig.accept(to);
  const other = await rig.accept(['ann@other.example']);
  await rig.queue.start();
  expect(rig.queue.counts().inLines).toBeLessThanOrEqual(600);
  await rig.attempted(other.message.id, 1);
  const settled = await rig.attempted(message.id, to.length, 100_000);
  expect(settled.every(({ recipient }) => recipient.status === 'delivered')).toBe(true);
  const received = mx.messages.items.flatMap((m) => m.to).filter((a) => a !== 'ann@other.example');
  expect(received.sort()).toEqual(to.sort());
}, 120_000);

test('the kill switch stops the queue, and lifting it continues', async () => {
  const { rig, mx } = await start();
  rig.queue.setResting(true);
  const message = await rig.send(['ann@example.com']);
  await rig.clock.advance(5 * MINUTE);
  expect(mx.connections()).toBe(0);
  rig.queue.setResting(false);
  const [settled] = await rig.attempted(message.id, 1);
  expect(settled?.recipient.status).toBe('delivered');
});

describe('the operator', () => {
  test('tries now what waits, and reads why it waits', async () => {
    const { rig, mx } = await start();
    let refusals = 1;
    mx.script.rcpt = () => (refusals-- > 0 ? '450 4.2.1 busy' : null);
    const message = await rig.send(['ann@example.com']);
    const [waiting] = await rig.attempted(message.id, 1);
    if (waiting === undefined) throw new Error('no recipient');
    const sentence = explain(waiting.recipient, rig.clock.now());
    expect(sentence).toStartWith('ann@example.com is tried again at 2026-01-15T12:01:00.000Z');
    expect(sentence).toContain(
      'after one attempt: mx.example.com (127.0.0.1) replied 450 4.2.1 busy',
    );
    expect(await rig.queue.retry({ id: waiting.recipient.id, domain: null })).toBe(1);
    const [settled] = await rig.attempted(message.id, 2);
    expect(settled?.recipient.status).toBe('delivered');
  });

  test('gives up what waits, with an event', async () => {
    const { rig, mx } = await start();
    mx.script.rcpt = () => '450 4.2.1 busy';
    const message = await rig.send(['ann@example.com']);
    await rig.attempted(message.id, 1);
    await rig.idle();
    expect(await rig.queue.fail(message.id)).toBe(1);
    const [settled] = await rig.state(message.id);
    expect(settled?.recipient).toMatchObject({ status: 'failed', nextAttemptAt: null });
    expect(typesOf(settled?.events ?? [])).toContain('email.failed');
    expect(await rig.queue.fail(message.id)).toBe(0);
  });
});

describe('what accept marked as begun', () => {
  test('is not tried when the operator gave it up before its attempt', async () => {
    const { rig, mx } = await start();
    const message = await rig.send(['ann@example.com']);
    // Before the queue begins it: the queue looks in a later round of the event loop.
    rig.queue.setResting(true);
    expect(await rig.queue.fail(message.id)).toBe(1);
    rig.queue.setResting(false);
    const other = await rig.send(['bob@example.com']);
    await rig.attempted(other.id, 1);
    await rig.idle();
    expect(mx.messages.items.map((m) => m.to)).toEqual([['bob@example.com']]);
  });

  test('is its first attempt, also when that begins too late for the mark', async () => {
    const { rig } = await start();
    const prompt = await rig.send(['ann@example.com']);
    const [first] = await rig.attempted(prompt.id, 1);
    expect(first?.recipient.attempts).toBe(1);
    const late = await rig.send(['bob@example.com']);
    rig.queue.setResting(true);
    await rig.clock.advance(60_000);
    rig.queue.setResting(false);
    const [second] = await rig.attempted(late.id, 1);
    expect(second?.recipient).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(second?.attempts.map(({ number }) => number)).toEqual([1]);
  });

  test('waits for its time when the process dies before the attempt', async () => {
    const { rig, mx } = await start();
    const made = await rig.accept(['ann@example.com'], {}, (message) =>
      rig.queue.markAhead([message]),
    );
    await rig.restart();
    await rig.clock.advance(14_000);
    expect(mx.messages.items).toHaveLength(0);
    await rig.clock.advance(2_000);
    const [settled] = await rig.attempted(made.message.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
  });
});

describe('a restart', () => {
  test('takes up what was accepted and never tried', async () => {
    const { rig, mx } = await start({ isStarted: false });
    const { message } = await rig.accept(['ann@example.com']);
    await rig.queue.start();
    await rig.attempted(message.id, 1);
    expect(mx.messages.items[0]?.bytes.toString()).toContain(message.messageId);
  });

  test('after a death in an attempt waits before it tries again, with the same Message-ID', async () => {
    const { rig, mx } = await start({ isStarted: false });
    const made = await rig.accept(['ann@example.com']);
    const id = made.recipients[0]?.id ?? '';
    // What the dead process left: the mark of an attempt, and nothing of its end.
    const now = rig.clock.now();
    const claim = { owner: 'dead', leaseUntil: now + 60 * MINUTE, nextAttemptAt: now + 15_000 };
    await rig.ctx.store.begin([{ recipientId: id, ...claim }], now);
    await rig.queue.start();
    await rig.clock.advance(14_000);
    expect(mx.messages.items).toHaveLength(0);
    await rig.clock.advance(2_000);
    const [settled] = await rig.attempted(made.message.id, 1);
    expect(settled?.recipient).toMatchObject({ status: 'delivered', attempts: 2 });
    expect(typesOf(settled?.events ?? [])).toContain('email.sent');
    expect(mx.messages.items[0]?.bytes.toString()).toContain(made.message.messageId);
  });
});

describe('a message that cannot be signed', () => {
  test('waits, is not sent, and raises no event', async () => {
    const { rig, mx } = await start({ isStarted: false });
    const domains = await rig.ctx.store.accounts();
    const [domain] = await rig.ctx.store.domains(domains[0]?.id ?? '');
    const made = await rig.accept(['ann@example.com']);
    made.message.domainId = 'gone';
    await rig.queue.start();
    expect(domain).toBeDefined();
    rig.queue.offerAccepted([made]);
    const [settled] = await rig.attempted(made.message.id, 1);
    expect(mx.messages.items).toHaveLength(0);
    expect(settled?.recipient.status).toBe('queued');
    expect(settled?.attempts[0]).toMatchObject({ outcome: 'deferred', stage: 'sign' });
    expect(settled?.events).toEqual([]);
  });
});
