/** The host check's question about the smarthost, against a relay that wants TLS and a login. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { examineSmarthost } from '../../src/health/smarthost.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { testAuthority } from '../rig/certificates.ts';
import { openClosedPort } from '../rig/closed-port.ts';
import { startNames } from '../rig/names.ts';
import type { Names } from '../rig/names.ts';
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
    expect(found?.summary).toBe(
      `The smarthost relay.example:${relay.port} takes mail: TLSv1.3 and the login as configured.`,
    );
    expect(relay.messages.items).toEqual([]);
  },
);

test('a wrong login, a certificate of another name, nobody there, no such name', async () => {
  const closedPort = await openClosedPort();
  const closed = closedPort.port;
  const at = (host: string, port = relay.port): string => `The smarthost ${host}:${port}`;
  const cases: [Record<string, string | number>, string, string][] = [
    [
      { password: 'wrong' },
      `${at('relay.example')} would not take mail: 535 wrong login (at auth).`,
      'Check username and password under [delivery.smarthost].',
    ],
    [
      { host: 'alias.example' },
      `${at('alias.example')} would not take mail: CAUSE (at handshake).`,
      'The certificate of the smarthost must name alias.example and be trusted; for a private authority, set [tls] extra_ca_file. Ports 465 and 2465 use TLS from the first byte, other ports STARTTLS. For a smarthost without TLS, set tls = "none" or "opportunistic".',
    ],
    [
      { port: closed },
      `${at('relay.example', closed)} would not take mail: CAUSE (at connect).`,
      `Check host and port under [delivery.smarthost], and that no firewall blocks relay.example:${closed}.`,
    ],
    [
      { host: 'nowhere.example' },
      'The smarthost nowhere.example has no address in DNS: the name does not exist.',
      'Check the spelling of host under [delivery.smarthost].',
    ],
  ];
  for (const [change, summary, advice] of cases) {
    const found = await ask(change);
    // What the runtime says of a connection that failed is its own.
    const seen = found.map((one) => ({
      ...one,
      summary: one.summary.replace(/(?<=take mail: )(?!535).*(?= \(at)/, 'CAUSE'),
    }));
    expect(seen).toEqual([{ check: 'smarthost', level: 'error', summary, advice }]);
    expect(JSON.stringify(found)).not.toContain(LOGIN.password);
  }
  closedPort.stop();
});

test('a resolver that fails does not count against the smarthost; capture mode asks no one', async () => {
  expect((await ask({ host: 'silent.example' }))[0]?.level).toBe('unchecked');
  expect(await ask({ host: 'nowhere.example' }, 'capture')).toEqual([]);
});
