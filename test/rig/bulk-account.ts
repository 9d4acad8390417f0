/**
 * A second account beside the world's own, whose plan lets it send as fast as it can, with the domain `bulk.test`.
 *
 * Promises that what it does costs the first account no rate: a test can load the appliance with one and watch with the
 * other. The world's config must hold `FAST_PLAN`.
 */
import { expect } from 'bun:test';

import type { PublishedRecord, World } from './world.ts';

/** Begins a table of its own: put it before or between others. */
export const FAST_PLAN = '[[plans]]\nid = "fast"\nrate_per_second = 10000\n';

const BATCH = 100;
/** Requests under way at once. */
const SENDERS = 4;

/** Makes the account and verifies its domain; returns its key. */
export async function bulkKey({ appliance, names }: World): Promise<string> {
  await appliance.json(['account', 'create', 'bulk', '--plan', 'fast']);
  const made = await appliance.json([
    'key',
    'create',
    '--account',
    'bulk',
    '--name',
    'bulk',
    '--permission',
    'full_access',
  ]);
  const token = String(made['token']);
  const headers = { authorization: `Bearer ${token}` };
  const added = await appliance.api('POST', '/domains', { name: 'bulk.test' }, headers);
  expect(added.status).toBe(201);
  const { id, records } = (await added.json()) as { id: string; records: PublishedRecord[] };
  for (const { type, name, value } of records) names.set(name, type, [value]);
  const checked = await appliance.api('POST', `/domains/${id}/verify`, undefined, headers);
  expect(await checked.json()).toMatchObject({ status: 'verified' });
  return token;
}

/**
 * Sends `count` emails to the domain, or to that of each number, as fast as they are accepted. Returns the id of the
 * last message.
 */
export async function acceptAll(
  { appliance }: World,
  key: string,
  { count, domain }: { count: number; domain: string | ((number: number) => string) },
): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  let last: { number: number; id: string } = { number: -1, id: '' };
  let next = 0;
  const sender = async (): Promise<void> => {
    for (let from = next; from < count; from = next) {
      next += BATCH;
      const drafts = Array.from({ length: BATCH }, (_, index) => ({
        from: 'hello@bulk.test',
        to: `r${from + index}@${typeof domain === 'string' ? domain : domain(from + index)}`,
        subject: `s${from + index}`,
        text: 't',
      }));
      const answer = await appliance.api('POST', '/emails/batch', drafts, headers);
      expect(answer.status).toBe(200);
      const { data } = (await answer.json()) as { data: { id: string }[] };
      if (from > last.number) last = { number: from, id: data.at(-1)?.id ?? '' };
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  return last.id;
}
