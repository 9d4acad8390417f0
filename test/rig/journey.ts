/**
 * One email's way through a world: sent over the API, its events awaited as webhooks and read back.
 *
 * Promises to wait for the event itself, never for time. Call `listen` once before.
 */
import { expect } from 'bun:test';

import type { World } from './world.ts';

export interface Email {
  status: string;
  events: { type: string; payload: string | null }[];
}

/** Facts of an event, as `events[].payload` has them. */
export type Facts = Record<string, unknown>;

const WAIT_MS = 20_000;

/** Has every event, or only those of `events`, called to the world's hook. */
export async function listen({ appliance, hook }: World, events?: string[]): Promise<void> {
  const endpoint = { endpoint: hook.url, ...(events === undefined ? {} : { events }) };
  const made = await appliance.api('POST', '/webhooks', endpoint);
  expect(made.status).toBe(201);
}

/** Sends one email and gives its id; `fields` instead of or beside the rig's own. */
export async function sendTo(
  { appliance }: World,
  to: string,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const sent = await appliance.api('POST', '/emails', {
    from: 'hello@example.org',
    to,
    subject: 'From the rig',
    text: 'Hello.\n.\n.dots',
    ...fields,
  });
  expect(sent.status).toBe(200);
  return ((await sent.json()) as { id: string }).id;
}

/** Waits until the first event of this type about the email has come to the hook; reads nothing. */
export async function happened(
  { hook }: World,
  id: string,
  type: string,
  waitMs = WAIT_MS,
): Promise<void> {
  await hook.calls.first(({ body }) => {
    const event = JSON.parse(body) as { type: string; data: { email_id: string } };
    return event.type === type && event.data.email_id === id;
  }, waitMs);
}

/** The same, and gives its facts. */
export async function eventOf(world: World, id: string, type: string): Promise<Facts> {
  await happened(world, id, type);
  const { events } = await readEmail(world, id);
  const event = events.find((one) => one.type === type);
  return JSON.parse(event?.payload ?? '{}') as Facts;
}

export async function readEmail({ appliance }: World, id: string): Promise<Email> {
  return (await (await appliance.api('GET', `/emails/${id}`)).json()) as Email;
}

/** What `queue show` says of the only recipient. */
export async function explanationOf({ appliance }: World, id: string): Promise<string> {
  const shown = await appliance.json(['queue', 'show', id]);
  const recipients = shown['recipients'] as { explanation: string }[];
  expect(recipients).toHaveLength(1);
  return recipients[0]?.explanation ?? '';
}
