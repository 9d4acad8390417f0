/** Second factors: codes and recovery codes are taken once, and wrong ones are limited, whatever address they are from. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Secret, TOTP } from 'otpauth';

import { addOperator, operatorNamed } from '../../../src/flow/people/operators.ts';
import {
  disableTotp,
  enableTotp,
  enrolmentOf,
  SecondFactor,
} from '../../../src/flow/people/totp.ts';
import type { Operator } from '../../../src/store/people.ts';
import { openFixture, type Fixture } from '../fixture.ts';

const STEP_MS = 30_000;
/** Always the same: two codes of a random secret are equal now and then. */
const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

let fixture: Fixture;
let secret: string;

const codeAt = (at: number): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at });
const now = (): number => fixture.clock.now();
const anna = (): Promise<Operator> => operatorNamed(fixture.ctx, 'anna');

beforeEach(async () => {
  fixture = await openFixture();
  secret = SECRET;
  await addOperator(fixture.ctx, { name: 'anna', role: 'admin', accountId: null });
});
afterEach(() => fixture.close());

async function enabled(): Promise<string[]> {
  const codes = await enableTotp(fixture.ctx, await anna(), secret, codeAt(now()));
  if (codes === null) throw new Error('the code was refused');
  fixture.clock.jump(STEP_MS);
  return codes;
}

test('a QR code leads an app to the secret', () => {
  const { uri, modules } = enrolmentOf(secret, 'anna', 'mail.example.com');
  expect(uri).toBe(
    `otpauth://totp/Postrider:anna%40mail.example.com?issuer=Postrider&secret=${secret}&algorithm=SHA1&digits=6&period=30`,
  );
  expect(modules.length).toBeGreaterThan(30);
  expect(modules.every((row) => row.length === modules.length)).toBe(true);
  // Cameras need four light modules around it (ISO/IEC 18004).
  const dark = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [x, y] : [])));
  expect([Math.min(...dark), Math.max(...dark)]).toEqual([4, modules.length - 5]);
});

test('is turned on by a code of the secret alone, and stored sealed', async () => {
  const other = codeAt(now() + 10 * STEP_MS);
  expect(await enableTotp(fixture.ctx, await anna(), secret, other)).toBeNull();
  expect(await enableTotp(fixture.ctx, await anna(), 'no secret', '000000')).toBeNull();
  // Shorter than RFC 4226 asks for, with a code of its own.
  const short = 'A'.repeat(16);
  const code = new TOTP({ secret: Secret.fromBase32(short) }).generate({ timestamp: now() });
  expect(await enableTotp(fixture.ctx, await anna(), short, code)).toBeNull();
  expect((await anna()).sealedTotp).toBeNull();
  const codes = await enabled();
  expect(new Set(codes).size).toBe(10);
  for (const one of codes) expect(one).toMatch(/^[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}$/);
  const { sealedTotp, recoveryCodes } = await anna();
  expect(recoveryCodes).toBe(10);
  expect(Buffer.from(sealedTotp ?? []).includes(secret)).toBe(false);
});

test('a code passes once, one step early or late, and no other', async () => {
  await enabled();
  const factor = new SecondFactor(fixture.ctx);
  const passes = async (code: string) => factor.passes(await anna(), code);
  expect(await passes('')).toBe(false);
  expect(await passes(codeAt(now() + 2 * STEP_MS))).toBe(false);
  const code = codeAt(now());
  expect(await passes(`${code.slice(0, 3)} ${code.slice(3)}`)).toBe(true);
  expect(await passes(code)).toBe(false);
  // Older than the one that was used.
  expect(await passes(codeAt(now() - STEP_MS))).toBe(false);
  const next = codeAt(now() + STEP_MS);
  expect(await passes(`${next.slice(0, 3)}-${next.slice(3)}`)).toBe(true);
  // Nor does it turn anything on again; one with a space that was copied along does.
  await disableTotp(fixture.ctx, await anna());
  expect(await enableTotp(fixture.ctx, await anna(), secret, next)).toBeNull();
  fixture.clock.jump(2 * STEP_MS);
  const later = ` ${codeAt(now())} `;
  expect(await enableTotp(fixture.ctx, await anna(), secret, later)).toHaveLength(10);
});

