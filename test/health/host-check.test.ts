/** The host check of the running service: what it logs and when, and that its findings are those of the last check. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { chmodSync } from 'node:fs';

import { createResolver } from '../../src/wire/dns/dns.ts';
import { Vitals } from '../../src/health/vitals.ts';
import { type Fixture, openFixture } from '../flow/fixture.ts';
import { startNames, type Names } from '../rig/names.ts';
import { TestClock } from '../rig/clock.ts';

const HOUR_MS = 3_600_000;

let names: Names;
let resolver: ReturnType<typeof createResolver>;
let fixture: Fixture;
let vitals: Vitals;
const dnsClock = new TestClock();

beforeEach(async () => {
  names = await startNames();
  resolver = createResolver({ servers: [names.listen], clock: dnsClock });
  fixture = await openFixture({ resolver, toml: '[delivery]\nsource_addresses = ["9.9.9.7"]' });
  chmodSync(fixture.dir, 0o700);
  vitals = new Vitals(fixture.ctx);
});
afterEach(async () => {
  vitals.stop();
  resolver.close();
  await fixture.close();
  await names.stop();
});

/** Makes a check with fresh answers, and gives the questions whose errors it logged. */
async function check(): Promise<unknown[]> {
  await dnsClock.advance(HOUR_MS);
  fixture.logged.length = 0;
  await vitals.checkNow();
  return fixture.logged
    .filter(({ event }) => event === 'host_problem_found')
    .map(({ check: name, level, hint }) => [name, level, hint === ''].join(' '));
}

const levelOf = (name: string): string | undefined =>
  vitals.findings?.findings.find((one) => one.check === name)?.level;

test('an error is logged when it is found, not again while it lasts, and again when it is back', async () => {
  const logged = 'data_rights error false';
  expect(await check()).not.toContain(logged);
  chmodSync(fixture.dir, 0o755);
  expect(await check()).toContain(logged);
  expect(levelOf('data_rights')).toBe('error');
  expect(await check()).toEqual([]);
  chmodSync(fixture.dir, 0o700);
  expect(await check()).toEqual([]);
  expect(levelOf('data_rights')).toBe('ok');
  chmodSync(fixture.dir, 0o755);
  expect(await check()).toEqual([logged]);
});

test('a warning is not logged, and is once it has become an error', async () => {
  names.set('mail.appliance.example', 'A', ['9.9.9.7']);
  names.set('7.9.9.9.in-addr.arpa', 'PTR', ['host7.provider.example']);
  names.set('host7.provider.example', 'A', ['9.9.9.7']);
  const logged = 'reverse_dns_ipv4 error false';
  expect(await check()).not.toContain(logged);
  expect(levelOf('reverse_dns_ipv4')).toBe('warning');
  names.set('host7.provider.example', 'A', ['9.9.9.8']);
  expect(await check()).toEqual([logged]);
  expect(levelOf('reverse_dns_ipv4')).toBe('error');
});

test('checks asked for at once are one check', async () => {
  chmodSync(fixture.dir, 0o755);
  await Promise.all([vitals.checkNow(), vitals.checkNow(), vitals.checkNow()]);
  expect(fixture.logged.filter((line) => line['check'] === 'data_rights')).toHaveLength(1);
});

test('the first check is a minute after the start, the next an hour after that', async () => {
  const { clock } = fixture;
  vitals.start();
  const startedAt = clock.now();
  /** When the check after `before` was made. */
  const checkedAfter = async (before: number): Promise<number> => {
    while ((vitals.findings?.checkedAt ?? 0) <= before) await Bun.sleep(1);
    return (vitals.findings?.checkedAt ?? 0) - startedAt;
  };
  await clock.advance(59_999);
  expect(vitals.findings).toBeNull();
  await clock.advance(1);
  expect(await checkedAfter(0)).toBe(60_000);
  await clock.advance(HOUR_MS);
  expect(await checkedAfter(clock.now() - HOUR_MS)).toBe(60_000 + HOUR_MS);
});

test('when it was made is told by the clock on the wall', async () => {
  fixture.clock.jump(HOUR_MS);
  await vitals.checkNow();
  expect(vitals.findings?.checkedAt).toBe(fixture.clock.now());
});
