/** The host check's question about the smarthost, word by word: how it is asked, what counts, and what is said of each end. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import * as extraCa from '../../src/flow/extra-ca.ts';
import type { DoctorContext } from '../../src/health/finding.ts';
import { examineSmarthost } from '../../src/health/smarthost.ts';
import * as client from '../../src/wire/smtp/client.ts';
import type { SessionOptions } from '../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../src/wire/smtp/deadlines.ts';
import { testAuthority } from '../rig/certificates.ts';
import { TestClock } from '../rig/clock.ts';

/** How each address answers. */
let answers: Record<string, object>;
let asked: SessionOptions[];
let quits: number;

const ready = (tls: object | null): object => ({
  kind: 'ready',
  session: { tls, quit: () => Promise.resolve(void (quits += 1)) },
});
const failed = (stage: string, more: object): object => ({
  kind: 'failed',
  stage,
  reply: null,
  cause: 'no reply in time',
  ...more,
});

beforeEach(() => {
  [answers, asked, quits] = [{}, [], 0];
  spyOn(client, 'openSession').mockImplementation(((options: SessionOptions) => {
    asked.push(options);
    return Promise.resolve(answers[options.address]);
  }) as never);
});
afterEach(() => mock.restore());

async function examined(
  smarthost: string,
  { addresses = ['192.0.2.1'], mode = 'smarthost', more = '' } = {},
) {
  const table = smarthost === '' ? '' : `[delivery.smarthost]\n${smarthost}\n`;
  const text = `hostname = "mail.shop.example"\n[delivery]\nmode = "${mode}"\n${table}${more}`;
  const found = { kind: 'found', records: addresses, ttlSeconds: 60 };
  const none = { kind: 'nodata', ttlSeconds: 60 };
  const resolver = { a: () => Promise.resolve(found), aaaa: () => Promise.resolve(none) };
  const config = parseConfig(text, 'doctor.toml');
  return examineSmarthost({ config, clock: new TestClock(), resolver } as unknown as DoctorContext);
}

const HOST = 'host = "relay.example"';
const well = (words: string) => [
  { check: 'smarthost', level: 'ok', summary: `The smarthost ${words}.`, advice: null },
];

test('without a smarthost, and in capture mode, nobody is asked', async () => {
  expect(await examined('', { mode: 'direct' })).toEqual([]);
  expect(await examined(HOST, { mode: 'capture' })).toEqual([]);
  expect(asked).toEqual([]);
});

test('it is asked as a delivery would, with eight seconds a stage, and told goodbye', async () => {
  answers['192.0.2.1'] = ready({ version: 'TLSv1.3' });
  const login = `${HOST}\nport = 2525\nusername = "box"\npassword = "s3cret"`;
  const more = '[cluster]\nname = "mail.service.example"\n';
  expect(await examined(login, { more })).toEqual(
    well('relay.example:2525 takes mail: TLSv1.3 and the login as configured') as never,
  );
  expect(quits).toBe(1);
  const { deadlines, ...options } = asked[0] as SessionOptions;
  expect(options as unknown).toEqual({
    address: '192.0.2.1',
    port: 2525,
    localAddress: null,
    heloName: 'mail.shop.example',
    serverName: 'relay.example',
    tls: { mode: 'required', verify: true },
    auth: { username: 'box', password: 's3cret' },
  });
  for (const [stage, ms] of Object.entries(PRODUCTION_DEADLINES)) {
    if (typeof ms !== 'number') continue;
    expect([stage, deadlines[stage as keyof typeof deadlines]]).toEqual([
      stage,
      Math.min(ms, 8_000),
    ]);
  }
});

test('without TLS and login neither is named', async () => {
  answers['192.0.2.1'] = ready(null);
  expect(await examined(`${HOST}\nport = 25\ntls = "none"`)).toEqual(
    well('relay.example:25 takes mail: no TLS as configured') as never,
  );
  expect(asked[0]).toMatchObject({ auth: null });
});

test('one of its addresses is enough, and the first that takes mail is the last that is asked', async () => {
  answers = {
    '192.0.2.1': failed('connect', {}),
    '192.0.2.2': ready({ version: 'TLSv1.2' }),
    '192.0.2.3': ready(null),
  };
  const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
  expect(await examined(`${HOST}\nport = 587`, { addresses })).toEqual(
    well('relay.example:587 takes mail: TLSv1.2 as configured') as never,
  );
  expect(asked.map(({ address }) => address)).toEqual(addresses.slice(0, 2));
});

const CERTIFICATE =
  'The certificate of the smarthost must name relay.example and be trusted; for a private authority, set [tls] extra_ca_file. Ports 465 and 2465 use TLS from the first byte, other ports STARTTLS. For a smarthost without TLS, set tls = "none" or "opportunistic".';

test.each([
  [
    'connect',
    'Check host and port under [delivery.smarthost], and that no firewall blocks relay.example:587.',
  ],
  ['starttls', CERTIFICATE],
  ['handshake', CERTIFICATE],
  ['auth', 'Check username and password under [delivery.smarthost].'],
  ['ehlo', 'Ask the operator of the smarthost what its reply means.'],
])('one that fails at %s: %s', async (stage, advice) => {
  const addresses = ['192.0.2.1', '192.0.2.2'];
  answers['192.0.2.1'] = failed('banner', { cause: 'first' });
  answers['192.0.2.2'] = failed(stage, {});
  const error = (summary: string) => [{ check: 'smarthost', level: 'error', summary, advice }];
  const said = 'The smarthost relay.example:587 would not take mail:';
  expect(await examined(`${HOST}\nport = 587`, { addresses })).toEqual(
    error(`${said} no reply in time (at ${stage}).`) as never,
  );
  const reply = { code: 554, enhanced: '5.7.1', text: 'Go away' };
  answers['192.0.2.2'] = failed(stage, { reply });
  const [found] = await examined(`${HOST}\nport = 587`, { addresses });
  expect(found?.summary).toBe(`${said} 554 5.7.1 Go away (at ${stage}).`);
  expect(quits).toBe(0);
});

test('an address of IPv6 stands in brackets before its port', async () => {
  answers['2001:db8::25'] = ready({ version: 'TLSv1.3' });
  const found = await examined('host = "2001:db8::25"\nport = 587');
  expect(found[0]?.summary).toStartWith('The smarthost [2001:db8::25]:587 ');
});

test('authorities of the operator are trusted; a file without them is the finding', async () => {
  answers['192.0.2.1'] = ready(null);
  const more = `[tls]\nextra_ca_file = ${JSON.stringify(testAuthority().certFile)}`;
  await examined(HOST, { more });
  expect(asked[0]?.tls).toHaveProperty('trust');
  const read = spyOn(extraCa, 'readExtraCa').mockImplementation(() => {
    throw new OperatorError('the file has no certificate', 'Name another.');
  });
  expect(await examined(HOST, { more })).toEqual([
    {
      check: 'smarthost',
      level: 'error',
      summary: 'the file has no certificate.',
      advice: 'Name another.',
    },
  ]);
  read.mockReturnValue([testAuthority().cert, testAuthority().cert]);
  await examined(HOST, { more });
  expect(asked[1]?.tls).toHaveProperty('trust');
  const fault = new TypeError('a fault');
  read.mockImplementation(() => {
    throw fault;
  });
  expect(examined(HOST, { more })).rejects.toBe(fault);
  expect(asked).toHaveLength(2);
});
