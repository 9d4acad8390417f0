/** The inbox of capture mode: searched, one message in its widths and checks, deleted, all deleted. */
import { expect } from 'bun:test';

import { attempted, send } from './mail.ts';
import type { Walker } from './walker.ts';

export async function useInbox(walker: Walker): Promise<void> {
  const { page, ground, tag } = walker;
  await attempted(ground, [await send(ground, `Kept ${tag}`), await send(ground, `Read ${tag}`)]);
  await walker.menu('Inbox');
  await walker.filter({ 'Subject, sender or recipient': `read ${tag}` });
  await walker.lists(`Read ${tag}`);
  await walker.follow(`Read ${tag}`);
  const frame = page.frameLocator('iframe');
  for (const width of ['Tablet', 'Phone', 'Desktop']) {
    await walker.follow(width);
    await page.locator(`iframe.${width.toLowerCase()}`).waitFor();
    await frame.getByText('Thank you.').waitFor();
  }
  await walker.follow('HTML check');
  await walker.says(/caniemail/);
  await walker.follow('Links');
  await walker.row('https://shop.example/order').waitFor();
  await walker.follow('Spam');
  await walker.says('rspamd_url');
  await walker.follow('Source');
  await walker.says(/DKIM-Signature/);
  await walker.press('Delete');
  await walker.says('Removed.');
  await walker.row(`Kept ${tag}`).waitFor();
  expect(await walker.row(`Read ${tag}`).count()).toBe(0);
  await walker.confirm('Delete all', 'Delete all messages');
  await walker.says(/^Messages deleted: \d+\.$/);
  await walker.says('Nothing was captured since the start');
}
