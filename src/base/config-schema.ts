/**
 * The config file, key by key: each key's name, type, default, limits and meaning, and whether a change of it needs a
 * restart, are said once, here.
 *
 * What `parseConfig` accepts, the type `Config`, the commented file that `init` writes and docs/configuration.md all
 * follow. To add a key, add it here (in `config-delivery.ts` or `config-plans.ts` for those tables) and use it. A key's
 * name in the file is its name here in snake_case, without the unit; default and example are written as in the file.
 * `config-rules.ts` checks what two keys say together. Texts are shown to operators: plain sentences, with units.
 */
import type { TProperties } from '@sinclair/typebox';

import { DELIVERY } from './config-delivery.ts';
import * as format from './config-formats.ts';
import { key, switched, table } from './config-node.ts';
import { PLANS } from './config-plans.ts';

const REGIONS = ['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1'] as const;
const DAYS_30_MS = 30 * 86_400_000;

const networks = format.listOf(format.network);

function certificate(about: string, means: string) {
  return {
    tlsCert: key(format.textOrEmpty(format.readableFile), {
      about: `PEM file with the certificate and its chain${about}. A reload reads the files again.`,
      default: '',
      means,
    }),
    tlsKey: key(format.textOrEmpty(format.readableFile), {
      about: 'PEM file with the private key of tls_cert. Set both or neither.',
      default: '',
      means,
    }),
  } satisfies TProperties;
}

const HTTP = table('The API and the dashboard.', {
  listen: key(format.listenAddress, {
    about: 'Where the API and the dashboard listen.',
    default: '127.0.0.1:8025',
    restart: true,
  }),
  publicUrl: key(format.textOrEmpty(format.siteUrl), {
    about: 'The URL at which clients reach the API and the dashboard: scheme and host, no path.',
    default: '',
    means: 'built from listen and tls_cert',
  }),
  ...certificate('', 'plain HTTP, for a reverse proxy or loopback'),
  trustedProxies: key(networks, {
    about: 'Networks (CIDR) of the reverse proxies whose X-Forwarded-For the appliance believes.',
    default: [],
  }),
  requestsPerAddress: key(format.wholeNumber(1, 100_000), {
    about:
      'Requests that one client address (one IPv6 /64) may have under way at once; more get 429. Connections without a request cannot be counted.',
    default: 500,
  }),
  metricsNetworks: key(networks, {
    about: 'Networks (CIDR) that may read /metrics and the details of /health.',
    default: ['127.0.0.0/8', '::1/128'],
    means: 'this machine',
    restart: true,
  }),
});

const SMTP = table('Mail that comes in over SMTP.', {
  inbound: key(format.orEmpty(format.listenAddress), {
    about: 'Where bounce and complaint reports come in, usually "0.0.0.0:25".',
    default: '',
    means: 'off',
    restart: true,
  }),
  submission: key(format.listOf(format.listenAddress), {
    about:
      'Where applications submit mail: STARTTLS, then AUTH with an API key as the password. Usually ["0.0.0.0:587"].',
    default: [],
    means: 'off',
    restart: true,
  }),
  submissions: key(format.listOf(format.listenAddress), {
    about: 'The same with TLS from the first byte. Usually ["0.0.0.0:465"].',
    default: [],
    means: 'off',
    restart: true,
  }),
  connectionsPerAddress: key(format.wholeNumber(1, 1_000), {
    about: 'Sessions that one client address (one IPv6 /64) may have open at each listener.',
    default: 100,
    restart: true,
  }),
  ...certificate(' for SMTP', 'those of [http], or a self-signed pair that the appliance makes'),
});

const ACME = switched(
  {
    about:
      'Certificates that the appliance fetches and renews itself (RFC 8555, HTTP-01), for the host names of public_url and hostname. SMTP uses them, and [http] does when public_url is https and listen is not a loopback address. Files named by tls_cert come first.',
    off: 'listen',
    restart: true,
  },
  {
    listen: key(format.orEmpty(format.listenAddress), {
      about:
        'Where the appliance answers the certificate authority, which asks on port 80: usually "0.0.0.0:80".',
      default: '',
      means: 'off',
    }),
    email: key(format.text, {
      about: 'Where the authority may write to you. Nobody else is told.',
      default: '',
      means: 'none',
    }),
    acceptTerms: key(format.flag, {
      about: "Must be true when listen is set: you accept the authority's terms of service.",
      default: false,
    }),
    directoryUrl: key(format.httpsUrl, {
      about: "The authority's directory. The default is that of Let's Encrypt.",
      default: 'https://acme-v02.api.letsencrypt.org/directory',
    }),
  },
);

