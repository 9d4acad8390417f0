/** API keys: created and shown once, renamed, revoked after a question, and then refused. */
import { expect } from 'bun:test';

import { DOMAIN } from './mail.ts';
import type { Walker } from './walker.ts';

export async function useKeys(walker: Walker): Promise<void> {
  const { page, tag } = walker;
  await walker.menu('API keys');
  await walker.fill('Name', `First ${tag}`);
  await walker.choose('Permission', /^Sending only/);
  await walker.choose('Mode', /^Sandbox/);
  await walker.press('Create key');
  await walker.says('Copy the key now. It is shown only once.');
  const token = await walker.copied('Copy the key');
  expect(token).toStartWith('pr_test_');
  expect(await sent(walker, token)).toBe(200);
  await walker.follow('Back to API keys');
  expect(await page.content()).not.toContain(token);
  const row = walker.row(`First ${tag}`);
  expect(await row.textContent()).toMatch(/Sending only\s*sandbox/);

  await walker.confirm('Rename', 'Rename', {
    within: row,
    before: (form) => walker.fill('New name', `Second ${tag}`, form),
  });
  await walker.says('Saved.');
  const renamed = walker.row(`Second ${tag}`);
  await renamed.locator('summary').getByText('Revoke').click();
  await renamed.getByText('this cannot be undone').waitFor();
  expect(await sent(walker, token)).toBe(200);
  await walker.press(`Revoke Second ${tag}`, renamed);
  await walker.says('Key revoked. It no longer works.');
  await renamed.getByText('revoked').waitFor();
  expect(await renamed.getByRole('button').count()).toBe(0);
  expect(await sent(walker, token)).toBe(401);
}

async function sent({ ground }: Walker, token: string): Promise<number> {
  const body = { from: `a@${DOMAIN}`, to: 'b@receiver.example', subject: 's', text: 't' };
  const headers = { authorization: `Bearer ${token}` };
  return (await ground.appliance.api('POST', '/emails', body, headers)).status;
}
