/** Mail that the walks send by the API, and what its log says of it. */
import { expect } from 'bun:test';

import type { Ground } from './walker.ts';

/** Verified at the start of the walks. */
export const DOMAIN = 'walk.example';
/** Its receiver refuses connections: what goes there waits. */
export const SLOW = 'slow.example';

/** Sends one email; resolves with its id once it is accepted. */
export async function send(
  { appliance }: Pick<Ground, 'appliance'>,
  subject: string,
  to = 'someone@receiver.example',
): Promise<string> {
  const answer = await appliance.api('POST', '/emails', {
    from: `Shop <shop@${DOMAIN}>`,
    to,
    subject,
    html: '<p>Thank you. <a href="https://shop.example/order">Your order</a></p>',
    text: 'Thank you.',
    tags: [{ name: 'kind', value: 'receipt' }],
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { id: string }).id;
}

/** Resolves once `count` attempts of these emails are on disk. */
export async function attempted(
  { appliance }: Pick<Ground, 'appliance'>,
  ids: readonly string[],
  count = ids.length,
): Promise<void> {
  await appliance.log.atLeast(
    count,
    ({ event, message_id: id }) => event === 'attempt' && ids.includes(String(id)),
  );
}
