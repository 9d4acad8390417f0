/** Operators and their changes, compared whole: rows, hashes, names, refusals, and entries of the audit log. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { OperatorError } from '../../../src/base/errors.ts';
import type { Context } from '../../../src/flow/context.ts';
import { audit } from '../../../src/flow/people/audit.ts';
import {
  addOperator,
  operatorNamed,
  operatorWith,
  removeOperator,
  resetPassword,
  setAdminPassword,
  setPassword,
} from '../../../src/flow/people/operators.ts';
import { enableTotp, enrolmentOf, SecondFactor } from '../../../src/flow/people/totp.ts';
import { totpLabel } from '../../../src/flow/seal-labels.ts';
import type { Operator } from '../../../src/store/people.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const admin = { role: 'admin', accountId: null } as const;

/** Hashes take long, and what most of these tests say of operators has nothing to do with them. */
async function withoutHashes(body: () => Promise<void>): Promise<void> {
  const hash = spyOn(Bun.password, 'hash').mockImplementation(async (password, algorithm) =>
    JSON.stringify([algorithm, password]),
  );
  await body().finally(() => hash.mockRestore());
}

test('the row of an operator, and the password that was made', () =>
  withoutHashes(async () => {
    const { ctx, clock } = fixture;
    clock.jump(5_000);
    const { account } = await fixture.sender();
    const given = { name: 'ann@acme.example', role: 'read_only', accountId: account.id } as const;
    const { operator, password } = await addOperator(ctx, given);
    expect(operator).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...given,
      passwordHash: JSON.stringify(['argon2id', password]),
      sealedTotp: null,
      recoveryCodes: 0,
      createdAt: clock.now(),
      signedInAt: null,
    } as unknown as Operator);
    expect(password).toMatch(/^[\w-]{24}$/);
    expect(await operatorNamed(ctx, given.name)).toEqual(operator);
    const other = await resetPassword(ctx, given.name);
    expect(other).toMatch(/^[\w-]{24}$/);
    const passwordHash = JSON.stringify(['argon2id', other]);
    expect(await operatorNamed(ctx, given.name)).toEqual({ ...operator, passwordHash });
    await setPassword(ctx, given.name, 'one of my own, long enough');
    expect((await operatorNamed(ctx, given.name)).passwordHash).toBe(
      '["argon2id","one of my own, long enough"]',
    );
  }));

test('which names are taken, and what is said of the others', () =>
  withoutHashes(async () => {
    const { ctx } = fixture;
    const made: string[] = [];
    const store: Context['store'] = {
      ...ctx.store,
      async createOperator({ name }) {
        made.push(name);
        return 'created';
      },
    };
    const good = ['a', '7', 'a._@+-z', 'a'.repeat(60)];
    for (const name of good) await addOperator({ ...ctx, store }, { name, ...admin });
    expect(made).toEqual(good);
    for (const name of ['', 'A', '.a', '-a', 'a b', 'é', 'a'.repeat(61), 'a\n']) {
      const { detail } = await refusal(addOperator({ ...ctx, store }, { name, ...admin }));
      expect([name, detail?.issues]).toEqual([
        name,
        [
          {
            path: 'name',
            message:
              'name must have 1 to 60 characters: lower-case letters, digits and . _ @ + -, with a letter or digit first.',
          },
        ],
      ]);
    }
    const most: number[] = [];
    for (const [result, words] of [
      ['exists', 'There is an operator ann already.'],
      ['too_many', 'There are 100 operators, the most there may be.'],
    ] as const) {
      store.createOperator = async (_, max) => {
        most.push(max);
        return result;
      };
      const error = await refusal(addOperator({ ...ctx, store }, { name: 'ann', ...admin }));
      expect([error.code, error.message]).toEqual(['conflict', words]);
    }
    expect(most).toEqual([100, 100]);
  }));

test('what is said of nobody, of the last one, and of a password that does not fit', () =>
  withoutHashes(async () => {
    const { ctx } = fixture;
    for (const ask of [
      () => operatorNamed(ctx, 'bert'),
      () => removeOperator(ctx, 'bert'),
      () => resetPassword(ctx, 'bert'),
      () => setPassword(ctx, 'bert', 'long enough for it'),
    ]) {
      const { code, message } = await refusal(ask());
      expect([code, message]).toEqual(['not_found', 'There is no operator bert.']);
    }
    const { operator } = await addOperator(ctx, { name: 'ann', ...admin });
    const last = await refusal(removeOperator(ctx, 'ann'));
    expect([last.code, last.message]).toEqual([
      'conflict',
      'ann is the last operator with all rights: add another one first.',
    ]);
    for (const set of [
      () => setPassword(ctx, 'ann', 'short'),
      () => setAdminPassword(ctx, 'x'.repeat(1_025)),
    ]) {
      const error: unknown = await set().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OperatorError);
      expect(error).toMatchObject({
        message: 'A password has at least 15 characters and at most 1024 bytes.',
        hint: 'Leave --stdin out, and one is made for you.',
      });
    }
    await addOperator(ctx, { name: 'bert', ...admin });
    expect(await removeOperator(ctx, 'ann')).toEqual(operator);
  }));

