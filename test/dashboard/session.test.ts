/** Sessions by themselves: which cookie of a request is theirs, and for how long the end of one is known. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { Sessions } from '../../src/dashboard/session.ts';
import { openFixture, type Fixture } from '../flow/fixture.ts';

const PASSWORD = 'a pass phrase for tests';
const HOUR_MS = 3_600_000;

let fixture: Fixture;
let sessions: Sessions;
beforeEach(async () => {
  fixture = await openFixture();
  const { ctx } = fixture;
  sessions = new Sessions(ctx);
  for (const name of ['admin', 'anna']) {
    await ctx.store.createOperator(
      {
        id: `${name}-id`,
        name,
        role: 'admin',
        accountId: null,
        passwordHash: await Bun.password.hash(PASSWORD, { algorithm: 'bcrypt', cost: 4 }),
        sealedTotp: null,
        recoveryCodes: 0,
        createdAt: 0,
        signedInAt: null,
      },
      10,
    );
  }
});
afterEach(() => fixture.close());

/** Signs in; the cookie as a browser sends it back. */
async function opened(name: string): Promise<string> {
  const session = await sessions.open({ name, password: PASSWORD, code: '' }, '192.0.2.1', false);
  if (typeof session === 'string') throw new Error(session);
  expect(session.operator.name).toBe(name === '' ? 'admin' : name);
  return session.cookie.split(';')[0] ?? '';
}

const withCookie = (cookie: string): Request =>
  new Request('http://mail.example/dashboard', { headers: { cookie } });
const whoHas = async (cookie: string): Promise<string | null> =>
  (await sessions.operatorOf(withCookie(cookie)))?.name ?? null;

test('its cookie is found among others of the host, and no other is taken for it', async () => {
  const cookie = await opened('anna');
  const value = cookie.slice(cookie.indexOf('=') + 1);
  expect(await whoHas(`theme=dark; ${cookie}; seen=1`)).toBe('anna');
  expect(await whoHas(`theme=dark;${cookie}`)).toBe('anna');
  expect(await whoHas(`theme=${value}; x_postrider_session=${value}`)).toBeNull();
  expect(await whoHas('postrider_session')).toBeNull();
  expect(await whoHas(`postrider_session=none; ${cookie}`)).toBeNull();
  expect(await sessions.operatorOf(new Request('http://mail.example/dashboard'))).toBeNull();
});

test('each is of the operator who opened it, and its cookie is of no other', async () => {
  const [first, second] = [await opened(''), await opened('anna')];
  expect([await whoHas(first), await whoHas(second)]).toEqual(['admin', 'anna']);
  const [, ...rest] = (second.split('=')[1] ?? '').split('.');
  expect(await whoHas(`postrider_session=admin-id.${rest.join('.')}`)).toBeNull();
});

test('its end is known until it would have ended by itself, twelve hours after the sign-in', async () => {
  const { ctx, clock } = fixture;
  // It goes by the time that passes, whatever the host's clock is set to.
  clock.jump(5 * HOUR_MS);
  const cookie = await opened('anna');
  const other = await opened('anna');
  await clock.advance(HOUR_MS);
  clock.jump(20 * HOUR_MS);
  const gone = 'postrider_session=; Path=/dashboard; Max-Age=0; HttpOnly; SameSite=Strict';
  expect(await sessions.close(withCookie(cookie), false)).toBe(gone);
  expect(await sessions.close(withCookie(''), true)).toBe(`${gone}; Secure`);
  const forgotten = (): Promise<number> => ctx.store.purgeExpired(clock.now(), clock.steady());
  await clock.advance(11 * HOUR_MS - 1);
  expect(await forgotten()).toBe(0);
  expect([await whoHas(cookie), await whoHas(other)]).toEqual([null, 'anna']);
  await clock.advance(2);
  expect(await forgotten()).toBe(1);
  expect([await whoHas(cookie), await whoHas(other)]).toEqual([null, null]);
});

test('one that has ended leaves nothing to be known when it is closed again', async () => {
  const { ctx, clock } = fixture;
  const cookie = await opened('anna');
  for (let times = 0; times < 2; times += 1) await sessions.close(withCookie(cookie), false);
  await sessions.close(withCookie('postrider_session=anna-id.9999999999999.nonce.mac'), false);
  await clock.advance(12 * HOUR_MS + 1);
  expect(await ctx.store.purgeExpired(clock.now(), clock.steady())).toBe(1);
});
