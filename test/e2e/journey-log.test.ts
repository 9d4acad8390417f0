/**
 * The log of the compiled binary, read as an operator reads it: one search for a request's id finds the whole way of
 * its mail, through acceptance, every attempt and its outcome, to every webhook call.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { createTransport } from 'nodemailer';

import type { LogLine } from '../rig/binary.ts';
import { listen } from '../rig/journey.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ config: '[smtp]\nsubmissions = ["127.0.0.1:0"]' });
  await listen(world);
}, 30_000);
afterAll(() => world.stop());
beforeEach(() => {
  world.receiver.script.rcpt = () => null;
  world.hook.script.answer = () => ({ status: 200 });
});

/** The lines in which the id stands, as grep would show them, once there are so many. */
const grep = (id: string, count: number): Promise<LogLine[]> =>
  world.appliance.log.atLeast(count, (line) => JSON.stringify(line).includes(id));

async function send(
  to: string,
  headers: Record<string, string> = {},
): Promise<{ id: string; requestId: string }> {
  const email = {
    from: 'hello@example.org',
    to,
    subject: 'Private matters',
    text: 'Very private.',
  };
  const sent = await world.appliance.api('POST', '/emails', email, headers);
  expect(sent.status).toBe(200);
  const { id } = (await sent.json()) as { id: string };
  return { id, requestId: sent.headers.get('x-request-id') ?? 'none' };
}

test('from the request’s id through two attempts to the calls of every event', async () => {
  world.receiver.script.rcpt = () => '450 4.2.0 come back later';
  world.hook.script.answer = ({ body }) => ({
    status: body.includes('"email.delivered"') ? 500 : 200,
  });
  const { id, requestId } = await send('ann@example.net');
  await grep(requestId, 4);
  world.receiver.script.rcpt = () => null;
  expect(await world.appliance.json(['queue', 'retry', id])).toEqual({ retried: 1 });
  const lines = await grep(requestId, 6);

  const [accepted, ...rest] = lines;
  expect(accepted).toMatchObject({
    event: 'accepted',
    message_ids: [id],
    account_id: world.appliance.made.account_id,
    recipients: 1,
    queued: 1,
  });
  const attempts = rest.filter(({ event }) => event === 'attempt');
  const first = attempts[0]?.['next_attempt_at'];
  expect(Date.parse(String(first))).toBeGreaterThan(Date.now());
  const common = { request_id: requestId, message_id: id };
  expect(attempts).toMatchObject([
    {
      ...common,
      domain: 'example.net',
      attempt: 1,
      status: 'delivery_delayed',
      stage: 'rcpt',
      host: 'mx.example.net',
      address: '127.0.0.1',
      reply: '450 4.2.0 come back later',
    },
    { ...common, attempt: 2, status: 'delivered', stage: 'dot', next_attempt_at: null },
  ]);
  expect(new Set(attempts.map((line) => line['recipient_id'])).size).toBe(1);

  const calls = rest.filter(({ event }) => event === 'webhook_call');
  expect(calls.length + attempts.length).toBe(rest.length);
  const received = world.hook.calls.items.filter(({ body }) => body.includes(id));
  const told = calls.map((line) =>
    [line['event_id'], line['event_type'], line['status_code'], line['ok']].join(' '),
  );
  const heard = received.map(({ headers, body }) => {
    const { type } = JSON.parse(body) as { type: string };
    return `${String(headers['webhook-id'])} ${type} ${type === 'email.delivered' ? '500 false' : '200 true'}`;
  });
  expect(told.sort()).toEqual(heard.sort());
  expect(received).toHaveLength(3);
  const refused = calls.find((line) => line['ok'] === false);
  expect(refused).toMatchObject({ ...common, attempt: 1 });
  expect(Date.parse(String(refused?.['next_attempt_at']))).toBeGreaterThan(Date.now());
  expect(JSON.stringify(lines)).not.toMatch(/private|ann@|hello@/i);
});

test('a message taken over SMTP is followed by the id of its log record', async () => {
  const ready = await world.appliance.log.first(({ event }) => event === 'ready');
  const transport = createTransport({
    host: '127.0.0.1',
    port: Number(/:(\d+)$/.exec(String(ready['submissions']))?.[1]),
    secure: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'any', pass: world.appliance.made.key },
  });
  const { response } = await transport.sendMail({
    from: 'hello@example.org',
    to: ['cy@example.net', 'dee@example.net'],
    subject: 's',
    text: 't',
  });
  transport.close();
  const id = /as ([0-9a-f-]{36})/.exec(response)?.[1] ?? 'none';
  const shown = (await (await world.appliance.api('GET', `/emails/${id}`)).json()) as {
    log_id: string;
  };
  const lines = await grep(shown.log_id, 7);
  expect(lines[0]).toMatchObject({ event: 'accepted', message_ids: [id], recipients: 2 });
  expect(lines.map(({ event }) => event).sort()).toEqual([
    'accepted',
    'attempt',
    'attempt',
    ...Array.from({ length: 4 }, () => 'webhook_call'),
  ]);
});

test('every message of a batch stands in the line of its request', async () => {
  const to = 'delivered@sandbox.test';
  const email = { from: 'hello@example.org', to, subject: 's', text: 't' };
  const sent = await world.appliance.api('POST', '/emails/batch', [email, email]);
  const { data } = (await sent.json()) as { data: { id: string }[] };
  const [line] = await grep(sent.headers.get('x-request-id') ?? 'none', 1);
  expect(line).toMatchObject({ message_ids: data.map(({ id }) => id), recipients: 2, queued: 0 });
});

test('a repeated request leads to the message of the first', async () => {
  const key = { 'idempotency-key': crypto.randomUUID() };
  const first = await send('fay@example.net', key);
  const again = await send('fay@example.net', key);
  expect(again.id).toBe(first.id);
  expect(again.requestId).not.toBe(first.requestId);
  const [line] = await grep(again.requestId, 1);
  expect(line).toMatchObject({ event: 'replayed', message_ids: [first.id] });
});

test('what the operator gives up, and what was suppressed while it waited, has its end in the log', async () => {
  world.receiver.script.rcpt = () => '450 4.2.0 come back later';
  const [given, left] = [await send('gil@example.net'), await send('hal@example.net')];
  const attempted = ({ requestId }: typeof given): Promise<LogLine> =>
    world.appliance.log.first(
      (line) => line.event === 'attempt' && line['request_id'] === requestId,
    );
  await Promise.all([given, left].map(attempted));
  await world.appliance.json(['queue', 'fail', given.id]);
  await world.appliance.json(['suppression', 'add', 'hal@example.net', '--account', 'default']);
  await world.appliance.json(['queue', 'retry', left.id]);
  const endOf = async ({ id, requestId }: typeof given): Promise<LogLine> =>
    world.appliance.log.first(
      (line) =>
        line.event === 'ended' && line['message_id'] === id && line['request_id'] === requestId,
    );
  expect(await endOf(given)).toMatchObject({ status: 'failed' });
  expect(await endOf(left)).toMatchObject({ status: 'suppressed' });
});

test('nothing that is logged is lost when the process ends by itself', async () => {
  const { requestId } = await send('ida@example.net');
  expect(await world.appliance.signal('SIGTERM')).toBe(0);
  await world.appliance.log.first(({ event }) => event === 'stopped');
  const events = (await grep(requestId, 1)).map(({ event }) => event);
  expect(events).toContain('accepted');
});
