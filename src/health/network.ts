/**
 * The host check's questions about the network: outgoing port 25, blocklists, the clock.
 *
 * Connects to port 25 of large receivers and closes again; sends no mail. Never throws.
 */
import { dial, type DialResult } from '../wire/dial.ts';
import { findHosts } from '../wire/dns/mx.ts';
import { clockOffset } from '../wire/sntp.ts';
import { providerAdvice } from './hosting-providers.ts';
import { describe } from './resolver.ts';
import { type DoctorContext, type Finding, finding, isDirect, ok } from './finding.ts';

/** Receivers whose mail hosts answer anyone: one that answers is enough. */
const PROBE_DOMAINS = ['gmail.com', 'outlook.com', 'yahoo.com'];
/** Ports on which a smarthost could be reached, tried when port 25 is closed. */
const SUBMISSION_HOST = 'smtp.gmail.com';
const SUBMISSION_PORTS = [465, 587];
const ALTERNATE_SUBMISSION = { host: 'smtp.sendgrid.net', port: 2525 };
const DIAL_TIMEOUT_MS = 8_000;

const NO_INTERNET = 'This check needs the internet. Run doctor again when DNS answers.';

export async function examinePorts(
  ctx: DoctorContext,
  isOnline: boolean,
  addresses: string[],
): Promise<Finding[]> {
  if (!isDirect(ctx.config)) return [];
  const { port } = ctx.config.live.delivery;
  const check = `port_${port}`;
  if (!isOnline)
    return [
      finding(
        check,
        'unchecked',
        'The port was not tried, because DNS does not answer.',
        NO_INTERNET,
      ),
    ];
  const tried = await Promise.all(PROBE_DOMAINS.map((domain) => dialDomain(ctx, domain, port)));
  const open = tried.find((attempt) => attempt.result?.kind === 'open');
  if (open !== undefined) {
    return [ok(check, `Outgoing port ${port} is open (${open.host} answered).`)];
  }
  const seen = tried.map((attempt) => `${attempt.host}: ${words(attempt.result)}`).join('; ');
  const others = await submissionPorts(ctx);
  const way =
    others.length > 0
      ? ` Ports ${others.join(', ')} are open: until port ${port} is, use a smarthost ([delivery.smarthost]).`
      : '';
  const advice = `No receiver answered, most likely because your hosting provider blocks port ${port}. ${await providerAdvice(ctx, addresses)}${way}`;
  return [finding(check, 'error', `Outgoing port ${port} seems blocked (${seen}).`, advice)];
}

interface Tried {
  host: string;
  result: DialResult | null;
}

async function dialDomain(ctx: DoctorContext, domain: string, port: number): Promise<Tried> {
  const found = await findHosts(ctx.resolver, domain);
  const host = found.kind === 'hosts' ? found.hosts[0] : undefined;
  const address = host?.addresses[0];
  if (host === undefined || address === undefined) return { host: domain, result: null };
  return { host: host.name, result: await dial(address, port, DIAL_TIMEOUT_MS) };
}

async function submissionPorts(ctx: DoctorContext): Promise<number[]> {
  const targets = [
    ...SUBMISSION_PORTS.map((port) => ({ host: SUBMISSION_HOST, port })),
    ALTERNATE_SUBMISSION,
  ];
  const results = await Promise.all(
    targets.map(async ({ host, port }) => {
      const answer = await ctx.resolver.a(host);
      const address = answer.kind === 'found' ? answer.records[0] : undefined;
      if (address === undefined) return null;
      return (await dial(address, port, DIAL_TIMEOUT_MS)).kind === 'open' ? port : null;
    }),
  );
  return results.filter((port) => port !== null);
}

function words(result: DialResult | null): string {
  if (result === null) return 'no address';
  switch (result.kind) {
    case 'open':
      return 'open';
    case 'timeout':
      return 'no answer';
    case 'refused':
    case 'no_route':
      return result.reason;
  }
}

