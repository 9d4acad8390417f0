/**
 * The wall clock is set back or forth by an hour, a day, a year: what waits is due when its time has really passed,
 * nothing is done twice, and nothing expires early. The tests of steady time itself are in test/base/steady-clock.test.ts.
 */
import { afterEach, describe, expect, test } from 'bun:test';

import { RateWindows } from '../../src/api/rate-windows.ts';
import { isLinkValid, linkTo } from '../../src/api/routes/download-link.ts';
import { Sessions } from '../../src/dashboard/session.ts';
import { openContext } from '../../src/appliance/context.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { Periodic } from '../../src/base/periodic.ts';
import { resetAdminPassword } from '../../src/flow/people/operators.ts';
import { DomainChecker } from '../../src/flow/domains/checker.ts';
import { ClockMarks } from '../../src/flow/kept-clock.ts';
import { Lane } from '../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../src/flow/pacing/provider-limits.ts';
import { Retention } from '../../src/flow/upkeep/retention.ts';
import { FailedLogins } from '../../src/smtp/limits.ts';
import { DnsCache } from '../../src/wire/dns/cache.ts';
import { TestClock } from '../rig/clock.ts';
import { startHook } from '../rig/hook.ts';
import { startReceiver } from '../rig/receiver.ts';
import { draft, openFixture } from './fixture.ts';
import { startQueueRig } from './queue/queue-rig.ts';
import { startWebhookRig } from './webhooks/webhook-rig.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const STEPS = [HOUR_MS, DAY_MS, 365 * DAY_MS].flatMap((ms) => [-ms, ms]);

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