/** The whole file, in the order in which `init` writes it. */
export const CONFIG_FILE = table('', {
  hostname: key(format.hostName, {
    about:
      "The name this machine says in EHLO and Message-IDs, and the target of the customers' return-path CNAME. It needs an A record, and the address a PTR record back to this name.",
    example: 'mail.example.com',
    restart: true,
  }),
  dataDir: key(format.absolutePath, {
    about: 'Directory for the database, the secret key and the control socket. Its mode is 0700.',
    default: '/var/lib/postrider',
    restart: true,
  }),
  store: table('Where the appliance keeps accounts, mail and everything else.', {
    url: key(format.text, {
      about:
        'A PostgreSQL database (15 or newer): "postgres://USER@HOST:5432,HOST2:5432/DATABASE?sslmode=verify-full&sslrootcert=FILE", without a password. Of several hosts the primary is used. sslmode is verify-full, verify-ca or disable. data_dir stays for the secret key and the control socket.',
      default: '',
      means: 'SQLite files in data_dir',
      restart: true,
    }),
    passwordFile: key(format.textOrEmpty(format.secretFile), {
      about:
        "File with the password of the database role, in one line; only the server's user needs to read it.",
      default: '',
      means: 'none',
      restart: true,
    }),
    requireStandby: key(format.flag, {
      about:
        'Whether an email counts as accepted only when a synchronous standby of the PostgreSQL database has it on disk too. While none is connected, sends get 503 (platform_halted). The role needs pg_monitor.',
      default: false,
      restart: true,
    }),
  }),
  http: HTTP,
  smtp: SMTP,
  delivery: DELIVERY,
  inbox: table('The inbox of mode "capture", where the dashboard shows the mail.', {
    rspamdUrl: key(format.orEmpty(format.serviceUrl), {
      about:
        'The rspamd whose spam score of a message the inbox shows: the address of its normal worker, usually "http://127.0.0.1:11333". When somebody opens the tab "Spam" of a message, the whole message is sent there.',
      default: '',
      means: 'off',
    }),
  }),
  dns: table('How the appliance asks DNS.', {
    servers: key(format.listOf(format.listenAddress), {
      about: 'Resolvers, such as ["127.0.0.1:53"].',
      default: [],
      means: 'those of /etc/resolv.conf',
      restart: true,
    }),
  }),
  tls: table('Whom the appliance trusts.', {
    extraCaFile: key(format.textOrEmpty(format.readableFile), {
      about: 'PEM file with a private CA for on-premises receivers and webhook endpoints.',
      default: '',
      means: 'none',
      restart: true,
    }),
  }),
  acme: ACME,
  cluster: table('The name of the service, when it is not that of one machine.', {
    name: key(format.textOrEmpty(format.hostName), {
      about:
        "The target of the customers' return-path CNAME and the end of Message-IDs, so that their DNS records stay as they are when mail moves to another machine. It needs an MX record that leads to this machine, and an SPF record with its addresses. hostname stays the name in EHLO, and a CNAME that leads to hostname stays verified.",
      default: '',
      means: 'hostname',
      restart: true,
    }),
  }),
  node: table('This server among those that share a PostgreSQL database.', {
    name: key(format.text, {
      about:
        'What commands, logs and metrics call it. A server that starts again under the same name in the same data_dir goes on at once with what it had taken; under another name that mail waits for 45 seconds.',
      default: '',
      means: 'the name of the machine',
      restart: true,
    }),
  }),
  api: table('What the API offers.', {
    singleSend: key(format.oneOf('basic', 'full'), {
      about:
        'What POST /emails takes. "basic": one simple email; cc, bcc and attachments are refused with 422, so every email with copies or files from the mailer of a framework (Laravel, Symfony, Django, Rails) fails, and only POST /emails/batch takes them. "full": POST /emails takes them too; set it for such mailers.',
      default: 'basic',
    }),
    region: key(format.oneOf(...REGIONS), {
      about: `Reported to clients and never used: ${REGIONS.join(', ')}.`,
      default: 'us-east-1',
    }),
    textFromHtml: key(format.flag, {
      about:
        'Whether an email that has only html gets a text part made of it. What the API shows as its text stays null.',
      default: true,
    }),
    keyPrefix: key(format.keyPrefix, {
      about:
        'What the text of new API keys begins with: "pr" makes pr_live_… and pr_test_…. "re" passes the checks of clients that only take keys of Resend. Keys made before go on working.',
      default: 'pr',
    }),
  }),
  limits: table('Limits for every account.', {
    recipients: key(format.wholeNumber(1, 1000), {
      about: 'The most recipients of one message, to, cc and bcc together: 1 to 1000.',
      default: 50,
    }),
  }),
  webhooks: table('Where webhooks may go.', {
    allowNetworks: key(networks, {
      about:
        'Networks (CIDR) that webhook endpoints may be in, in addition to the public internet.',
      default: [],
      restart: true,
    }),
  }),
  retention: table('How long the appliance keeps what it knows.', {
    bodiesMs: key(format.duration(0), {
      about:
        'How long html, text, headers and attachments are kept; "0": only until a message is final. The request log shows the message\'s html and text for as long. It keeps copies of its own (16 KiB of a request: batches, refusals, short emails, headers) only for accounts whose log_retention_days is no longer than this. On PostgreSQL, from "7d" on, up to a day longer.',
      default: '30d',
    }),
    historyMs: key(format.duration(DAYS_30_MS), {
      about:
        'How long emails are kept and listed, with their recipients, events, delivery attempts and webhook calls; at least "30d". Suppressions and usage stay. On PostgreSQL up to a day longer.',
      default: '365d',
    }),
    auditMs: key(format.duration(DAYS_30_MS), {
      about:
        'How long the audit log is kept, which says who changed what; at least "30d". Of more than 500,000 entries the oldest go earlier.',
      default: '365d',
    }),
  }),
  // Rates of Amazon SES ("Reputation metrics", SES developer guide). Gmail asks bulk senders to stay below 0.3 % complaints.
  brake: table(
    'When the appliance pauses an account: as soon as so many of 1,000 emails of the last day or week bounced for good or drew complaints. Amazon SES pauses accounts at the same rates (10 % and 0.5 %).',
    {
      bouncesPer1000: key(format.wholeNumber(0, 1000), {
        about: 'Permanent bounces in 1,000 emails; 0: never pause.',
        default: 100,
      }),
      complaintsPer1000: key(format.wholeNumber(0, 1000), {
        about: 'Complaints in 1,000 emails; 0: never pause.',
        default: 5,
      }),
    },
  ),
  plans: PLANS,
});
