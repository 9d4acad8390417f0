/**
 * Domains: added, their records copied and saved as a zone file, found once they are published; a test email; the DKIM
 * key changed in two steps; removed.
 */
import { expect } from 'bun:test';

import type { Walker } from './walker.ts';

export async function useDomains(walker: Walker): Promise<void> {
  const { page, ground, tag } = walker;
  const { names, appliance } = ground;
  const domain = `${tag}.example`;
  await walker.menu('Domains');
  await walker.fill('Domain', 'no domain');
  await walker.press('Add domain');
  await page.locator('.field .message').waitFor();
  expect(await walker.field('Domain').inputValue()).toBe('no domain');
  await walker.fill('Domain', domain);
  await walker.press('Add domain');
  await walker.says('Added. Publish the records below; the page notices when they are there.');
  const zone = await walker.saved('Download as a zone file');
  expect(zone.name).toBe(`${domain}.zone`);
  const value = await walker.copied('Copy the value of the DKIM record');
  expect(value).toStartWith('v=DKIM1');
  const shortName = await walker.copied('Copy the short name of the DKIM record');
  expect(zone.text).toContain(shortName);

  names.set(await walker.copied('Copy the name of the DKIM record'), 'TXT', ['v=DKIM1; p=wrong']);
  await walker.press('Check now');
  await walker.says('DNS was asked. What was found is shown below.');
  await page
    .locator('section.record', { hasText: 'DKIM' })
    .first()
    .getByText('wrong')
    .first()
    .waitFor();
  await publish(walker);
  await walker.press('Check now');
  await walker.says('Emails from it are accepted and signed.');

  await walker.fill('To', 'me@receiver.example', walker.card('Send a test email'));
  await walker.press('Send');
  await walker.heading(`Test email from ${domain}`);
  await walker.becomes('Delivered.');

  await walker.menu('Domains');
  await walker.follow(domain);
  await walker.confirm('Make a new key', 'Make a new key');
  await walker.says('A new key was made. Publish its record, then use it.');
  await walker.press('Check it and sign with the new key');
  await page.getByRole('alert').waitFor();
  const selector = await walker.copied('Copy the name of the new record');
  names.set(selector, 'TXT', [await walker.copied('Copy the value of the new record')]);
  await walker.press('Check it and sign with the new key');
  await walker.says('Mail is signed with the new key.');
  await page
    .locator('p code', { hasText: selector.split('.')[0] ?? '' })
    .first()
    .waitFor();

  await walker.confirm('Remove this domain', `Remove ${domain}`);
  await walker.says('Removed.');
  expect(await walker.row(domain).count()).toBe(0);
  expect(await appliance.json(['domain', 'list'])).not.toMatchObject([{ name: domain }]);
}

/** Everything that the page says, as it says it. */
async function publish(walker: Walker): Promise<void> {
  const { page, ground } = walker;
  const buttons = page.locator('section.record button[aria-label^="Copy the value of"]');
  for (const button of await buttons.all()) {
    const label = (await button.getAttribute('aria-label')) ?? '';
    const name = page.locator(`button[aria-label="${label.replace('value', 'name')}"]`);
    const record = button.locator('xpath=ancestor::section[1]');
    const type = (await record.locator('h3 .soft').first().textContent())?.trim();
    const value = (await button.getAttribute('data-copy')) ?? '';
    const at = (await name.getAttribute('data-copy')) ?? '';
    if (type !== 'TXT' && type !== 'CNAME' && type !== 'MX') throw new Error(`a ${type} record`);
    ground.names.set(at, type, [value]);
  }
}
