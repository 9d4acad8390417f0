/**
 * The part of the config's schema that says how mail leaves: [delivery], its smarthost, routes and limits of providers.
 *
 * A part of `config-schema.ts`, and declared as that says. Reads nothing and never fails.
 */
import type { TProperties } from '@sinclair/typebox';

import * as format from './config-formats.ts';
import { key, rows, switched, table } from './config-node.ts';

const TLS_LEVELS = ['required', 'opportunistic', 'none'] as const;

const port = format.wholeNumber(1, 65_535);
const positive = format.wholeNumber(1, 1_000_000_000);

/** How to reach and log in to a relay. */
function login(options: { port: number; tls: (typeof TLS_LEVELS)[number] }) {
  return {
    port: key(port, {
      about: 'Ports 465 and 2465 speak TLS from the first byte, others STARTTLS.',
      default: options.port,
      example: options.port,
    }),
    username: key(format.text, {
      about: 'User name for AUTH. Set both username and password, or neither.',
      default: '',
      means: 'no login',
      example: 'relay',
    }),
    password: key(format.secret, {
      about: 'Password for AUTH.',
      default: '',
      example: 'secret',
    }),
    tls: key(format.oneOf(...TLS_LEVELS), {
      about:
        '"required": TLS with a certificate that verifies. "opportunistic": TLS when the host offers it. "none": no TLS.',
      default: options.tls,
      example: options.tls,
    }),
  } satisfies TProperties;
}

const SMARTHOST = switched(
  {
    about:
      'The relay of mode "smarthost", and the destination of routes without a host. In mode "direct" it takes the mail for hosts that cannot be reached from here or that refuse this machine; there, adding or removing it needs a restart.',
    off: 'host',
  },
  {
    host: key(format.orEmpty(format.connectHost), {
      about:
        'IP address, "localhost", or a host name, which is looked up in DNS and never in /etc/hosts.',
      default: '',
      means: 'no smarthost',
    }),
    ...login({ port: 587, tls: 'required' }),
  },
);

const ROUTES = rows(
  {
    about:
      'Exceptions by recipient domain, in every mode. The first match wins. Repeat the table for more routes.',
  },
  {
    domains: key(format.someOf(format.domainPattern, 'must name at least one domain'), {
      about: 'Recipient domains; "*.corp.example" matches every name below corp.example.',
      example: ['corp.example', '*.corp.example'],
    }),
    host: key(format.orEmpty(format.connectHost), {
      about: 'IP address or host name of the destination.',
      default: '',
      means: 'the host, port, login and TLS of [delivery.smarthost]',
      example: '10.0.0.5',
    }),
    ...login({ port: 25, tls: 'opportunistic' }),
  },
);

const PROVIDERS = rows(
  {
    about:
      'Limits for the mail hosts of one provider. They come before the built-in table (Gmail, Outlook, Office 365, Yahoo, Apple). Repeat the table for more providers.',
    restart: true,
  },
  {
    name: key(format.text, { about: 'Your name for the provider.', example: 'Example Mail' }),
    mx: key(format.listOf(format.hostPattern), {
      about: 'Names of its MX hosts; "*.mx.example.net" matches every name below mx.example.net.',
      example: ['*.mx.example.net'],
    }),
    connections: key(format.wholeNumber(1, 1000), {
      about: 'Connections at once.',
      default: 20,
      example: 5,
    }),
    messagesPerConnection: key(positive, {
      about: 'Messages on one connection.',
      default: 100,
      example: 20,
    }),
    messagesPerMinute: key(positive, {
      about: 'Messages in a minute.',
      default: null,
      means: 'no limit',
      example: 300,
    }),
    scope: key(format.oneOf('node', 'cluster'), {
      about:
        'Whose connections and messages count, where several nodes share a database. "node": those of each node. "cluster": those of all nodes together; each has an equal part, and at least one connection.',
      default: null,
      means: '"cluster" for the smarthost and routes with a login, "node" for all others',
      example: 'cluster',
    }),
  },
);

export const DELIVERY = table('How mail leaves.', {
  mode: key(format.oneOf('direct', 'smarthost', 'capture'), {
    about:
      '"direct": to the receivers\' own servers. "smarthost": everything through one relay. "capture": to a receiver inside the appliance, for trying and staging; nothing leaves the machine.',
    default: 'direct',
    restart: true,
  }),
  port: key(port, { about: 'The receivers\' port in mode "direct".', default: 25 }),
  sourceAddresses: key(format.listOf(format.ipAddress), {
    about: 'Local IP addresses to send from.',
    default: [],
    means: 'the system chooses',
    restart: true,
  }),
  expiresMs: key(format.duration(1000), {
    about: 'How long the appliance tries to deliver a message: a number with ms, s, m, h or d.',
    default: '48h',
  }),
  allowNetworks: key(format.listOf(format.network), {
    about: 'Networks (CIDR) that mail may be delivered to, in addition to the public internet.',
    default: [],
    restart: true,
  }),
  smarthost: SMARTHOST,
  routes: ROUTES,
  providers: PROVIDERS,
});