test('a name that nobody has is checked against a hash of the same work', () =>
  withoutHashes(async () => {
    const { ctx } = fixture;
    const { operator, password } = await addOperator(ctx, { name: 'ann', ...admin });
    const verify = spyOn(Bun.password, 'verify').mockImplementation(
      async (text, hash) => hash === JSON.stringify(['argon2id', text]),
    );
    try {
      expect([
        await operatorWith(ctx, 'ann', 'x'),
        await operatorWith(ctx, 'nobody', password),
        await operatorWith(ctx, 'ann', password),
      ]).toEqual([null, null, operator]);
      expect(verify.mock.calls).toEqual([
        ['x', operator.passwordHash],
        [password, expect.stringMatching(/^\$argon2id\$v=19\$m=65536,t=2,p=1\$/)],
        [password, operator.passwordHash],
      ]);
    } finally {
      verify.mockRestore();
    }
  }));

test('the second factor: its secret, its codes, and what is stored of them', () =>
  withoutHashes(async () => {
    const { ctx, clock } = fixture;
    const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    const { operator } = await addOperator(ctx, { name: 'ann', ...admin });
    const code = (at = clock.now()): string =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at });
    const stored: unknown[] = [];
    const steps: number[] = [];
    const before = ctx.store;
    const store: Context['store'] = {
      ...ctx.store,
      async setOperatorTotp(id, sealed, hashes) {
        stored.push([id, sealed === null ? null : ctx.secrets.open(sealed, totpLabel(id)), hashes]);
        await before.setOperatorTotp(id, sealed, hashes);
      },
      async takeTotpStep(id, step) {
        steps.push(step);
        return await before.takeTotpStep(id, step);
      },
    };
    const own = { ...ctx, store };
    for (const wrong of [secret.toLowerCase(), `${secret}A`, secret.slice(1), `${secret}\n`]) {
      expect(await enableTotp(own, operator, wrong, code())).toBeNull();
    }
    expect([steps, stored]).toEqual([[], []]);
    const codes = (await enableTotp(own, operator, secret, ` ${code()} `)) ?? [];
    expect(codes).toHaveLength(10);
    for (const one of codes) expect(one).toMatch(/^(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
    const hashes = codes.map((one) =>
      createHash('sha256').update(one.replaceAll('-', '')).digest('hex'),
    );
    expect(stored).toEqual([[operator.id, secret, hashes]]);
    const step = Math.floor(clock.now() / 30_000);
    expect(steps.splice(0)).toEqual([step]);
    // The code that turned it on is used up, also for turning it on anew.
    expect(await enableTotp(own, operator, secret, code())).toBeNull();
    const factor = new SecondFactor(own);
    const ann = await operatorNamed(ctx, 'ann');
    expect(await factor.passes(ann, code())).toBe(false);
    expect(await factor.passes(ann, code(clock.now() + 30_000))).toBe(true);
    expect(await factor.passes(ann, code(clock.now() - 30_000))).toBe(false);
    expect(steps).toEqual([step, step, step + 1, step - 1]);
    const { modules, ...shown } = enrolmentOf(secret, 'ann', 'mail.rig.test');
    expect(shown.secret).toBe(secret);
    // Four light modules all around.
    expect([
      modules.slice(0, 4).flat().some(Boolean),
      modules.slice(-4).flat().some(Boolean),
      modules[4]?.[4],
    ]).toEqual([false, false, true]);
  }));

test('an entry of the audit log, whole, and the facts that it tells in their order', async () => {
  const { ctx, clock, logged } = fixture;
  clock.jump(7_000);
  const facts = Object.fromEntries(
    ['permission', 'status', 'url', 'email', 'role', 'plan', 'domain', 'account', 'name', 'id'].map(
      (name) => [name, name === 'url' ? 'https://a.example/x' : `a ${name}`],
    ),
  );
  const change = { via: 'api', action: 'x.y', accountId: 'a', address: '192.0.2.1' } as const;
  await audit(ctx, { ...change, who: 'ann', facts: { ...facts, secret: 'hush' } });
  expect(await ctx.store.audit({ limit: 1, before: null, who: 'ann' })).toEqual([
    {
      seq: 1,
      at: clock.now(),
      via: 'api',
      who: 'ann',
      action: 'x.y',
      target:
        'id=a id name=a name account=a account domain=a domain plan=a plan role=a role email=a email url=https://a.example status=a status permission=a permission',
      accountId: 'a',
      address: '192.0.2.1',
    },
  ]);
  ctx.store.addAudit = () => Promise.reject(new Error('full'));
  await audit(ctx, { ...change, who: 'ann', facts });
  expect(logged).toEqual([
    {
      time: expect.any(String),
      level: 'error',
      event: 'audit_lost',
      action: 'x.y',
      error: expect.objectContaining({ message: 'full' }),
      hint: 'The change was made, its entry in the audit log was not. Free space on the disk if it is full.',
    },
  ]);
});
