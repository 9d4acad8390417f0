/** The queue: by destination and by reason; retried and given up, each only after a question. */
import { expect } from 'bun:test';

import { attempted, send, SLOW } from './mail.ts';
import type { Walker } from './walker.ts';

export async function useQueue(walker: Walker): Promise<void> {
  const { page, ground, tag } = walker;
  const ids = await Promise.all(
    ['one', 'two'].map((word) => send(ground, `Waits ${tag}`, `${word}.${tag}@${SLOW}`)),
  );
  await attempted(ground, ids);
  await walker.menu('Queue');
  const row = walker.row(SLOW);
  await walker.confirm('Retry now', 'Retry now', { within: row });
  await walker.says('Recipients scheduled for delivery now: 2.');
  await attempted(ground, ids, 4);

  await walker.menu('Queue');
  await walker.filter({ Destination: SLOW });
  await walker.heading(`Queue for ${SLOW}`);
  await walker.card('Reasons').getByText('ECONNREFUSED').first().waitFor();
  const one = page.locator('main tbody tr').filter({ hasText: `one.${tag}@` });
  await walker.confirm('Mark as failed', 'Mark as failed', { within: one });
  await walker.says('Recipients marked as failed: 1.');
  await one.waitFor({ state: 'detached' });
  const two = page.locator('main tbody tr').filter({ hasText: `two.${tag}@` });
  await walker.confirm('Retry now', 'Retry now', { within: two });
  await walker.says('Recipients scheduled for delivery now: 1.');
  await attempted(ground, ids, 5);
  await walker.confirm('Retry slow.example now', 'Retry slow.example now');
  await walker.says('Recipients scheduled for delivery now: 1.');
  await attempted(ground, ids, 6);

  await walker.follow(`two.${tag}@${SLOW}`);
  await walker.heading(`Waits ${tag}`);
  await walker.press('Retry now');
  await walker.says('Recipients scheduled for delivery now: 1.');
  await walker.heading(`Waits ${tag}`);
  await attempted(ground, ids, 7);
  await walker.menu('Queue');
  await walker.follow(SLOW);
  await walker.confirm('Mark as failed', 'Mark as failed', { within: two });
  await walker.says('Recipients marked as failed: 1.');
  await walker.says(`No recipients are waiting for ${SLOW}.`);
  expect(await page.locator('details.confirm').count()).toBe(0);
}