test('a recovery code passes once, however it is written', async () => {
  const [first = '', second = ''] = await enabled();
  const factor = new SecondFactor(fixture.ctx);
  expect(await factor.passes(await anna(), first)).toBe(true);
  expect(await factor.passes(await anna(), first)).toBe(false);
  expect(await factor.passes(await anna(), ` ${second.toLowerCase().replaceAll('-', ' ')}`)).toBe(
    true,
  );
  expect((await anna()).recoveryCodes).toBe(8);
});

test('ten wrong codes end it for ten minutes, for the right one too', async () => {
  await enabled();
  const factor = new SecondFactor(fixture.ctx);
  for (let at = 0; at < 10; at += 1) {
    expect(await factor.passes(await anna(), codeAt(now() + (at + 5) * STEP_MS))).toBe(false);
  }
  expect(await factor.passes(await anna(), codeAt(now()))).toBe(false);
  await fixture.clock.advance(10 * 60_000);
  expect(await factor.passes(await anna(), codeAt(now()))).toBe(true);
});

test('turned off, nothing is asked and no code is left', async () => {
  await enabled();
  await disableTotp(fixture.ctx, await anna());
  expect(await anna()).toMatchObject({ sealedTotp: null, recoveryCodes: 0 });
  expect(await new SecondFactor(fixture.ctx).passes(await anna(), '')).toBe(true);
});

test('wrong codes are forgotten after ten minutes of steady time, and after a right one', async () => {
  await enabled();
  const factor = new SecondFactor(fixture.ctx);
  const wrong = async (times: number) => {
    for (let at = 0; at < times; at += 1) await factor.passes(await anna(), '000000');
  };
  const right = async () => factor.passes(await anna(), codeAt(now()));
  await wrong(9);
  expect(await right()).toBe(true);
  fixture.clock.jump(2 * STEP_MS);
  await wrong(9);
  expect(await right()).toBe(true);
  await wrong(10);
  // The wall clock may be set as it likes.
  fixture.clock.jump(86_400_000);
  expect(await right()).toBe(false);
  fixture.clock.pass(10 * 60_000 - 1);
  expect(await right()).toBe(false);
  fixture.clock.pass(1);
  expect(await right()).toBe(true);
});

test('the ten minutes begin anew with each wrong code, and are those of one operator', async () => {
  await enabled();
  await addOperator(fixture.ctx, { name: 'ben', role: 'read_only', accountId: null });
  const ben = async (): Promise<Operator> => operatorNamed(fixture.ctx, 'ben');
  // Of one secret, so that both are asked for the same codes.
  expect(await enableTotp(fixture.ctx, await ben(), secret, codeAt(now()))).toHaveLength(10);
  const factor = new SecondFactor(fixture.ctx);
  const wrong = async (times: number) => {
    // Recovery codes that are none count as much as codes that are none.
    for (let at = 0; at < times; at += 1)
      await factor.passes(await anna(), at === 0 ? 'AAAA' : '1');
  };
  await wrong(5);
  await fixture.clock.advance(9 * 60_000);
  await wrong(5);
  await fixture.clock.advance(9 * 60_000);
  expect(await factor.passes(await anna(), codeAt(now()))).toBe(false);
  expect(await factor.passes(await ben(), codeAt(now()))).toBe(true);
  await fixture.clock.advance(60_000);
  expect(await factor.passes(await anna(), codeAt(now()))).toBe(true);
});

test('of many codes at once ten are looked at', async () => {
  await enabled();
  const factor = new SecondFactor(fixture.ctx);
  const operator = await anna();
  const at = now();
  const guesses = Array.from({ length: 10 }, (_, n) => codeAt(at + (n + 5) * STEP_MS));
  const passed = await Promise.all(
    [...guesses, codeAt(at)].map((code) => factor.passes(operator, code)),
  );
  expect(passed).toEqual(Array.from({ length: 11 }, () => false));
});
