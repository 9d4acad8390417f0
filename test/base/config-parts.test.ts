/** The two parts of the config: which key is in which, what differs for a restart, and that neither can be changed. */
import { describe, expect, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import { differencesAtStartup } from '../../src/base/config-parts.ts';
import { CONFIG_FILE } from '../../src/base/config-schema.ts';

const parse = (toml: string) => parseConfig(`hostname = "mail.example.com"\n${toml}`, 'f');

/** Names of the keys that a change from nothing to `toml` has wait for a restart. */
const waiting = (toml: string): string[] =>
  differencesAtStartup(CONFIG_FILE, parse('').startup, parse(toml).startup);

describe('a key is in the part that the schema says', () => {
  test('of tables that have both kinds, too', () => {
    const { startup, live } = parse('');
    expect(Object.keys(startup.http)).toEqual(['listen', 'metricsNetworks']);
    expect(Object.keys(live.http)).toEqual([
      'publicUrl',
      'tlsCert',
      'tlsKey',
      'trustedProxies',
      'requestsPerAddress',
    ]);
    expect(Object.keys(live)).not.toContain('dns');
    expect(Object.keys(startup)).not.toContain('plans');
  });

  test.each([
    ['data_dir = "/srv"', ['data_dir']],
    ['[http]\nlisten = "127.0.0.1:1"\ntrusted_proxies = ["10.0.0.0/8"]', ['http.listen']],
    ['[dns]\nservers = ["127.0.0.1:53"]', ['dns.servers']],
    ['[tls]\nextra_ca_file = "/dev/null"', ['tls.extra_ca_file']],
    ['[acme]\nlisten = "127.0.0.1:80"\naccept_terms = true', ['acme']],
    ['[[delivery.providers]]\nname = "x"\nmx = ["x.example"]', ['delivery.providers']],
    ['[delivery.smarthost]\nhost = "relay.example"', []],
    ['[delivery]\nport = 26\nexpires = "1h"', []],
    ['[[plans]]\nid = "a"', []],
  ])('%s', (toml, names) => {
    expect(waiting(toml)).toEqual(names);
  });
});

/** As code would see them that ignores the type. */
function asMap(plans: unknown): Map<unknown, unknown> {
  if (plans instanceof Map) return plans;
  throw new Error('no map');
}

describe('nobody changes a config', () => {
  const config = parse(
    '[[plans]]\nid = "a"\n[[delivery.routes]]\ndomains = ["b.example"]\nhost = "r"',
  );

  test.each([
    ['a key', () => Object.assign(config.live.api, { region: 'mars' })],
    ['a part', () => Object.assign(config, { live: null })],
    ['a list', () => Reflect.apply(Array.prototype.push, config.startup.dns.servers, [1])],
    ['a row', () => Object.assign(config.live.delivery.routes[0]?.target ?? {}, { port: 1 })],
    ['a plan', () => Object.assign(config.live.plans.get('a') ?? {}, { id: 'b' })],
    ['the plans', () => asMap(config.live.plans).clear()],
  ])('%s', (_, change) => {
    expect(change).toThrow(TypeError);
    expect([...config.live.plans.keys()]).toEqual(['unlimited', 'a']);
  });
});
