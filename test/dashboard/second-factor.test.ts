/** The second factor as an operator meets it: set up on the own page, asked for at sign-in, reset by another operator. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { Secret, TOTP } from 'otpauth';

import { enrolmentOf } from '../../src/flow/people/totp.ts';
import { TestClock } from '../rig/clock.ts';
import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';
import { textOf } from './page-text.ts';

// Each guess of a password takes a tenth of a second, or much longer beside other tests.
setDefaultTimeout(60_000);

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

/** What stands at the fields of a page, by their ids. */
const messagesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(
      text.matchAll(/<span class="message" id="([\w-]+)-message"\s*>(.*?)<\/span/gs),
      ([, id = '', words = '']): [string, string] => [id, textOf(words)],
    ),
  );
const WRONG_AT = (id: string): Record<string, string> => ({
  [id]: 'The present password is wrong.',
});

test('set up, signed in with, and turned off', async () => {
  const page = await rig.visit('/profile');
  expect(page.text).toContain('aria-label="QR code of the secret"');
  const [, secret = ''] = /name="secret" value="([A-Z2-7]{32})"/.exec(page.text) ?? [];
  expect(qrCodeIn(page.text)).toEqual(enrolmentOf(secret, 'admin', 'mail.rig.test').modules);
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const code = (): string => totp.generate({ timestamp: clock.now() });
  const path = '/profile/second-factor';

  const refused = await rig.submit(path, { secret, code: 'x', password: rig.password });
  expect([refused.status, refused.text.includes(secret), messagesIn(refused.text)]).toEqual([
    422,
    true,
    { 's-code': 'The code is not one of this secret. Look at the clock of your phone.' },
  ]);
  // What nobody was shown is not shown again.
  const short = { secret: secret.slice(1), code: code(), password: rig.password };
  const other = await rig.submit(path, short);
  expect([other.status, other.text.includes(short.secret)]).toEqual([422, false]);
  const wrong = await rig.submit(path, { secret, code: code(), password: 'wrong' });
  expect([wrong.status, messagesIn(wrong.text)]).toEqual([422, WRONG_AT('s-password')]);
  const on = await rig.submit(path, { secret, code: code(), password: rig.password });
  const [recovery = ''] = on.text.match(/[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}/) ?? [];
  expect([on.status, recovery]).toEqual([200, expect.stringContaining('-')]);
  expect(textOf(/<main.*<\/main>/s.exec(on.text)?.[0] ?? '')).toMatch(
    /^admin The second factor is on\. Keep these recovery codes where your phone is not\. Each replaces a code once; they are not shown again\.(?: [A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}){10} Back$/,
  );
  expect(new Set(on.text.match(/[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}/g)).size).toBe(10);

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

test('a password and a second factor are changed with the present password alone', async () => {
  // A code is taken once.
  clock.jump(60_000);
  const page = await rig.visit('/profile');
  const [, secret = ''] = /name="secret" value="([A-Z2-7]{32})"/.exec(page.text) ?? [];
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() });
  const present = { password: rig.password };
  expect((await rig.submit('/profile/second-factor', { secret, code, ...present })).status).toBe(
    200,
  );
  const off = '/profile/second-factor/off';
  const wrong = await rig.submit(off, { password: 'wrong' });
  expect([wrong.status, messagesIn(wrong.text)]).toEqual([422, WRONG_AT('s-password')]);
  const { store } = rig.rig.appliance.ctx;
  expect((await store.operatorNamed('admin'))?.sealedTotp).not.toBeNull();
  const done = await rig.submit(off, present);
  expect([done.status, done.headers.get('location')]).toEqual([
    303,
    '/dashboard/profile?done=saved',
  ]);
  expect((await store.operatorNamed('admin'))?.sealedTotp).toBeNull();

  const path = '/profile/password';
  const chosen = ' 15 with spaces ';
  const refused = await rig.submit(path, { password: 'wrong', new_password: chosen });
  expect([refused.status, messagesIn(refused.text)]).toEqual([422, WRONG_AT('p-password')]);
  const short = await rig.submit(path, { ...present, new_password: 'fourteen chars' });
  expect([short.status, messagesIn(short.text)]).toEqual([
    422,
    { 'p-new_password': 'A password has at least 15 characters and at most 1024 bytes.' },
  ]);
  expect(await signIn('')).toBe(303);
  const set = await rig.submit(path, { ...present, new_password: chosen });
  expect([set.status, set.headers.get('location')]).toEqual([303, '/dashboard/profile?done=saved']);
  expect(await signIn('')).toBe(401);
  expect((await rig.visit('/profile')).status).toBe(401);
});
