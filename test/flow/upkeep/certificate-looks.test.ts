/** When a node looks for a certificate that another has ordered, and what it does with it: without an authority. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CertificateKeeper,
  certificateFile,
  sharedCertificates,
} from '../../../src/flow/upkeep/certificates.ts';
import type { Context } from '../../../src/flow/context.ts';
import { makeAuthority } from '../../rig/certificates.ts';
import { describeWith } from '../../rig/programs.ts';
import { openFixture, type Fixture } from '../fixture.ts';
import { TestClock } from '../../rig/clock.ts';

const NAMES = ['mail.appliance.example', 'api.acme.example'];
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({
    clock: new TestClock(Date.now()),
    toml: '[http]\npublic_url = "https://api.acme.example"\n[acme]\nlisten = "127.0.0.1:0"\naccept_terms = true\ndirectory_url = "https://127.0.0.1:1/"\n',
  });
});
afterEach(() => fixture.close());

describeWith(['openssl'], 'a node without an authority', () => {
  const authority = makeAuthority();
  /** `isNearEnd`: in the last third of its time. */
  const pem = (names = NAMES, isNearEnd = false): string => {
    const { cert, key } = authority.issue(names, { isNearEnd });
    return cert + key;
  };

  /** A node on a store whose jobs another has, or nobody; `asked`: which job was asked for, and when. */
  function node(isFree: boolean | (() => Promise<boolean>) = false, ctx = fixture.ctx) {
    const { clock } = fixture;
    const asked: [name: string, atMs: number, forMs: number][] = [];
    const ended: [name: string, restMs: number][] = [];
    let writes = 0;
    const settings = new Map<string, string | null>();
    const store: Context['store'] = {
      ...ctx.store,
      setting: async (name) => settings.get(name) ?? null,
      async setSetting(name, value) {
        settings.set(name, value);
        writes += 1;
      },
      async takeJob(name, _holder, forMs) {
        asked.push([name, clock.elapsedMs, forMs]);
        return typeof isFree === 'boolean' ? isFree : await isFree();
      },
      async endJob(name, _holder, restMs) {
        ended.push([name, restMs]);
      },
    };
    const certificates = sharedCertificates({ ...ctx, store });
    let renewals = 0;
    const keeper = new CertificateKeeper(ctx, () => (renewals += 1), { certificates, store });
    const own = certificateFile(fixture.dir);
    const has = (text: string): void => {
      mkdirSync(join(fixture.dir, 'acme'), { recursive: true });
      writeFileSync(own, text);
    };
    const events = (): unknown[] =>
      fixture.logged.map(({ time: _time, level: _level, ...line }) => line);
    return {
      keeper,
      certificates,
      asked,
      ended,
      own,
      has,
      events,
      renewals: () => renewals,
      writes: () => writes,
      read: () => readFileSync(own, 'utf8'),
    };
  }

  test('gives what only it has, takes what lasts longer, and puts back what lasts longer than the shared one', async () => {
    const { clock } = fixture;
    const one = node();
    const [near, fresh] = [pem(NAMES, true), pem()];
    one.has(near);
    one.keeper.start();
    await clock.advance(0);
    expect(await one.certificates.certificate()).toBe(near);
    await one.certificates.keep(fresh);
    // It would order, and asks every ten seconds.
    await clock.advance(9_999);
    expect([one.read(), one.renewals()]).toEqual([near, 0]);
    await clock.advance(1);
    expect([one.read(), one.renewals()]).toEqual([fresh, 1]);
    for (const other of [near, 'nonsense', pem(['mail.appliance.example'])]) {
      await one.certificates.keep(other);
      await clock.advance(MINUTE_MS - 1);
      expect(await one.certificates.certificate()).toBe(other);
      await clock.advance(1);
      expect([await one.certificates.certificate(), one.read()]).toEqual([fresh, fresh]);
    }
    expect([one.renewals(), one.asked.length]).toEqual([1, 1]);
    await one.keeper.stop();
  });

  test('takes it where it has none, tells the listeners, and asks nobody for an order', async () => {
    const { clock } = fixture;
    const one = node();
    await one.certificates.keep(pem());
    one.keeper.start();
    await clock.advance(0);
    expect(one.read()).toBe((await one.certificates.certificate()) ?? '');
    expect(statSync(one.own).mode & 0o777).toBe(0o600);
    expect(statSync(join(one.own, '..')).mode & 0o777).toBe(0o700);
    expect(one.events()).toEqual([{ event: 'certificate_taken', names: NAMES }]);
    expect([one.renewals(), one.asked]).toEqual([1, []]);
    // Once: the same one is not taken again.
    await clock.advance(10 * MINUTE_MS);
    expect([one.renewals(), one.events().length, one.writes()]).toEqual([1, 1, 1]);
    await one.keeper.stop();
  });

  test('one for other names counts as none', async () => {
    const { clock } = fixture;
    const one = node();
    await one.certificates.keep(pem(['mail.appliance.example']));
    one.has(pem(['api.acme.example']));
    one.keeper.start();
    await clock.advance(0);
    expect([one.renewals(), one.events()]).toEqual([0, []]);
    expect(one.asked.map(([name, atMs]) => [name.split(':')[0], atMs])).toEqual([['sealed', 0]]);
    await one.keeper.stop();
  });

  test('asks every ten seconds whether it may order, while another node does, and takes what that one got', async () => {
    const { clock } = fixture;
    const one = node();
    one.keeper.start();
    await clock.advance(30_000);
    const job = one.certificates.orderJob;
    expect(one.asked).toEqual([0, 10_000, 20_000, 30_000].map((at) => [job, at, MINUTE_MS]));
    await one.certificates.keep(pem());
    await clock.advance(10_000);
    expect([one.renewals(), one.asked.length]).toEqual([1, 4]);
    await clock.advance(MINUTE_MS);
    expect(one.asked).toHaveLength(4);
    await one.keeper.stop();
  });

  test('where another node has ordered before it may, it takes that one and orders none', async () => {
    const { clock } = fixture;
    const fresh = pem();
    const one = node(async () => {
      await one.certificates.keep(fresh);
      return true;
    });
    one.keeper.start();
    while (one.ended.length === 0) await clock.advance(0);
    expect(one.asked.map(([name]) => name)).toEqual([one.certificates.orderJob]);
    expect([one.read(), one.renewals(), one.ended]).toEqual([
      fresh,
      1,
      [[one.certificates.orderJob, 0]],
    ]);
    await one.keeper.stop();
  });

  test('a store that fails is told with where to look, but not when the keeper was stopped', async () => {
    const { clock } = fixture;
    const gate = Promise.withResolvers<boolean>();
    const broken = node(() => Promise.reject(new Error('the store is away')));
    broken.keeper.start();
    while (broken.events().length === 0) await clock.advance(0);
    const stopped = node(() => gate.promise);
    stopped.keeper.start();
    while (stopped.asked.length === 0) await clock.advance(0);
    await stopped.keeper.stop();
    gate.reject(new Error('the store is closed'));
    await clock.advance(0);
    expect(stopped.events()).toMatchObject([
      {
        event: 'certificate_check_failed',
        error: expect.anything(),
        hint: `Look at ${fixture.dir}/acme.`,
      },
    ]);
    await broken.keeper.stop();
  });

  test('a refusal keeps the names from everybody for an hour, and every order for a quarter of one', async () => {
    const { clock } = fixture;
    const { ctx } = fixture;
    const tls = { ...ctx.config.startup.tls, extraCaFile: join(fixture.dir, 'gone.pem') };
    const config = { ...ctx.config, startup: { ...ctx.config.startup, tls } };
    // No order gets as far as the authority.
    const one = node(true, { ...ctx, config });
    one.keeper.start();
    while (one.ended.length < 3) await clock.advance(0);
    const job = one.certificates.orderJob;
    expect(one.ended).toEqual([
      ['acme_account', 0],
      ['acme_order', HOUR_MS / 4],
      [job, HOUR_MS],
    ]);
    expect(one.events()).toEqual([
      {
        event: 'certificate_failed',
        names: NAMES,
        reason: expect.any(String),
        next_in_ms: HOUR_MS,
        hint: 'The DNS of every name must point to this machine (that of the service to any node), and port 80 must reach [acme] listen. The appliance tries again by itself.',
      },
    ]);
    // Until then it looks each minute for what others have got.
    const asked = one.asked.length;
    await clock.advance(MINUTE_MS - 1);
    expect(one.asked).toHaveLength(asked);
    await clock.advance(1);
    expect(one.asked.length).toBeGreaterThan(asked);
    await one.keeper.stop();
  });

  test('one that comes after the stop is kept for the next start, and nobody is told', async () => {
    const { clock } = fixture;
    const gate = Promise.withResolvers<void>();
    const one = node();
    await one.certificates.keep(pem());
    const { secrets } = fixture.ctx;
    const certificates = sharedCertificates({
      ...fixture.ctx,
      store: {
        ...fixture.ctx.store,
        async setting() {
          await gate.promise;
          const label = one.certificates.orderJob;
          const text = (await one.certificates.certificate()) ?? '';
          return Buffer.from(secrets.seal(text, label)).toString('hex');
        },
      },
    });
    let renewals = 0;
    const store = fixture.ctx.store;
    const keeper = new CertificateKeeper(fixture.ctx, () => (renewals += 1), {
      certificates,
      store,
    });
    keeper.start();
    await clock.advance(0);
    await keeper.stop();
    gate.resolve();
    while (one.events().length === 0) await clock.advance(0);
    expect(one.events()).toEqual([{ event: 'certificate_taken', names: NAMES }]);
    expect([renewals, one.read()]).toEqual([0, (await one.certificates.certificate()) ?? '']);
  });

  test('a port that is taken is an error at the start, and without [acme] nothing is opened', async () => {
    const { ctx } = fixture;
    const one = node();
    one.keeper.start();
    const { startup } = ctx.config;
    const at = (acme: typeof startup.acme) =>
      new CertificateKeeper(
        { ...ctx, config: { ...ctx.config, startup: { ...startup, acme } } },
        () => undefined,
      );
    const off = at(null);
    off.start();
    expect([off.port, typeof one.keeper.port]).toEqual([null, 'number']);
    await off.stop();
    if (startup.acme === null) throw new Error('[acme] is configured');
    const taken = at({
      ...startup.acme,
      listen: { host: '127.0.0.1', port: one.keeper.port ?? 0 },
    });
    expect(() => taken.start()).toThrow('acme.listen');
    await one.keeper.stop();
    await taken.stop();
  });
});
