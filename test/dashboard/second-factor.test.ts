/** The second factor as an operator meets it: set up on the own page, asked for at sign-in, reset by another operator. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Secret, TOTP } from 'otpauth';

import { enrolmentOf } from '../../src/flow/people/totp.ts';
import { TestClock } from '../rig/clock.ts';
import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';

const clock = new TestClock(Date.now());
let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig({ clock });
});
afterAll(() => rig.stop());

const signIn = async (code: string): Promise<number> => {
  const { status } = await fetch(`${rig.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ name: 'admin', password: rig.password, code }),
  });
  return status;
};

/** The QR code of a page, row by row: what is dark on the white square behind it. */
function qrCodeIn(text: string): boolean[][] {
  const [, side = ''] =
    /<svg\s+viewBox="0 0 (\d+) \1"\s+width="220"\s+height="220"/.exec(text) ?? [];
  expect(text).toContain(`<rect width="${side}" height="${side}" fill="#fff" />`);
  const [, path = ''] = /<path d="((?:M\d+ \d+h1v1h-1z)+)" fill="#000" \/>/.exec(text) ?? [];
  const modules = Array.from({ length: Number(side) }, () =>
    Array.from({ length: Number(side) }, () => false),
  );
  for (const [, x, y] of path.matchAll(/M(\d+) (\d+)/g)) {
    const row = modules[Number(y)];
    if (row !== undefined) row[Number(x)] = true;
  }
  return modules;
}

test('set up, signed in with, and turned off', async () => {
  const page = await rig.visit('/profile');
  expect(page.text).toContain('aria-label="QR code of the secret"');
  const [, secret = ''] = /name="secret" value="([A-Z2-7]{32})"/.exec(page.text) ?? [];
  expect(qrCodeIn(page.text)).toEqual(enrolmentOf(secret, 'admin', 'mail.rig.test').modules);
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const code = (): string => totp.generate({ timestamp: clock.now() });
  const path = '/profile/second-factor';

  const refused = await rig.submit(path, { secret, code: 'x', password: rig.password });
  expect([refused.status, refused.text.includes(secret)]).toEqual([422, true]);
  const wrong = await rig.submit(path, { secret, code: code(), password: 'wrong' });
  expect(wrong.status).toBe(422);
  const on = await rig.submit(path, { secret, code: code(), password: rig.password });
  const [recovery = ''] = on.text.match(/[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}/) ?? [];
  expect([on.status, recovery]).toEqual([200, expect.stringContaining('-')]);

  expect(await signIn('')).toBe(401);
  expect(await signIn(code())).toBe(401);
  clock.jump(30_000);
  expect(await signIn(code())).toBe(303);
  expect(await signIn(recovery)).toBe(303);
  expect(await signIn(recovery)).toBe(401);

  const audit = await rig.visit('/audit');
  expect(audit.text).toContain('profile.second-factor');
  expect(audit.text).not.toContain(secret);
  expect((await rig.submit('/operators/admin/totp-reset')).status).toBe(303);
  expect(await signIn('')).toBe(303);
});
