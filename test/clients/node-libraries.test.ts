/**
 * The `resend` package in seven versions, from the first that are in use to the newest, each unchanged in Node.
 *
 * Each walks through every call that it has: sends with copies, tags, headers and an attachment, a React template, a
 * batch, what was sent, refusals, domains and keys.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import PostalMime from 'postal-mime';
import { Resend } from 'resend';

import { jsonOf, PACKAGES, programFile, runClient, startClientWorld } from './client-rig.ts';
import type { ClientWorld } from './client-rig.ts';

let world: ClientWorld;
beforeAll(async () => {
  world = await startClientWorld();
}, 30_000);
afterAll(() => world.stop());

const VERSIONS = ['0-17', '1-1', '2-1', '3-5', '4-8', '6-0'].map((name) => `resend-${name}`);

describe.each([...VERSIONS, 'resend'])('%s', (name) => {
  let walked: Record<string, { data?: Record<string, unknown>; error?: unknown }>;
  beforeAll(async () => {
    const command = ['node', programFile('resend-node.cjs'), join(PACKAGES, name), world.domain];
    walked = jsonOf(await runClient(world, command)) as typeof walked;
  });

  test('every call but the wrong one succeeds', () => {
    const { refused, ...others } = walked;
    const failed = Object.entries(others).filter(([, { error }]) => error !== undefined);
    expect(failed).toEqual([]);
    expect(refused?.error).toMatchObject({ statusCode: 422, name: 'validation_error' });
  });

  test('has batches from version 2 on, and a list since the newest', () => {
    const isOld = name === 'resend-0-17' || name === 'resend-1-1';
    expect(walked['batch'] !== undefined).toBe(!isOld);
    expect(walked['older'] !== undefined).toBe(isOld);
    expect(walked['list'] !== undefined).toBe(name === 'resend');
  });

  test('what it sent arrives whole and is read back', async () => {
    const id = String(walked['send']?.data?.['id']);
    expect(walked['get']?.data).toMatchObject({ id, to: ['ann@example.net'], object: 'email' });
    const messages = await world.receiver.messages.atLeast(2, ({ bytes }) => bytes.includes(id));
    expect(messages.flatMap(({ to }) => to).sort()).toEqual(['ann@example.net', 'cy@example.net']);
    const mail = await PostalMime.parse(messages[0]?.bytes ?? '');
    expect(mail).toMatchObject({ subject: 'From a library', html: '<p>Hello</p>\n' });
    expect(mail.headers).toContainEqual(expect.objectContaining({ key: 'x-order', value: '7' }));
    expect(mail.replyTo?.[0]?.address).toBe('r@example.net');
    expect(mail.attachments[0]?.filename).toBe('a.txt');
  });

  test('a React template is rendered', async () => {
    const id = String(walked['react']?.data?.['id']);
    const [message] = await world.receiver.messages.atLeast(1, ({ bytes }) => bytes.includes(id));
    expect((await PostalMime.parse(message?.bytes ?? '')).html).toContain('Hello Ann</h1>');
  });
});

describe('the newest', () => {
  const newest = (): Resend => {
    const { url, made } = world.appliance;
    return new Resend(made.key, { baseUrl: url });
  };

  test('pages through what was sent, from the id of the last row', async () => {
    const first = await newest().emails.list({ limit: 2 });
    const after = first.data?.data.at(-1)?.id ?? '';
    const second = await newest().emails.list({ limit: 2, after });
    const ids = [first, second].flatMap(({ data }) => data?.data.map(({ id }) => id) ?? []);
    expect(new Set(ids).size).toBe(4);
  });

  test('verifies a webhook call about the one recipient of several who bounced', async () => {
    const { data: endpoint } = await newest().webhooks.create({
      endpoint: world.hook.url,
      events: ['email.bounced'],
    });
    const { data: sent } = await newest().emails.send({
      from: `hello@${world.domain}`,
      to: ['delivered@sandbox.test', 'bounced@sandbox.test'],
      subject: 'Two recipients',
      text: 'Hello',
    });
    const [call] = await world.hook.calls.atLeast(1, ({ body }) => body.includes(sent?.id ?? '-'));
    const headers = {
      id: String(call?.headers['svix-id']),
      timestamp: String(call?.headers['svix-timestamp']),
      signature: String(call?.headers['svix-signature']),
    };
    const given = { payload: call?.body ?? '', headers };
    const event = newest().webhooks.verify({
      ...given,
      webhookSecret: endpoint?.signing_secret ?? '',
    });
    expect(event).toMatchObject({
      type: 'email.bounced',
      data: { email_id: sent?.id, to: ['bounced@sandbox.test'], bounce: { type: 'Permanent' } },
    });
    const other = `whsec_${Buffer.from('another secret of 24 bytes').toString('base64')}`;
    expect(() => newest().webhooks.verify({ ...given, webhookSecret: other })).toThrow();
  });
});
