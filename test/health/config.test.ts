/** The host check's questions about what the config says of this machine. */
import { expect, spyOn, test } from 'bun:test';
import { Server } from 'node:net';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { examineConfig } from '../../src/health/config.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';

const RELAY = 'mode = "smarthost"\n';

async function ask(delivery: string, publicUrl = 'https://mail.shop.example') {
  const config = parseConfig(
    `hostname = "mail.shop.example"
     [http]
     public_url = "${publicUrl}"
     [delivery]
     ${delivery}`,
    'doctor.toml',
  );
  const resolver = createResolver({ servers: [], clock: systemClock });
  const found = await examineConfig({ config, clock: systemClock, resolver });
  resolver.close();
  return found;
}

test('source addresses of this machine are fine', async () => {
  const found = await ask('source_addresses = ["127.0.0.1", "127.0.0.9"]');
  expect(found).toEqual([
    {
      check: 'source_addresses',
      level: 'ok',
      summary: 'Mail can leave from every source address.',
      advice: null,
    },
  ]);
});

test('one that is elsewhere is named, the others are not', async () => {
  const found = await ask('source_addresses = ["127.0.0.1", "192.0.2.77", "192.0.2.78"]');
  expect(found).toEqual([
    {
      check: 'source_addresses',
      level: 'error',
      summary: 'Mail cannot leave from 192.0.2.77 (EADDRNOTAVAIL), 192.0.2.78 (EADDRNOTAVAIL).',
      advice:
        "Set [delivery] source_addresses to addresses of this machine's own interfaces (behind NAT, the private ones), or leave it empty.",
    },
  ]);
});

test('links that are not https are worth a word, where mail leaves', async () => {
  expect(await ask('')).toEqual([]);
  expect(await ask('', 'http://127.0.0.1:8025')).toEqual([
    {
      check: 'public_url',
      level: 'warning',
      summary: 'The links in mail begin with http://127.0.0.1:8025, which is not https.',
      advice:
        'One-click unsubscribe needs https. Give the API a certificate, or put a reverse proxy with one in front of it, and set [http] public_url to the https address that recipients can reach.',
    },
  ]);
  const capture = 'mode = "capture"\nsource_addresses = ["192.0.2.77"]';
  expect(await ask(capture, 'http://127.0.0.1:8025')).toEqual([]);
});

test('mail by a smarthost leaves from the source addresses too, and has the same links', async () => {
  const delivery = `${RELAY}source_addresses = ["192.0.2.77"]\n[delivery.smarthost]\nhost = "relay.example"`;
  const found = await ask(delivery, 'http://127.0.0.1:8025');
  expect(found.map(({ check, level }) => `${check} ${level}`)).toEqual([
    'source_addresses error',
    'public_url warning',
  ]);
});

test('it asks for no port that another program may have, and leaves none open', async () => {
  const listen = spyOn(Server.prototype, 'listen');
  const closed = spyOn(Server.prototype, 'close');
  try {
    const [found] = await ask('source_addresses = ["127.0.0.1"]');
    expect(found?.level).toBe('ok');
    expect(listen.mock.calls[0]?.[0] as unknown).toEqual({ host: '127.0.0.1', port: 0 });
    expect(closed).toHaveBeenCalledTimes(1);
  } finally {
    listen.mockRestore();
    closed.mockRestore();
  }
});
