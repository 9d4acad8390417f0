/**
 * A receiver that does not answer, as the API and webhooks of the compiled binary show it: `sent` while the first
 * attempt hangs, and no second `email.sent` after a kill -9 in the middle of it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { listen, readEmail, sendTo } from '../rig/journey.ts';
import { startScriptedSmtp } from '../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../rig/scripted-smtp.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

let mx: ScriptedSmtp;
let world: World;
let isSilent = true;

beforeAll(async () => {
  mx = await startScriptedSmtp({
    reply: (line) => (isSilent && line.startsWith('MAIL') ? null : undefined),
  });
  world = await startWorld({ port: mx.port });
  await listen(world, ['email.sent', 'email.delivered']);
}, 60_000);

afterAll(async () => {
  await world.stop();
  await mx.stop();
});

const typesOf = async (id: string): Promise<string[]> =>
  (await readEmail(world, id)).events.map(({ type }) => type);

const callsOf = (id: string, type: string): string[] =>
  world.hook.calls.items
    .filter(({ body }) => {
      const event = JSON.parse(body) as { type: string; data: { email_id: string } };
      return event.type === type && event.data.email_id === id;
    })
    .map(({ headers }) => String(headers['webhook-id']));

test('a hanging first attempt shows `sent`, and a kill -9 in it makes no second event', async () => {
  const id = await sendTo(world, 'ann@example.net');
  const isSent = ({ body }: { body: string }): boolean => body.includes(id);
  await world.hook.calls.first(isSent, 10_000);
  const email = await readEmail(world, id);
  expect(email).toMatchObject({ status: 'sent', last_event: 'sent' });
  expect(await typesOf(id)).toEqual(['email.queued', 'email.sent']);

  await world.appliance.signal('SIGKILL');
  isSilent = false;
  await world.appliance.start();
  expect(await readEmail(world, id)).toMatchObject({ status: 'sent' });
  await world.appliance.run(['queue', 'retry', id]);
  await world.hook.calls.first(({ body }) => body.includes('email.delivered'), 60_000);
  expect(await typesOf(id)).toEqual(['email.queued', 'email.sent', 'email.delivered']);
  // A call may be repeated, under one id.
  expect(new Set(callsOf(id, 'email.sent')).size).toBe(1);
}, 90_000);
