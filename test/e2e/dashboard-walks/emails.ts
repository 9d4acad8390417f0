/** Emails: each filter, the list as CSV, one email in its tabs, and sending it again. */
import { expect } from 'bun:test';

import { attempted, DOMAIN, send } from './mail.ts';
import type { Walker } from './walker.ts';

export async function useEmails(walker: Walker): Promise<void> {
  const { page, ground, tag } = walker;
  const [order, parcel] = [`Shopping ${tag}: order`, `Shopping ${tag}: parcel`];
  const since = new Date().toISOString().slice(0, 10);
  const ids = [
    await send(ground, order, `ann.${tag}@receiver.example`),
    await send(ground, parcel, `ben.${tag}@receiver.example`),
  ];
  await attempted(ground, ids);
  await walker.menu('Emails');
  await walker.filter({ 'Subject, sender or recipient': `shopping ${tag}` });
  await walker.lists(parcel, order);
  await walker.filter({ Recipient: `ann.${tag}` });
  await walker.lists(order);
  await walker.filter({ Recipient: '', Status: 'bounced' });
  await walker.says('No email matches.');
  await walker.filter({ Status: 'delivered' });
  await walker.lists(parcel, order);

  if (!(await walker.field('Tag').isVisible())) await page.getByText('More filters').click();
  await walker.filter({ 'Sending domain': DOMAIN, Tag: 'kind=receipt' });
  await walker.lists(parcel, order);
  await walker.filter({ Tag: 'kind=news' });
  await walker.says('No email matches.');
  const today = new Date().toISOString().slice(0, 10);
  await walker.filter({ Tag: '', 'From (UTC)': since, 'Until (UTC)': today });
  await walker.lists(parcel, order);
  const { name, text } = await walker.saved('Download CSV');
  expect(name).toBe('emails-default.csv');
  expect(text.trim().split('\r\n').length).toBe(3);

  await walker.follow(order);
  await walker.heading(order);
  await walker.says('Delivered.');
  for (const tab of ['Phone', 'Text', 'Source', 'Headers']) {
    await walker.follow(tab);
    await page.locator('nav.tabs a[aria-current]', { hasText: tab }).waitFor();
  }
  expect((await walker.row('Message-ID').textContent()) ?? '').toContain('@');
  await walker.confirm('Send again', 'Send it again');
  await walker.says('Accepted. What happens to it is shown below.');
  await walker.becomes('Delivered.');
  expect(page.url()).not.toContain(ids[0] ?? '');
  await page.locator('main a[rel="next"]').click();
  await walker.heading(parcel);
}
