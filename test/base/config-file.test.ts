/**
 * The config file: what docs/configuration.md shows is understood, and everything else is refused with its line, all
 * at once.
 */
import { describe, expect, test } from 'bun:test';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { loadConfig, parseConfig } from '../../src/base/config-file.ts';
import { defaultConfigText } from '../../src/base/config-text.ts';
import { nameInFile, nodesOf, type TableNode } from '../../src/base/config-node.ts';
import { CONFIG_FILE } from '../../src/base/config-schema.ts';
import { OperatorError } from '../../src/base/errors.ts';

const HEAD = 'hostname = "mail.example.com"\n';

/** The name of every key, as the file spells it. */
function keysOf(table: TableNode): string[] {
  return nodesOf(table).flatMap(([name, node]) => {
    if (node.kind === 'key') return [nameInFile(name, node)];
    return keysOf(node.kind === 'rows' ? node.items : node);
  });
}

/** The refusal's lines, without the file's name; fails when the text is accepted. */
function problems(toml: string): string[] {
  try {
    parseConfig(toml, 'f');
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    expect(error.exitCode).toBe(78);
    return error.message.split('\n').map((line) => line.replace(/^f:/, ''));
  }
  throw new Error('accepted');
}

describe('defaults', () => {
  test('hostname is the only key without a default', () => {
    const config = parseConfig(HEAD, 'f');
    expect(config).toMatchObject({
      startup: {
        hostname: 'mail.example.com',
        dataDir: '/var/lib/postrider',
        http: { listen: { host: '127.0.0.1', port: 8025 } },
        smtp: { inbound: null, submission: [], submissions: [] },
        delivery: { mode: 'direct', providers: [] },
        dns: { servers: [] },
        acme: null,
        cluster: { name: 'mail.example.com' },
      },
      live: {
        http: { publicUrl: 'http://127.0.0.1:8025' },
        delivery: { port: 25, expiresMs: 172_800_000, smarthost: null, routes: [] },
        api: { singleSend: 'basic', region: 'us-east-1', textFromHtml: true, keyPrefix: 'pr' },
        limits: { recipients: 50 },
        retention: { bodiesMs: 2_592_000_000, historyMs: 31_536_000_000 },
        brake: { bouncesPer1000: 100, complaintsPer1000: 5 },
      },
    });
    expect(Array.from(config.live.plans.keys())).toEqual(['unlimited']);
    expect(problems('')).toEqual(['1: hostname is missing: it has no default']);
  });

  test('the file that init writes says what no file would', () => {
    const written = parseConfig(defaultConfigText('mail.example.com', '/var/lib/postrider'), 'f');
    expect(written).toEqual(parseConfig(HEAD, 'f'));
  });

  test('it says what the choice of single_send means for mailers of frameworks', () => {
    const text = defaultConfigText('mail.example.com', '/srv/p');
    const above = text.slice(0, text.indexOf('single_send = "basic"'));
    const words = above.slice(above.lastIndexOf('[api]')).replaceAll('\n# ', ' ');
    for (const part of [
      'cc, bcc and attachments are refused',
      'Laravel',
      '"full"',
      'POST /emails/batch',
    ]) {
      expect(words).toContain(part);
    }
  });

  test('its commented-out examples are accepted, and every key is in it', () => {
    const text = defaultConfigText('mail.example.com', '/srv/p');
    const whole = text.replaceAll(/^# (\[\[|[a-z_]+ = )/gm, '$1');
    const config = parseConfig(whole, 'f');
    expect(config.live.delivery.routes).toEqual([
      {
        domains: ['corp.example', '*.corp.example'],
        target: {
          host: '10.0.0.5',
          port: 25,
          username: 'relay',
          password: 'secret',
          tls: 'opportunistic',
        },
      },
    ]);
    expect(config.startup.delivery.providers).toEqual([
      {
        name: 'Example Mail',
        mx: ['.mx.example.net'],
        connections: 5,
        messagesPerConnection: 20,
        messagesPerMinute: 300,
        scope: 'cluster',
      },
    ]);
    expect(config.live.plans.get('starter')).toEqual({
      id: 'starter',
      includedEmails: 3000,
      overageSenPerThousand: 400,
      overageCapSen: 20_000,
      maxDomains: 3,
      dailyLimit: 500,
      dailyLimitByAgeDays: [
        [0, 100],
        [7, 300],
      ],
      logRetentionDays: 7,
      ratePerSecond: 10,
      readsPerMinute: 300,
      writesPerMinute: 600,
      storageBytes: 5_000_000_000,
      attachmentBytes: 10_000_000,
      confirmedRecipientsOnly: false,
    });
    const keys = keysOf(CONFIG_FILE);
    expect(keys.length).toBeGreaterThan(55);
    const missing = keys.filter((key) => !new RegExp(`^${key} = `, 'm').test(whole));
    expect(missing).toEqual([]);
  });
});

describe('refusals', () => {
  test.each([
    ['colour = 1', 'colour is not a known key'],
    ['datadir = "/x"', 'datadir is not a known key: did you mean data_dir?'],
    ['data_dir = "x"', 'data_dir must be a path that begins with "/", not "x"'],
    ['http = 3', 'http must be a table: [http]'],
    ['[http]\nlisten = "localhost"', 'http.listen must be an IP address and a port'],
    ['[http]\nlisten = "127.0.0.1:70000"', 'http.listen must be an IP address and a port'],
    ['[http]\npublic_url = "ftp://x"', 'http.public_url must be a URL'],
    ['[http]\ntrusted_proxies = ["10.0.0.0/33"]', 'http.trusted_proxies item 1 must be a network'],
    [
      '[delivery]\nallow_networks = ["10.1.2.3/8"]',
      'must begin at the first address of the network: "10.0.0.0/8", or "10.1.2.3/32" for this address alone, not "10.1.2.3/8"',
    ],
    [
      '[delivery]\nallow_networks = ["2001:db8::7/32"]',
      'must begin at the first address of the network: "2001:db8::/32", or "2001:db8::7/128" for this address alone',
    ],
    [
      '[http]\npublic_url = "https://mail.example.com/postrider/"',
      'http.public_url must have no path: "https://mail.example.com", not',
    ],
    ['[http]\ntls_cert = "/dev/null"', 'http.tls_cert needs tls_key too: set both or neither'],
    ['[http]\ntls_cert = "/no/c"\ntls_key = "/dev/null"', 'http.tls_cert names a file that cannot'],
    [
      '[acme]\ndirectory_url = "http://a.example/dir"',
      'acme.directory_url must begin with https://',
    ],
    ['[acme]\nlisten = "127.0.0.1:80"', 'acme.accept_terms must be true when acme.listen is set'],
    [
      '[acme]\nlisten = "127.0.0.1:80"\naccept_terms = "yes"',
      'acme.accept_terms must be true or false',
    ],
    ['[smtp]\nsubmission = "0.0.0.0:587"', 'smtp.submission must be a list in [ ]'],
    ['[delivery]\nmode = "relay"', 'delivery.mode must be one of "direct", "smarthost", "capture"'],
    ['[delivery]\nmode = "smarthost"', 'delivery.mode is "smarthost", but'],
    ['[delivery]\nport = 0', 'delivery.port must be a whole number from 1 to 65535, not 0'],
    ['[delivery]\nport = 2.5', 'delivery.port must be a whole number'],
    ['[delivery]\nport = "25"', 'delivery.port must be a whole number from 1 to 65535, not "25"'],
    ['[delivery]\nexpires = 48', 'delivery.expires must be a duration such as'],
    ['[delivery]\nexpires = "48"', 'delivery.expires must be a duration such as'],
    ['[delivery]\nexpires = "0s"', 'delivery.expires must be at least "1s"'],
    ['[delivery]\nsource_addresses = ["mail"]', 'delivery.source_addresses item 1 must be an IP'],
    [
      '[delivery.smarthost]\nhost = "r"\nusername = "u"',
      'delivery.smarthost.username and password',
    ],
    ['[[delivery.routes]]\nhost = "r"', 'delivery.routes[0].domains is missing'],
    ['[[delivery.routes]]\ndomains = ["a.b"]', 'delivery.routes[0].host is missing'],
    [
      '[[delivery.routes]]\ndomains = []\nhost = "r"',
      'delivery.routes[0].domains must name at least one domain',
    ],
    ['[dns]\nservers = ["127.0.0.1"]', 'dns.servers item 1 must be an IP address and a port'],
    ['[api]\nregion = "mars"', 'api.region must be one of'],
    ...['', 'p', '1a', 'RE', 'a_b', 'abcdefghijk'].map((prefix) => [
      `[api]\nkey_prefix = "${prefix}"`,
      'api.key_prefix must be 2 to 10 lower-case letters and digits, a letter first',
    ]),
    ...[
      ['127.0.0.1:11333', 'must be a URL such as "http://127.0.0.1:11333"'],
      ['rspamd', 'must be a URL'],
      ['ftp://127.0.0.1', 'must be a URL'],
      ['http://', 'must be a URL'],
      ['http://me:secret@127.0.0.1:11333', 'must have no user name and no password'],
      ['http://:secret@127.0.0.1:11333', 'must have no user name and no password'],
      ['http://127.0.0.1:11333/?a=secret', 'must have no query and no fragment'],
      ['http://127.0.0.1:11333/?', 'must have no query and no fragment'],
      ['http://127.0.0.1:11333#secret', 'must have no query and no fragment'],
    ].map(([url, why]) => [`[inbox]\nrspamd_url = "${url}"`, `inbox.rspamd_url ${why}`]),
    ['[inbox]\nrspamd_url = 11333', 'inbox.rspamd_url must be text in quotes, not 11333'],
    ['[limits]\nrecipients = 0', 'limits.recipients must be a whole number from 1 to 1000'],
    ['[retention]\nbodies = "30 days"', 'retention.bodies must be a duration'],
    ['[[plans]]\nmax_domains = 1', 'plans[0].id is missing'],
    ['[[plans]]\nid = "unlimited"', 'plans[0].id is "unlimited", which is built in'],
    ['[[plans]]\nid = "a"\n[[plans]]\nid = "a"', 'plans[1].id is "a", as in a plan above'],
    ['[[plans]]\nid = "A B"', 'plans[0].id must be 1 to 40'],
    ['[[plans]]\nid = "a"\nattachment_bytes = "10 apples"', 'plans[0].attachment_bytes must be'],
    ['[[plans]]\nid = "a"\ndaily_limit_by_age_days = [[7, 1], [0, 2]]', 'plans[0].daily_limit_by'],
    [
      '[[plans]]\nid = "a"\nconfirmed_recipients_only = 1',
      'plans[0].confirmed_recipients_only must',
    ],
    ['when = 2026-01-01', 'when is not a known key'],
    ['hostname = "x.y"', "TOML Parse error: Cannot redefine key 'hostname'"],
  ])('%s', (toml, message) => {
    const found = problems(HEAD + toml);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });

  test.each([
    ['data-dir', 'data_dir'],
    ['DATA_DIR', 'data_dir'],
    ['datadir', 'data_dir'],
    ['dta_dir', 'data_dir'],
    ['data_dirs', 'data_dir'],
    ['ddata_dir', 'data_dir'],
    ['date_dir', 'data_dir'],
    ['data_dri', 'data_dir'],
    ['ata_dir', 'data_dir'],
    ['data_di', 'data_dir'],
    ['lts', 'tls'],
    ['htp', 'http'],
    ['ap', null],
    ['date_dor', null],
    ['my_data_dir', null],
    ['data', null],
    ['dir', null],
  ])('%s is a slip for %p', (written, meant) => {
    const [found = ''] = problems(`${HEAD}${written} = "/x"`);
    expect(/did you mean (\w+)\?/.exec(found)?.[1] ?? null).toBe(meant);
    expect(found.includes('; known here: hostname, ')).toBe(meant === null);
  });

  test.each([
    ['a name of one label', 'localhost'],
    ['an address', '192.0.2.1'],
    ['an underscore', 'mail_1.example.com'],
    ['an empty label', 'mail..com'],
    ['254 characters', `${'a.'.repeat(125)}comm`],
  ])('hostname: %s', (_, name) => {
    expect(problems(`hostname = "${name}"`)[0]).toContain('must be a full host name');
    const cluster = problems(`${HEAD}\n[cluster]\nname = "${name}"`)[0];
    expect(cluster).toContain('cluster.name must be a full host name');
  });

  test('all problems come at once, in the order of their lines', () => {
    const toml = [
      '# a comment with [brackets] and key = value',
      'hostname = "mail.example.com"',
      'nonsense = """',
      '[http]',
      'listen = 1',
      '"""',
      '[delivery] # the way out',
      'allow_networks = [',
      '  "10.0.0.0/8", # port = 3',
      ']',
      'port = "x"',
      '[[delivery.routes]]',
      'domains = ["a.example"]',
      'host = "r"',
      '[[delivery.routes]]',
      'domains = ["b.example"]',
      'host = "r"',
      'tsl = "none"',
      'limits.recipients = 3',
      '[webhooks]',
      'allow_networks = { a = 1 }',
    ].join('\n');
    expect(problems(toml)).toEqual([
      '3: nonsense is not a known key; known here: hostname, data_dir, store, http, smtp, delivery, inbox, dns, tls, acme, cluster, node, api, limits, webhooks, retention, brake, plans',
      '11: delivery.port must be a whole number from 1 to 65535, not "x"',
      '18: delivery.routes[1].tsl is not a known key: did you mean tls?',
      '19: delivery.routes[1].limits is not a known key; known here: domains, host, port, username, password, tls',
      '21: webhooks.allow_networks must be a list in [ ], not a table',
    ]);
  });

  test('never repeat a password, however it was misspelt', () => {
    const spelt = [
      'topsecret42',
      '4242424242',
      '"topsecret42',
      '["topsecret42"]',
      '"topsecret42" x',
      '{ it = "topsecret42" }',
      "topsecret42'",
      '4242424242topsecret42',
    ];
    const target = '[delivery]\nmode = "smarthost"\n[delivery.smarthost]\nhost = "r.example"\n';
    for (const password of spelt) {
      const found = problems(`${HEAD}${target}username = "u"\npassword = ${password}\n`);
      expect([password, found.join().replace(/topsecret|4242/, 'LEAK')]).toEqual([
        password,
        found.join(),
      ]);
      expect(found.some((line) => line.startsWith('7: '))).toBe(true);
    }
  });

  test('a key that is missing has the line of its table', () => {
    const routes = '[delivery]\nmode = "direct"\n[[delivery.routes]]\ndomains = ["a.example"]\n';
    const found = problems(`${HEAD}${routes}`);
    expect(found).toEqual([expect.stringMatching(/^4: delivery\.routes\[0\]\.host is missing/)]);
  });

  test('a syntax error has its line', () => {
    expect(problems(`${HEAD}[http]\nlisten =\n`)).toEqual([
      expect.stringMatching(/^3: TOML Parse error/),
    ]);
  });
});

describe('values', () => {
  test.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['48h', 172_800_000],
    ['30d', 2_592_000_000],
    ['1500ms', 1500],
  ])('expires = %s', (text, ms) => {
    const config = parseConfig(`${HEAD}[delivery]\nexpires = "${text}"`, 'f');
    expect(config.live.delivery.expiresMs).toBe(ms);
  });

  test('bodies may be kept for no time at all', () => {
    expect(parseConfig(`${HEAD}[retention]\nbodies = "0"`, 'f').live.retention.bodiesMs).toBe(0);
  });

  test('sizes in bytes or with a unit', () => {
    const read = (size: string): number | undefined =>
      parseConfig(`${HEAD}[[plans]]\nid = "a"\nattachment_bytes = ${size}`, 'f').live.plans.get('a')
        ?.attachmentBytes;
    expect([read('5_000'), read('"10MB"'), read('"8 MiB"')]).toEqual([5000, 1e7, 8_388_608]);
  });

  test('networks of every width, however IPv6 is written', () => {
    const networks = ['0.0.0.0/0', '127.0.0.0/8', '192.0.2.128/25', '192.0.2.7/32'];
    networks.push('::/0', '::1/128', 'FD00::/8', '2001:db8:0:0::/32', '::ffff:10.0.0.0/104');
    const list = JSON.stringify(networks);
    const config = parseConfig(`${HEAD}[delivery]\nallow_networks = ${list}`, 'f');
    expect(config.startup.delivery.allowNetworks).toEqual(networks);
  });

  test('the closing slash of an address is cut', () => {
    const config = parseConfig(`${HEAD}[http]\npublic_url = "https://Mail.example.com:443/"`, 'f');
    expect(config.live.http.publicUrl).toBe('https://mail.example.com');
  });

  test('IPv6 addresses to listen on and to ask', () => {
    const config = parseConfig(
      `${HEAD}[http]\nlisten = "[::1]:0"\n[dns]\nservers = ["[2001:db8::1]:53"]`,
      'f',
    );
    expect(config.startup.http.listen).toEqual({ host: '::1', port: 0 });
    expect(config.startup.dns.servers).toEqual([{ host: '2001:db8::1', port: 53 }]);
  });

  test('a route without a host leads to the smarthost', () => {
    const config = parseConfig(
      `${HEAD}[delivery.smarthost]\nhost = "relay.example"\n[[delivery.routes]]\ndomains = ["A.example"]`,
      'f',
    );
    expect(config.live.delivery.routes[0]?.domains).toEqual(['a.example']);
    expect(config.live.delivery.routes[0]?.target.host).toBe('relay.example');
  });
});

test('loadConfig: a file that is not there is exit 78 too, with what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-config-'));
  const file = join(folder, 'postrider.toml');
  const absent = (): unknown => loadConfig(file);
  expect(absent).toThrow(OperatorError);
  expect(absent).toThrow(
    expect.objectContaining({ exitCode: 78, hint: expect.stringContaining('postrider init') }),
  );
  writeFileSync(file, HEAD);
  expect(loadConfig(file).startup.hostname).toBe('mail.example.com');
});
