/** Accounts and plans: created, refused for a name in use, edited, paused, stopped until paid, resumed; their use. */
import { expect } from 'bun:test';

import type { Walker } from './walker.ts';

export async function useAccounts(walker: Walker): Promise<void> {
  const { page, tag } = walker;
  const [name, renamed] = [`shop-${tag}`, `store-${tag}`];
  await walker.menu('Accounts');
  await walker.row('starter').getByText('3,000').waitFor();
  const card = walker.card('Create an account');
  const create = async (): Promise<void> => {
    await walker.fill('Name', name, card);
    await walker.choose('Plan', 'starter', card);
    await walker.press('Create account', card);
  };
  await create();
  await walker.says(/^The account was created/);
  await walker.heading('Domains');
  expect(await page.locator('.menu-head').textContent()).toContain(name);
  await walker.menu('Accounts');
  await create();
  await page.locator('.field .message').waitFor();
  expect(await walker.field('Name', card).inputValue()).toBe(name);
  expect(await walker.field('Plan', card).inputValue()).toBe('starter');

  await walker.follow('Edit', walker.row(name));
  await walker.heading(`Edit ${name}`);
  await walker.fill('Name', renamed);
  await walker.choose('Plan', 'unlimited');
  await walker.press('Save');
  await walker.says('Saved.');
  const row = walker.row(renamed);
  await row.getByText('unlimited').waitFor();

  await walker.confirm('Pause', `Pause ${renamed}`, {
    within: row,
    before: (form) => walker.fill('Reason (shown to senders)', 'A complaint', form),
  });
  await row.getByText('A complaint').waitFor();
  await walker.press('Resume', row);
  await row.getByText('active').waitFor();
  await walker.follow('Edit', row);
  await walker.confirm('Stop until it is paid', `Stop ${renamed} until it is paid`);
  await row.getByText('payment required').waitFor();
  await walker.press('Resume', row);
  await row.getByText('active').waitFor();
  await walker.follow('0', row);
  await walker.heading('Usage');
  await walker.says('no limit');
}
