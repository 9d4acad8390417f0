/** The host check's question about the smarthost, against a relay that wants TLS and a login. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { examineSmarthost } from '../../src/health/smarthost.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { testAuthority } from '../rig/certificates.ts';
import { startNames } from '../rig/names.ts';
import type { Names } from '../rig/names.ts';
import { freePorts } from '../rig/ports.ts';
import { startRelay } from '../flow/deliver/relay-rig.ts';
import type { Relay } from '../flow/deliver/relay-rig.ts';

const LOGIN = { username: 'box', password: 's3cret' };
let names: Names;
let relay: Relay;

beforeAll(async () => {
  names = await startNames();
  names.set('relay.example', 'A', ['127.0.0.1']);
  names.set('alias.example', 'A', ['127.0.0.1']);
  names.fail('silent.example', 'servfail');
  relay = await startRelay(LOGIN);
});
afterAll(async () => {
  await relay.stop();
  await names.stop();
});

async function ask(smarthost: Record<string, string | number>, mode = 'smarthost') {
  const all = { host: 'relay.example', port: relay.port, ...LOGIN, ...smarthost };
  const table = Object.entries(all).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  const config = parseConfig(
    `hostname = "mail.shop.example"
     [delivery]
     mode = "${mode}"
     [delivery.smarthost]
     ${table.join('\n')}
     [tls]
     extra_ca_file = ${JSON.stringify(testAuthority().certFile)}`,
    'doctor.toml',
  );
  const resolver = createResolver({ servers: [names.listen], clock: systemClock });
  const found = await examineSmarthost({ config, clock: systemClock, resolver });
  resolver.close();
  return found;
}

test.each(['smarthost', 'direct'])(
  'in mode %s, one that is right: no mail is sent',
  async (mode) => {
    const [found] = await ask({}, mode);
    expect(found).toMatchObject({ check: 'smarthost', level: 'ok', advice: null });
    expect(found?.summary).toContain('TLSv1.3 and the login as configured');
    expect(relay.messages.items).toEqual([]);
  },
);

test('a wrong login, a certificate of another name, nobody there, no such name', async () => {
  const [closed = 0] = await freePorts(1);
  const cases: [Record<string, string | number>, string, string][] = [
    [{ password: 'wrong' }, 'auth', 'username and password'],
    [{ host: 'alias.example' }, 'handshake', 'must name alias.example'],
    [{ port: closed }, 'connect', 'firewall'],
    [{ host: 'nowhere.example' }, 'no address', 'Check the spelling of host'],
  ];
  for (const [change, seen, advice] of cases) {
    const [found] = await ask(change);
    expect(found?.level).toBe('error');
    expect(found?.summary).toContain(seen);
    expect(found?.advice).toContain(advice);
    expect(JSON.stringify(found)).not.toContain(LOGIN.password);
  }
});

test('a resolver that fails does not count against the smarthost; capture mode asks no one', async () => {
  expect((await ask({ host: 'silent.example' }))[0]?.level).toBe('unchecked');
  expect(await ask({ host: 'nowhere.example' }, 'capture')).toEqual([]);
});
