/** Every value of a config whose file says no more than it must, with one of each table that is off or empty without it. */
import { expect, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';

const TEXT = `hostname = "mail.example.com"
[[delivery.routes]]
domains = ["a.example"]
host = "mx.a.example"
[[delivery.providers]]
name = "p"
mx = ["mx.example.net"]
[[plans]]
id = "p"
[delivery.smarthost]
host = "192.0.2.1"
[acme]
listen = "0.0.0.0:80"
accept_terms = true
`;

const PLAN = {
  id: 'unlimited',
  includedEmails: null,
  overageSenPerThousand: null,
  overageCapSen: null,
  maxDomains: 1000000,
  dailyLimit: null,
  dailyLimitByAgeDays: [],
  logRetentionDays: 30,
  ratePerSecond: 100,
  readsPerMinute: 300,
  writesPerMinute: 600,
  storageBytes: null,
  attachmentBytes: 10000000,
  confirmedRecipientsOnly: false,
};

test('what needs a restart', () => {
  expect(parseConfig(TEXT, 'test').startup).toEqual({
    hostname: 'mail.example.com',
    dataDir: '/var/lib/postrider',
    store: {
      url: '',
      passwordFile: '',
      requireStandby: false,
    },
    http: {
      listen: {
        host: '127.0.0.1',
        port: 8025,
      },
      metricsNetworks: ['127.0.0.0/8', '::1/128'],
    },
    smtp: {
      inbound: null,
      submission: [],
      submissions: [],
      connectionsPerAddress: 100,
    },
    delivery: {
      mode: 'direct',
      sourceAddresses: [],
      allowNetworks: [],
      providers: [
        {
          name: 'p',
          mx: ['mx.example.net'],
          connections: 20,
          messagesPerConnection: 100,
          messagesPerMinute: null,
          scope: null,
        },
      ],
    },
    dns: {
      servers: [],
    },
    tls: {
      extraCaFile: '',
    },
    acme: {
      listen: {
        host: '0.0.0.0',
        port: 80,
      },
      email: '',
      acceptTerms: true,
      directoryUrl: 'https://acme-v02.api.letsencrypt.org/directory',
    },
    cluster: {
      name: 'mail.example.com',
    },
    node: {
      name: '',
    },
    webhooks: {
      allowNetworks: [],
    },
  });
});

test('what a reload takes over', () => {
  expect(parseConfig(TEXT, 'test').live).toEqual({
    http: {
      publicUrl: 'http://127.0.0.1:8025',
      tlsCert: '',
      tlsKey: '',
      trustedProxies: [],
      requestsPerAddress: 500,
    },
    smtp: {
      tlsCert: '',
      tlsKey: '',
    },
    delivery: {
      port: 25,
      expiresMs: 172800000,
      smarthost: {
        host: '192.0.2.1',
        port: 587,
        username: '',
        password: '',
        tls: 'required',
      },
      routes: [
        {
          domains: ['a.example'],
          target: {
            host: 'mx.a.example',
            port: 25,
            username: '',
            password: '',
            tls: 'opportunistic',
          },
        },
      ],
    },
    inbox: {
      rspamdUrl: null,
    },
    api: {
      singleSend: 'basic',
      region: 'us-east-1',
      textFromHtml: true,
      keyPrefix: 'pr',
    },
    limits: {
      recipients: 50,
    },
    retention: {
      bodiesMs: 2592000000,
      historyMs: 31536000000,
      auditMs: 31536000000,
    },
    brake: {
      bouncesPer1000: 100,
      complaintsPer1000: 5,
    },
    plans: new Map(['unlimited', 'p'].map((id) => [id, { ...PLAN, id }])),
  });
});

test('tables that nothing turns on are off', () => {
  const { startup, live } = parseConfig('hostname = "mail.example.com"\n', 'test');
  const { providers } = startup.delivery;
  const { smarthost, routes } = live.delivery;
  expect([startup.acme, providers, smarthost, routes, Array.from(live.plans.keys())]).toEqual([
    null,
    [],
    null,
    [],
    ['unlimited'],
  ]);
});