describe.each(STEPS)('a step of %p ms', (stepMs) => {
  test('deferred mail goes out when its minute has passed, once, also after a restart', async () => {
    const mx = await startReceiver({ hostname: 'mx.example.com' });
    const rig = await startQueueRig({ delivery: { port: mx.port } });
    ends.push(
      () => rig.stop(),
      () => mx.stop(),
    );
    rig.names.set('example.com', 'MX', ['10 mx.example.com']);
    rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
    mx.script.rcpt = () => '451 4.7.1 greylisted';
    const stays = await rig.send(['ann@example.com']);
    await rig.attempted(stays.id, 1);
    const rests = await rig.send(['bob@example.com']);
    await rig.attempted(rests.id, 1);
    mx.script.rcpt = () => null;

    rig.clock.jump(stepMs);
    await rig.clock.advance(30_000);
    await rig.restart();
    await rig.clock.advance(MINUTE_MS - 30_000 - 2_000);
    await rig.idle();
    // Not early either: the step is no time that has passed.
    expect(mx.messages.items).toHaveLength(0);
    await rig.clock.advance(2_000 + 1_000);
    const [ann] = await rig.attempted(stays.id, 2);
    const [bob] = await rig.attempted(rests.id, 2);
    expect([ann?.recipient.status, bob?.recipient.status]).toEqual(['delivered', 'delivered']);
    rig.clock.jump(-stepMs);
    await rig.restart();
    await rig.clock.advance(3 * HOUR_MS);
    await rig.idle();
    expect(mx.messages.items).toHaveLength(2);
    const later = await rig.send(['cid@example.com']);
    const [cid] = await rig.attempted(later.id, 1);
    expect(cid?.recipient.status).toBe('delivered');
  });

  test('a webhook call is tried again when its wait has passed, and acknowledged once', async () => {
    const clock = new TestClock();
    const rig = await startWebhookRig({ clock, dispatcher: { random: () => 0 } });
    const hook = await startHook();
    ends.push(
      () => rig.stop(),
      () => hook.stop(),
    );
    hook.script.answer = () => ({ status: hook.calls.items.length === 0 ? 503 : 204 });
    await rig.endpoint(hook.url);
    await rig.happen(1);
    await rig.ended.atLeast(1);
    clock.jump(stepMs);
    await rig.restart();
    await clock.advance(29_000);
    expect(hook.calls.items).toHaveLength(1);
    await clock.advance(2_000);
    expect((await rig.ended.atLeast(2))[1]).toMatchObject({ status: 'done' });
    clock.jump(-stepMs);
    await rig.happen(1);
    await rig.ended.atLeast(3);
    await clock.advance(3 * HOUR_MS);
    expect(hook.calls.items).toHaveLength(3);
    const ids = hook.calls.items.map((call) => call.headers['webhook-id']);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  test('a request that is repeated within a day is not done twice, and no longer after it', async () => {
    const fixture = await openFixture();
    ends.push(() => fixture.close());
    const sender = await fixture.sender();
    await fixture.verified(sender, 'acme.example');
    const idempotency = { key: 'k', route: 'POST /emails', bodyHash: 'h' };
    const first = await fixture.accept(sender, draft(), { idempotency });
    fixture.clock.jump(stepMs);
    // Retention runs meanwhile.
    await new Retention(fixture.ctx).run(new AbortController().signal);
    await fixture.clock.advance(DAY_MS - MINUTE_MS);
    const again = await fixture.accept(sender, draft(), { idempotency });
    expect([again.isReplay, again.body]).toEqual([true, first.body]);
    await fixture.clock.advance(2 * MINUTE_MS);
    expect((await fixture.accept(sender, draft(), { idempotency })).isReplay).toBe(false);
  });

  test('rates, logins, guesses and pauses neither open nor stay closed', async () => {
    const fixture = await openFixture();
    ends.push(() => fixture.close());
    const { ctx, clock } = fixture;
    const rates = new RateWindows(ctx);
    expect(rates.take('k', 1, MINUTE_MS).isAllowed).toBe(true);
    await rates.save();
    const logins = new FailedLogins(clock);
    for (let at = 0; at < 10; at += 1) logins.note('192.0.2.1');
    const lane = new Lane('site', OTHERS, clock);
    const { untilMs } = lane.slowDown({ cause: 'slow down', class: 'rate', hint: null });
    const pauseMs = untilMs - clock.steady();

    clock.jump(stepMs);
    await clock.advance(pauseMs - 1);
    expect(lane.throttleNow()).not.toBeNull();
    await clock.advance(1);
    expect(lane.throttleNow()).toBeNull();
    await clock.advance(MINUTE_MS - 1 - pauseMs);
    expect([rates.take('k', 1, MINUTE_MS).isAllowed, logins.isBlocked('192.0.2.1')]).toEqual([
      false,
      true,
    ]);
    const next = new RateWindows(ctx);
    await next.load();
    expect(next.take('k', 1, MINUTE_MS).isAllowed).toBe(false);
    await clock.advance(1);
    expect(next.take('k', 1, MINUTE_MS).isAllowed).toBe(true);
    await clock.advance(14 * MINUTE_MS);
    expect(logins.isBlocked('192.0.2.1')).toBe(false);
  });

  test('sessions and links end after their time', async () => {
    const fixture = await openFixture();
    ends.push(() => fixture.close());
    const { ctx, clock } = fixture;
    const password = await resetAdminPassword(ctx);
    const signIn = await new Sessions(ctx).open(
      { name: '', password, code: '' },
      '192.0.2.1',
      false,
    );
    const cookie = typeof signIn === 'object' ? (signIn.cookie.split(';')[0] ?? '') : '';
    const request = new Request('http://localhost/', { headers: { cookie } });
    const isSignedIn = async (): Promise<boolean> =>
      (await new Sessions(ctx).operatorOf(request)) !== null;
    const { url } = linkTo(ctx, '01913c7e-89ab-7cde-8f01-23456789abcd', 0);
    const [id = '', query] = [url.split('/').at(-2), new URL(url).searchParams];
    const isGood = (): boolean =>
      isLinkValid(ctx, id, query.get('expires') ?? '', query.get('signature') ?? '');
    clock.jump(stepMs);
    expect([await isSignedIn(), isGood()]).toEqual([true, true]);
    await clock.advance(HOUR_MS + 1);
    expect(isGood()).toBe(false);
    await clock.advance(11 * HOUR_MS);
    expect(await isSignedIn()).toBe(false);
  });

  test('an answer of DNS is used for its time to live', async () => {
    const clock = new TestClock();
    const cache = new DnsCache(clock);
    const answer = {
      kind: 'found',
      records: ['192.0.2.1'],
      ttlSeconds: 300,
      isAuthenticated: false,
    } as const;
    cache.put('key', answer);
    clock.jump(stepMs);
    await clock.advance(299_000);
    expect(cache.get('key')).not.toBeNull();
    await clock.advance(1_000);
    expect(cache.get('key')).toBeNull();
  });

  test('a domain is checked again after a minute', async () => {
    const fixture = await openFixture();
    ends.push(() => fixture.close());
    const { ctx, clock } = fixture;
    const sender = await fixture.sender();
    const domain = await fixture.verified(sender, 'acme.example');
    await ctx.store.finishDomainCheck({
      ...domain,
      now: clock.now(),
      status: 'pending',
      nextCheckAt: clock.steady() + MINUTE_MS,
    });
    const checks = new Periodic(ctx, new DomainChecker(ctx));
    ends.unshift(() => checks.stop());
    checks.start();
    const checkedAt = async (): Promise<number | null> =>
      (await ctx.store.domain(sender.account.id, domain.id))?.lastCheckedAt ?? null;
    const before = await checkedAt();
    clock.jump(stepMs);
    await clock.advance(MINUTE_MS - 1_000);
    expect(await checkedAt()).toBe(before);
    await clock.advance(31_000);
    await checks.runNow();
    expect(Number(await checkedAt())).toBeGreaterThan(clock.now() - MINUTE_MS);
  });

  test('the appliance goes on with its own time after a restart', async () => {
    const fixture = await openFixture();
    ends.push(() => fixture.close());
    const clock = new TestClock();
    const text = `hostname = "mail.rig.test"\ndata_dir = ${JSON.stringify(`${fixture.dir}/own`)}`;
    const open = (): ReturnType<typeof openContext> =>
      openContext(parseConfig(text, 'rig.toml'), { clock, log: fixture.ctx.log });
    const first = await open();
    await clock.advance(HOUR_MS);
    await new ClockMarks(first.clock, first.store).run();
    const restedAt = first.clock.steady();
    first.signing.stop();
    await first.store.close();
    clock.jump(stepMs);
    await clock.advance(5 * MINUTE_MS);
    const second = await open();
    expect(second.clock.steady() - restedAt).toBe(5 * MINUTE_MS);
    expect(second.clock.now()).toBe(clock.now());
    second.signing.stop();
    await second.store.close();
  });
});
