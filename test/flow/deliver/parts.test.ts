/** What the parts of delivery get of the config: the name in EHLO, deadlines, trust, and when a smarthost stands in. */
import { afterEach, expect, test } from 'bun:test';
import { makeTools } from '../../../src/flow/deliver/parts.ts';
import type { DeliverOptions } from '../../../src/flow/deliver/parts.ts';
import { Concurrency } from '../../../src/flow/pacing/concurrency.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { openFixture } from '../fixture.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

const captureAt = { host: '127.0.0.1', port: 2_525 };

async function start(toml: string, options: Partial<DeliverOptions> = {}) {
  const fixture = await openFixture({ toml });
  const concurrency = new Concurrency();
  const stopping = new AbortController();
  const tools = makeTools(fixture.ctx, { captureAt, ...options }, concurrency, stopping.signal);
  undo.push(
    () => fixture.close(),
    () => tools.policyAgent.destroy(),
  );
  return { fixture, concurrency, stopping, tools };
}

test('sessions have the name of the host, the usual deadlines, and the signal that ends them', async () => {
  const { tools, stopping, concurrency } = await start('[delivery]\nmode = "capture"\n');
  expect(tools.concurrency).toBe(concurrency);
  const found = await tools.sites.find('receiver.example');
  const options = found.kind === 'site' ? found.site.addresses[0]?.dial.options : null;
  expect(options).toEqual({
    address: '127.0.0.1',
    port: 2_525,
    localAddress: null,
    heloName: 'mail.appliance.example',
    serverName: 'capture.localhost',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
    signal: stopping.signal,
  });
});

test('deadlines of a test, and an extra CA, are those of every session', async () => {
  const extra = `[tls]\nextra_ca_file = ${JSON.stringify(testAuthority().certFile)}\n`;
  const deadlines = { ...PRODUCTION_DEADLINES, connect: 7 };
  const { tools } = await start(`[delivery]\nmode = "capture"\n${extra}`, { deadlines });
  const found = await tools.sites.find('receiver.example');
  const options = found.kind === 'site' ? found.site.addresses[0]?.dial.options : null;
  expect(options?.deadlines).toBe(deadlines);
  expect(options?.tls.trust?.context).toBeDefined();
});

test('without a receiver of captured mail it waits, and is not sent', async () => {
  const { tools } = await start('[delivery]\nmode = "capture"\n', { captureAt: null });
  expect(await tools.sites.find('receiver.example')).toMatchObject({
    kind: 'none',
    outcome: {
      kind: 'unreached',
      stage: 'route',
      cause: 'the capture receiver is not running',
    },
  });
});

test.each([
  ['direct', true, true],
  ['direct', false, false],
  // It takes all mail: it stands in for nobody.
  ['smarthost', true, false],
] as const)('in mode %s, with a smarthost: %p, one stands in: %p', async (mode, has, standsIn) => {
  const smarthost = '[delivery.smarthost]\nhost = "relay.example"\nport = 2525\n';
  const { tools } = await start(`[delivery]\nmode = "${mode}"\n${has ? smarthost : ''}`);
  for (const key of ['a', 'b', 'c']) tools.fallback.noteSilent(key);
  expect([tools.fallback.isPortClosed, tools.fallback.isRelayed('d')]).toEqual([true, standsIn]);
});

test.each([
  ['127.0.0.1', '127.0.0.5'],
  // Its reverse DNS is asked for, and this resolver has no answer.
  ['2001:db8::1', '2001:db8::1 cannot be reached from here: no resolver in this test'],
])('to %s mail leaves from the configured address of its family', async (host, from) => {
  const { tools } = await start(`[delivery]
    mode = "smarthost"
    source_addresses = ["127.0.0.5", "2001:db8::5"]
    [delivery.smarthost]
    host = "${host}"
    port = 2525`);
  const found = await tools.sites.find('receiver.example');
  expect(
    found.kind === 'site'
      ? found.site.addresses[0]?.dial.options.localAddress
      : found.outcome.cause,
  ).toBe(from);
});
