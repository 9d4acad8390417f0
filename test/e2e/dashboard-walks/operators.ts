/**
 * Operators: one is added, signs in and finds nothing to press, chooses a password, sets up a second factor, signs in
 * with its codes and a recovery code; another resets the factor and removes them. The audit log tells it.
 */
import { expect } from 'bun:test';
import { Secret, TOTP } from 'otpauth';

import { Walker } from './walker.ts';

const STEP_MS = 30_000;
const CHOSEN = 'a password of my own';

export async function useOperators(walker: Walker): Promise<void> {
  const name = `anna.${walker.tag}`;
  await walker.menu('Operators');
  await walker.fill('Name', 'No Name');
  await walker.press('Add operator');
  await walker.page
    .locator('.field .message')
    .getByText(/lower-case/)
    .waitFor();
  await walker.fill('Name', name);
  await walker.choose('Role', /^Read-only/);
  await walker.press('Add operator');
  const given = await walker.copied('Copy the password');
  await walker.follow('Back to the operators');

  const guest = await Walker.arrive(walker.ground, walker.hasScripts);
  await guest.signIn(name, given);
  await findNothingToPress(guest);
  await choosePassword(guest, name, given);
  const { totp, recovery } = await turnOn(guest);
  await signInWithCodes(guest, name, totp, recovery);

  await walker.menu('Operators');
  const row = walker.row(name);
  await row.getByText('9 recovery codes left').waitFor();
  await walker.press('Reset second factor', row);
  await walker.says('Saved.');
  await walker.press('New password', row);
  const fresh = await walker.copied('Copy the password');
  // Every session ends with the password.
  await guest.open('/profile');
  await guest.signIn(name, fresh);
  await guest.heading(name);
  await walker.menu('Operators');
  await walker.confirm('Remove', `Remove ${name}`, { within: row });
  await walker.says('Removed.');
  await guest.open('/profile');
  await guest.field('Dashboard password').waitFor();
  await guest.leave();
  await readAudit(walker, name);
}

async function findNothingToPress(guest: Walker): Promise<void> {
  await guest.heading('Overview');
  for (const entry of [
    'Queue',
    'Settings',
    'Accounts',
    'Domains',
    'API keys',
    'Webhooks',
    'Operators',
  ]) {
    await guest.menu(entry);
    expect([entry, await guest.page.locator('main form[method="post"]').count()]).toEqual([
      entry,
      0,
    ]);
  }
}

async function choosePassword(guest: Walker, name: string, given: string): Promise<void> {
  await guest.page.getByRole('link', { name: `${name} (read-only)` }).click();
  const card = guest.card('Password');
  const change = async (present: string): Promise<void> => {
    await guest.fill('Present password', present, card);
    await guest.fill('New password', CHOSEN, card);
    await guest.press('Change password', card);
  };
  await change('not this one');
  await guest.page.locator('.field .message').getByText('The present password is wrong.').waitFor();
  await change(given);
  await guest.signIn(name, CHOSEN);
  await guest.heading(name);
}

async function turnOn(guest: Walker): Promise<{ totp: TOTP; recovery: string }> {
  const card = guest.card('Second factor');
  const secret = await guest.copied('Copy the secret');
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  await guest.fill('Code that the app shows', '000000', card);
  await guest.fill('Present password', CHOSEN, card);
  await guest.press('Turn on', card);
  await guest.page
    .locator('.field .message')
    .getByText(/not one of this secret/)
    .waitFor();
  expect(await guest.copied('Copy the secret')).toBe(secret);
  await guest.fill('Code that the app shows', totp.generate(), card);
  await guest.fill('Present password', CHOSEN, card);
  await guest.press('Turn on', card);
  await guest.says('The second factor is on.');
  const codes = await guest.page.locator('main li code').allTextContents();
  expect(codes.length).toBe(10);
  await guest.follow('Back');
  await guest.says('Recovery codes left: 10.');
  return { totp, recovery: codes[0] ?? '' };
}

async function signInWithCodes(
  guest: Walker,
  name: string,
  totp: TOTP,
  recovery: string,
): Promise<void> {
  const again = async (code: string): Promise<void> => {
    await guest.press('Sign out');
    await guest.signIn(name, CHOSEN, code);
  };
  await again('');
  await guest.page
    .getByRole('alert')
    .getByText(/the code is wrong/)
    .waitFor();
  // A code is taken once, and one step early counts: so that nobody waits for the next one.
  await guest.signIn(name, CHOSEN, totp.generate({ timestamp: Date.now() + STEP_MS }));
  await guest.heading('Overview');
  await again(recovery);
  await guest.heading('Overview');
}

async function readAudit(walker: Walker, name: string): Promise<void> {
  await walker.menu('Audit log');
  await walker.filter({ Who: name });
  await walker.row('profile.second-factor').waitFor();
  await walker.row('operators.remove').waitFor({ state: 'detached' });
  const text = (await walker.page.locator('main tbody').textContent()) ?? '';
  expect(text).toContain('profile.password');
  expect(text).not.toContain(CHOSEN);
}