/** Lists that receivers do ask, each with its page for removal. */
const BLOCKLISTS = [
  { zone: 'zen.spamhaus.org', page: 'https://check.spamhaus.org/' },
  { zone: 'bl.spamcop.net', page: 'https://www.spamcop.net/bl.shtml' },
  { zone: 'b.barracudacentral.org', page: 'https://www.barracudacentral.org/lookups' },
  { zone: 'psbl.surriel.com', page: 'https://psbl.org/remove' },
];
/** RFC 5782 section 5: every IPv4 list contains this address, for testing. */
const TEST_ENTRY = '2.0.0.127';
/** Spamhaus replies 127.255.255.x to a resolver that it refuses; that says nothing of the address. */
const RESOLVER_REFUSED = /^127\.255\.255\./;

export async function examineBlocklists(
  ctx: DoctorContext,
  isOnline: boolean,
  addresses: string[],
): Promise<Finding[]> {
  const ipv4 = addresses.filter((address) => !address.includes(':'));
  if (!isDirect(ctx.config) || ipv4.length === 0) return [];
  if (!isOnline) {
    return [
      finding(
        'blocklists',
        'unchecked',
        'The blocklists were not asked, because DNS does not answer.',
        NO_INTERNET,
      ),
    ];
  }
  const found = await Promise.all(
    BLOCKLISTS.map((list) => askBlocklist(ctx, list.zone, list.page, ipv4)),
  );
  return found.flat();
}

async function askBlocklist(
  ctx: DoctorContext,
  zone: string,
  page: string,
  addresses: string[],
): Promise<Finding[]> {
  const check = `blocklist_${zone}`;
  const self = await ctx.resolver.a(`${TEST_ENTRY}.${zone}`);
  if (self.kind !== 'found' || self.records.some((record) => RESOLVER_REFUSED.test(record))) {
    const why = self.kind === 'found' ? 'it refuses this resolver' : describe(self);
    const advice =
      'Blocklists refuse large shared resolvers. Install unbound on this machine, or look the address up at ';
    return [finding(check, 'unchecked', `${zone} could not be asked: ${why}.`, advice + page)];
  }
  return Promise.all(
    addresses.map(async (address): Promise<Finding> => {
      const answer = await ctx.resolver.a(`${address.split('.').toReversed().join('.')}.${zone}`);
      if (answer.kind === 'found') {
        const seen = `${address} is listed by ${zone} (${answer.records.join(', ')}).`;
        return finding(
          check,
          'error',
          seen,
          `Find and fix the cause, then ask for removal at ${page}`,
        );
      }
      if (answer.kind === 'failed') {
        const seen = `${zone} did not answer for ${address}: ${answer.reason}.`;
        return finding(check, 'unchecked', seen, `Look the address up at ${page}`);
      }
      return ok(check, `${address} is not listed by ${zone}.`);
    }),
  );
}

const TIME_SERVERS = ['time.cloudflare.com', 'pool.ntp.org'];
const NTP_PORT = 123;
const NTP_TIMEOUT_MS = 3_000;
/** Receivers of webhooks refuse signatures more than 5 minutes off; a tenth of that is worth a warning. */
const CLOCK_WARNING_MS = 30_000;

export async function examineClock(ctx: DoctorContext, isOnline: boolean): Promise<Finding[]> {
  if (!isOnline)
    return [
      finding(
        'clock',
        'unchecked',
        'The clock was not compared, because DNS does not answer.',
        NO_INTERNET,
      ),
    ];
  for (const server of TIME_SERVERS) {
    const answer = await ctx.resolver.a(server);
    const address = answer.kind === 'found' ? answer.records[0] : undefined;
    if (address === undefined) continue;
    const offsetMs = await clockOffset(address, NTP_PORT, NTP_TIMEOUT_MS);
    if (offsetMs === null) continue;
    return [clockFinding(offsetMs)];
  }
  const advice = 'Check the clock with timedatectl. A firewall may block UDP port 123.';
  return [finding('clock', 'unchecked', 'No time server answered.', advice)];
}

/** `offsetMs`: by how much this machine's clock is ahead; negative: behind. */
export function clockFinding(offsetMs: number): Finding {
  const off = `${Math.round(Math.abs(offsetMs) / 100) / 10} s ${offsetMs > 0 ? 'ahead' : 'behind'}`;
  if (Math.abs(offsetMs) < CLOCK_WARNING_MS) return ok('clock', `The clock is right (${off}).`);
  return finding(
    'clock',
    'error',
    `The clock is ${off}.`,
    'Turn on time synchronisation (systemd-timesyncd or chrony). Receivers of webhooks refuse calls whose time is five minutes off.',
  );
}
