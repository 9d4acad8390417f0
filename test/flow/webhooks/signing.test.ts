/**
 * Signatures, checked by the libraries that receivers use: a thousand deliveries over a real TLS receiver,
 * the older header by its formula, two secrets while a rotation is fresh, a new timestamp on each attempt.
 */
import { afterEach, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';

import { ROTATION_MS, rotateEndpointSecret } from '../../../src/flow/webhooks/endpoints.ts';
import { newSigningSecret, signatureHeaders } from '../../../src/flow/webhooks/signing.ts';
import { TestClock } from '../../rig/clock.ts';
import { type Hook, type HookCall, startHook } from '../../rig/hook.ts';
import { startWebhookRig, type WebhookRig } from './webhook-rig.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function start(clock?: TestClock): Promise<{ rig: WebhookRig; hook: Hook }> {
  const rig = await startWebhookRig(clock === undefined ? {} : { clock });
  const hook = await startHook();
  ends.push(
    () => rig.stop(),
    () => hook.stop(),
  );
  return { rig, hook };
}

function headersOf(call: HookCall): Record<string, string> {
  return Object.fromEntries(
    Object.entries(call.headers).map(([name, value]) => [name, String(value)]),
  );
}

/** Throws what the reference libraries throw. `older`: the secret of the older header. */
function verify(call: HookCall, secret: string, older = secret): unknown {
  const headers = headersOf(call);
  const [asStandard, asSvix] = ['webhook-', 'svix-'].map((prefix) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(prefix))),
  );
  const payload = new StandardWebhook(secret).verify(call.body, asStandard ?? {});
  new SvixWebhook(secret).verify(call.body, asSvix ?? {});
  // The svix library takes the webhook-* names as well.
  new SvixWebhook(secret).verify(call.body, asStandard ?? {});
  const text = `${headers['service-timestamp']}.${call.body}`;
  const signature = createHmac('sha256', older).update(text).digest('hex');
  expect(headers['service-signature']).toBe(signature);
  return payload;
}

test('1,000 deliveries verify with both reference libraries and by the older header', async () => {
  const { rig, hook } = await start();
  const { secret } = await rig.endpoint(hook.url);
  const events = await rig.happen(1_000);
  const calls = await hook.calls.atLeast(1_000, () => true, 100_000);
  const bodies = new Map(events.map((event) => [event.id, event.webhookBody]));
  for (const call of calls) {
    expect(verify(call, secret)).toMatchObject({ type: 'email.sent' });
    const id = String(call.headers['webhook-id']);
    expect(call.body).toBe(bodies.get(id) ?? '');
    bodies.delete(id);
  }
  expect(bodies.size).toBe(0);
  const [call] = calls;
  expect(() => verify({ ...call!, body: `${call!.body} ` }, secret)).toThrow();
  expect(() => verify(call!, newSigningSecret())).toThrow();
}, 120_000);

test('a rotation signs with both secrets for 24 hours, then with the new one; the older headers with the old one first', async () => {
  const clock = new TestClock(Date.now());
  const { rig, hook } = await start(clock);
  const { endpoint, secret: first } = await rig.endpoint(hook.url);
  const rotate = () => rotateEndpointSecret(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
  const deliver = async (): Promise<HookCall> => {
    const [event] = await rig.happen(1);
    return hook.calls.first((call) => call.headers['webhook-id'] === event?.id);
  };

  verify(await deliver(), first);
  const { secret: second, previousUntil } = await rotate();
  expect(previousUntil - clock.now()).toBe(24 * 3_600_000);
  expect(second).not.toBe(first);
  const both = await deliver();
  expect(String(both.headers['webhook-signature']).split(' ')).toHaveLength(2);
  expect(both.headers['svix-signature']).toBe(String(both.headers['webhook-signature']));
  verify(both, second, first);
  const standard = (call: HookCall, secret: string): unknown =>
    new StandardWebhook(secret).verify(call.body, headersOf(call));
  expect(standard(both, first)).toBeTruthy();
  // A day by the wall clock is none.
  clock.jump(2 * ROTATION_MS);
  expect(headersOf(await deliver())['webhook-signature']?.split(' ')).toHaveLength(2);
  clock.jump(-2 * ROTATION_MS);

  clock.pass(ROTATION_MS);
  const after = await deliver();
  expect(headersOf(after)['webhook-signature']?.split(' ')).toHaveLength(1);
  const headers = headersOf(after);
  const text = `${headers['service-timestamp']}.${after.body}`;
  const signature = createHmac('sha256', second).update(text).digest('hex');
  expect(headers['service-signature']).toBe(signature);
}, 20_000);

test('each attempt has a timestamp of its own over the same id and bytes, 3 hours of retries long', () => {
  const secret = newSigningSecret();
  const call = { id: '01890000-0000-7000-8000-000000000000', body: '{"a":"ü"}' };
  const seen = new Set<string>();
  const realNow = Date.now();
  for (const waitS of [0, 30, 90, 210, 450, 930, 1_890, 3_810, 7_410, 11_010]) {
    const now = realNow + waitS * 1000;
    const headers = signatureHeaders({ ...call, now, secrets: [secret] });
    expect(headers['webhook-id']).toBe(call.id);
    expect(headers['webhook-timestamp']).toBe(String(Math.floor(now / 1000)));
    seen.add(String(headers['webhook-signature']));
    const library = new StandardWebhook(secret);
    const verifyAt = (): unknown => library.verify(call.body, headers);
    // The library knows only the real time and refuses what is 5 minutes off: a stale timestamp would fail.
    if (waitS < 300) expect(verifyAt()).toEqual({ a: 'ü' });
    else expect(verifyAt).toThrow('too new');
  }
  expect(seen.size).toBe(10);
});

test('a secret has 24 to 64 bytes of padded standard base64', () => {
  for (let at = 0; at < 200; at += 1) {
    const text = newSigningSecret().replace(/^whsec_/, '');
    const bytes = Buffer.from(text, 'base64');
    expect(bytes.length).toBe(32);
    expect(bytes.toString('base64')).toBe(text);
  }
});
