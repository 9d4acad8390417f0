/** The host check's questions about the network, each alone: ports, blocklists, the clock, and what to do. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import {
  clockFinding,
  examineBlocklists,
  examineClock,
  examinePorts,
} from '../../src/health/network.ts';
import { examineResolver } from '../../src/health/resolver.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { openClosedPort } from '../rig/closed-port.ts';
import { type Names, startNames } from '../rig/names.ts';
import { startReceiver } from '../rig/receiver.ts';

let names: Names;
const cleanUps: (() => unknown)[] = [];

beforeEach(async () => {
  names = await startNames();
});
afterEach(async () => {
  for (let next = cleanUps.pop(); next !== undefined; next = cleanUps.pop()) await next();
  await names.stop();
});

function context(delivery = '', servers = ['127.0.0.1:53']) {
  const config = parseConfig(
    `hostname = "mail.shop.example"
     [dns]
     servers = ${JSON.stringify(servers)}
     [delivery]
     ${delivery}`,
    'doctor.toml',
  );
  const resolver = createResolver({ servers: [names.listen], clock: systemClock });
  cleanUps.push(() => resolver.close());
  return { config, clock: systemClock, resolver };
}

test.each([
  [0, 'ok', 'The clock is right (0 s behind).'],
  [1_240, 'ok', 'The clock is right (1.2 s ahead).'],
  [-29_999, 'ok', 'The clock is right (30 s behind).'],
  [29_999, 'ok', 'The clock is right (30 s ahead).'],
  [30_000, 'error', 'The clock is 30 s ahead.'],
  [-30_000, 'error', 'The clock is 30 s behind.'],
  [-3_600_050, 'error', 'The clock is 3600.1 s behind.'],
] as const)('a clock that is %d ms ahead: %s', (offsetMs, level, summary) => {
  expect(clockFinding(offsetMs)).toMatchObject({ check: 'clock', level, summary });
});

test('a clock that no time server tells about is unchecked, with how to look', async () => {
  const [found] = await examineClock(context(), true);
  expect(found).toMatchObject({ level: 'unchecked', summary: 'No time server answered.' });
  expect(found?.advice).toContain('timedatectl');
  const asked = new Set(names.queries.map(({ name }) => name));
  expect(asked).toEqual(new Set(['time.cloudflare.com', 'pool.ntp.org']));
});

test('one receiver that answers is enough for an open port, which is named with it', async () => {
  const receiver = await startReceiver();
  cleanUps.push(() => receiver.stop());
  names.set('yahoo.com', 'MX', ['10 second.yahoo.example', '5 mx.yahoo.example']);
  names.set('mx.yahoo.example', 'A', ['127.0.0.1']);
  names.set('second.yahoo.example', 'A', ['127.0.0.1']);
  const found = await examinePorts(context(`port = ${receiver.port}`), true, []);
  expect(found).toEqual([
    {
      check: `port_${receiver.port}`,
      level: 'ok',
      summary: `Outgoing port ${receiver.port} is open (mx.yahoo.example answered).`,
      advice: null,
    },
  ]);
});

test('a shut port names what every receiver did, and asks the provider', async () => {
  const closed = await openClosedPort();
  cleanUps.push(() => closed.stop());
  const { port } = closed;
  names.set('gmail.com', 'MX', ['5 mx.gmail.example']);
  names.set('mx.gmail.example', 'A', ['127.0.0.1']);
  const [found, ...others] = await examinePorts(context(`port = ${port}`), true, ['9.9.9.7']);
  expect(others).toEqual([]);
  expect(found).toMatchObject({ check: `port_${port}`, level: 'error' });
  expect(found?.summary).toMatch(
    new RegExp(
      `^Outgoing port ${port} seems blocked \\(mx\\.gmail\\.example: .+; outlook\\.com: no address; yahoo\\.com: no address\\)\\.$`,
    ),
  );
  expect(found?.advice).toStartWith(
    `No receiver answered, most likely because your hosting provider blocks port ${port}. Ask your hosting provider`,
  );
  expect(found?.advice).not.toContain('smarthost');
});

test.each(['capture', 'smarthost'])(
  'in mode %s neither port nor blocklists are asked',
  async (mode) => {
    const relay = '[delivery.smarthost]\nhost = "relay.example"';
    const ctx = context(`mode = "${mode}"\n${mode === 'smarthost' ? relay : ''}`);
    expect(await examinePorts(ctx, true, ['9.9.9.7'])).toEqual([]);
    expect(await examineBlocklists(ctx, true, ['9.9.9.7'])).toEqual([]);
    expect(names.queries).toEqual([]);
  },
);

test('each blocklist is asked for each IPv4 address in reverse, and its page for removal is named', async () => {
  const lists = {
    'zen.spamhaus.org': 'https://check.spamhaus.org/',
    'bl.spamcop.net': 'https://www.spamcop.net/bl.shtml',
    'b.barracudacentral.org': 'https://www.barracudacentral.org/lookups',
    'psbl.surriel.com': 'https://psbl.org/remove',
  };
  for (const zone of Object.keys(lists)) {
    names.set(`2.0.0.127.${zone}`, 'A', ['127.0.0.2']);
    names.set(`4.3.2.1.${zone}`, 'A', ['127.0.0.4']);
    names.fail(`8.7.6.5.${zone}`, 'servfail');
  }
  const found = await examineBlocklists(context(), true, [
    '1.2.3.4',
    '5.6.7.8',
    '9.9.9.7',
    '2606:4700::7',
  ]);
  expect(found).toHaveLength(12);
  for (const [zone, page] of Object.entries(lists)) {
    const ofZone = found.filter(({ check }) => check === `blocklist_${zone}`);
    expect(ofZone.map(({ level }) => level)).toEqual(['error', 'unchecked', 'ok']);
    const [listed, silent, clean] = ofZone;
    expect(listed?.summary).toBe(`1.2.3.4 is listed by ${zone} (127.0.0.4).`);
    expect(listed?.advice).toBe(`Find and fix the cause, then ask for removal at ${page}`);
    expect(silent?.summary).toStartWith(`${zone} did not answer for 5.6.7.8: `);
    expect(silent?.advice).toBe(`Look the address up at ${page}`);
    expect(clean?.summary).toBe(`9.9.9.7 is not listed by ${zone}.`);
  }
});

test('a blocklist without its test entry, or that refuses the resolver, says why it was not asked', async () => {
  names.set('2.0.0.127.zen.spamhaus.org', 'A', ['127.0.0.2', '127.255.255.254']);
  names.set('2.0.0.127.psbl.surriel.com', 'A', ['127.255.0.2']);
  const found = await examineBlocklists(context(), true, ['1.2.3.4']);
  const levels = found.map(({ level }) => level);
  expect(levels).toEqual(['unchecked', 'unchecked', 'unchecked', 'ok']);
  expect(found[0]?.summary).toBe('zen.spamhaus.org could not be asked: it refuses this resolver.');
  expect(found[0]?.advice).toEndWith('https://check.spamhaus.org/');
  expect(found[1]?.summary).toBe('bl.spamcop.net could not be asked: the name does not exist.');
  expect(await examineBlocklists(context(), true, ['2606:4700::7'])).toEqual([]);
});

test('a resolver that answers and validates is fine; each shortcoming is told apart', async () => {
  names.set('gmail.com', 'MX', ['5 mx.gmail.example']);
  names.set('ietf.org', 'A', ['104.16.45.99']);
  names.fail('dnssec-failed.org', 'servfail');
  names.setAuthenticated(true);
  const dnssec = async (): Promise<string[]> => {
    const { findings, isResolving } = await examineResolver(context());
    expect([findings[0]?.check, findings[0]?.level, isResolving]).toEqual(['resolver', 'ok', true]);
    expect(findings.map(({ check }) => check)).toEqual(['resolver', 'dnssec']);
    return [findings[1]?.level ?? '', findings[1]?.summary ?? ''];
  };
  expect(await dnssec()).toEqual([
    'ok',
    'The resolver on this machine validates DNSSEC, so DANE is used.',
  ]);
  names.setAuthenticated(false);
  expect(await dnssec()).toEqual([
    'warning',
    'The resolver does not mark signed names as validated.',
  ]);
  names.setAuthenticated(true);
  names.fail('dnssec-failed.org', null);
  names.set('dnssec-failed.org', 'A', ['192.0.2.1']);
  expect(await dnssec()).toEqual(['warning', 'The resolver does not validate DNSSEC.']);
});

test('a resolver without an answer for the best-known receiver ends the questions to the internet', async () => {
  const { findings, isResolving } = await examineResolver(context());
  expect(isResolving).toBe(false);
  expect(findings).toMatchObject([{ check: 'resolver', level: 'unchecked' }]);
  expect(findings[0]?.summary).toBe(
    'The MX records of gmail.com could not be looked up: the name does not exist.',
  );
});
