/** The host check's questions about the network, word by word: whom it dials and how long, and what it says of each end. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import type { DoctorContext } from '../../src/health/finding.ts';
import { examineBlocklists, examineClock, examinePorts } from '../../src/health/network.ts';
import * as dialling from '../../src/wire/dial.ts';
import type { DialResult } from '../../src/wire/dial.ts';
import * as sntp from '../../src/wire/sntp.ts';
import { TestClock } from '../rig/clock.ts';

const NO_INTERNET = 'This check needs the internet. Run doctor again when DNS answers.';
const OPEN: DialResult = { kind: 'open', tookMs: 1 };
const SILENT: DialResult = { kind: 'timeout' };

/** What answers at `address:port`; nothing elsewhere. */
let answers: Record<string, DialResult>;
let dialled: string[];
/** Addresses by name. */
let zone: Record<string, string[]>;
let offsets: Record<string, number | null>;
let compared: unknown[];

beforeEach(() => {
  [answers, dialled, zone, offsets, compared] = [{}, [], {}, {}, []];
  // Hosts and their addresses stay in their order.
  spyOn(Math, 'random').mockReturnValue(0.999);
  spyOn(dialling, 'dial').mockImplementation((address, port, timeoutMs) => {
    dialled.push(`${address}:${port} for ${timeoutMs} ms`);
    return Promise.resolve(answers[`${address}:${port}`] ?? SILENT);
  });
  spyOn(sntp, 'clockOffset').mockImplementation((...given) => {
    compared.push(given);
    return Promise.resolve(offsets[given[0]] ?? null);
  });
});
afterEach(() => mock.restore());

function context(delivery = ''): DoctorContext {
  const text = `hostname = "mail.shop.example"\n[delivery]\n${delivery}`;
  const none = { kind: 'nxdomain', ttlSeconds: 60 };
  const found = (records: unknown[] | undefined): Promise<object> =>
    Promise.resolve(records === undefined ? none : { kind: 'found', records, ttlSeconds: 60 });
  const resolver = {
    a: (name: string) => found(zone[name]),
    aaaa: () => found(undefined),
    mx: (name: string) =>
      found(zone[name] === undefined ? undefined : [{ preference: 5, exchange: `mx.${name}` }]),
    ptr: () => found(undefined),
  };
  const config = parseConfig(text, 'doctor.toml');
  return { config, clock: new TestClock(), resolver } as unknown as DoctorContext;
}

/** Each receiver with a mail host of its own. */
function receivers(): void {
  for (const [at, name] of ['gmail.com', 'outlook.com', 'yahoo.com'].entries()) {
    zone[name] = [];
    zone[`mx.${name}`] = [`192.0.2.${at + 1}`, '192.0.2.99'];
  }
}

test('without DNS nothing is asked, and each question says so', async () => {
  const unchecked = (check: string, summary: string) => [
    { check, level: 'unchecked', summary, advice: NO_INTERNET },
  ];
  const ctx = context();
  expect(await examinePorts(ctx, false, ['9.9.9.7'])).toEqual(
    unchecked('port_25', 'The port was not tried, because DNS does not answer.') as never,
  );
  expect(await examineBlocklists(ctx, false, ['9.9.9.7'])).toEqual(
    unchecked('blocklists', 'The blocklists were not asked, because DNS does not answer.') as never,
  );
  expect(await examineBlocklists(ctx, false, ['2606:4700::7'])).toEqual([]);
  expect(await examineClock(ctx, false)).toEqual(
    unchecked('clock', 'The clock was not compared, because DNS does not answer.') as never,
  );
  expect([dialled, compared]).toEqual([[], []]);
});

test('the first mail host of three receivers is dialled for eight seconds at port 25', async () => {
  receivers();
  // Of several that answer the first is named.
  answers['192.0.2.2:25'] = OPEN;
  answers['192.0.2.3:25'] = OPEN;
  expect(await examinePorts(context(), true, [])).toEqual([
    {
      check: 'port_25',
      level: 'ok',
      summary: 'Outgoing port 25 is open (mx.outlook.com answered).',
      advice: null,
    },
  ]);
  expect(dialled).toEqual([1, 2, 3].map((at) => `192.0.2.${at}:25 for 8000 ms`));
});

test('where all are shut, ports for a smarthost are tried, and those that answer are named', async () => {
  receivers();
  delete zone['yahoo.com'];
  answers['192.0.2.2:25'] = { kind: 'refused', reason: 'the connection was refused' };
  zone['smtp.gmail.com'] = ['192.0.2.10', '192.0.2.99'];
  zone['smtp.sendgrid.net'] = ['192.0.2.11'];
  const [shut] = await examinePorts(context(), true, []);
  expect(shut).toEqual({
    check: 'port_25',
    level: 'error',
    summary:
      'Outgoing port 25 seems blocked (mx.gmail.com: no answer; mx.outlook.com: the connection was refused; yahoo.com: no address).',
    advice:
      'No receiver answered, most likely because your hosting provider blocks port 25. Ask your hosting provider to open outgoing port 25 for this machine. Many do so on request; some never do.',
  });
  expect(dialled.slice(2)).toEqual([
    '192.0.2.10:465 for 8000 ms',
    '192.0.2.10:587 for 8000 ms',
    '192.0.2.11:2525 for 8000 ms',
  ]);
  const way = async (...open: string[]): Promise<string | undefined> => {
    answers = Object.fromEntries(open.map((one) => [one, OPEN]));
    const [found] = await examinePorts(context(), true, []);
    return / Ports .*$/.exec(found?.advice ?? '')?.[0];
  };
  const until = 'are open: until port 25 is, use a smarthost ([delivery.smarthost]).';
  expect(await way('192.0.2.10:587')).toBe(` Ports 587 ${until}`);
  expect(await way('192.0.2.10:465', '192.0.2.10:587', '192.0.2.11:2525')).toBe(
    ` Ports 465, 587, 2525 ${until}`,
  );
  expect(await way('192.0.2.10:2525')).toBeUndefined();
  answers = { '192.0.2.10:465': { kind: 'refused', reason: 'the connection was refused' } };
  expect((await examinePorts(context(), true, []))[0]?.advice).not.toContain('Ports');
});

test('the first time server that answers is believed, and each has three seconds', async () => {
  zone['time.cloudflare.com'] = ['192.0.2.20', '192.0.2.99'];
  zone['pool.ntp.org'] = ['192.0.2.21'];
  offsets['192.0.2.21'] = -45_000;
  expect(await examineClock(context(), true)).toEqual([
    {
      check: 'clock',
      level: 'error',
      summary: 'The clock is 45 s behind.',
      advice:
        'Turn on time synchronisation (systemd-timesyncd or chrony). Receivers of webhooks refuse calls whose time is five minutes off.',
    },
  ]);
  expect(compared.splice(0)).toEqual([
    ['192.0.2.20', 123, 3_000],
    ['192.0.2.21', 123, 3_000],
  ]);
  offsets['192.0.2.20'] = 0;
  expect((await examineClock(context(), true)).map(({ level }) => level)).toEqual(['ok']);
  expect(compared.splice(0)).toHaveLength(1);
  offsets = {};
  expect(await examineClock(context(), true)).toEqual([
    {
      check: 'clock',
      level: 'unchecked',
      summary: 'No time server answered.',
      advice: 'Check the clock with timedatectl. A firewall may block UDP port 123.',
    },
  ]);
});
