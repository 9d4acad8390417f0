/**
 * The host check's question about the smarthost: would it take our mail?
 *
 * Goes as far as a delivery does before the first message, TLS and login included, and says QUIT. Never sends
 * mail and never throws. Nothing to ask where no smarthost is configured.
 */
import { isIPv6 } from 'node:net';
import type { Smarthost } from '../base/config.ts';
import { OperatorError } from '../base/errors.ts';
import { addressesOfHost } from '../wire/host-addresses.ts';
import { openSession } from '../wire/smtp-client.ts';
import type { SessionResult } from '../wire/smtp-client.ts';
import { PRODUCTION_DEADLINES } from '../wire/smtp-deadlines.ts';
import type { Deadlines } from '../wire/smtp-deadlines.ts';
import { formatReply } from '../wire/smtp-reply.ts';
import { type DoctorContext, type Finding, finding, ok } from './doctor-finding.ts';
import { describe } from './doctor-resolver.ts';
import { readExtraCa } from './extra-ca.ts';
import { policyOf } from './tls-policy.ts';

const CHECK = 'smarthost';
/** A person waits for the answer: less patience than a delivery has. */
const STAGE_MS = 8_000;
const DEADLINES = Object.fromEntries(
  Object.entries(PRODUCTION_DEADLINES).map(([stage, ms]) => [stage, Math.min(ms, STAGE_MS)]),
) as unknown as Deadlines;

export async function examineSmarthost(ctx: DoctorContext): Promise<Finding[]> {
  const { smarthost, mode } = ctx.config.delivery;
  if (smarthost === null || mode === 'capture') return [];
  const host = isIPv6(smarthost.host) ? `[${smarthost.host}]` : smarthost.host;
  const name = `${host}:${smarthost.port}`;
  const found = await addressesOfHost(ctx.resolver, smarthost.host);
  if (found.kind !== 'found') {
    const level = found.kind === 'failed' ? 'unchecked' : 'error';
    const seen = `The smarthost ${smarthost.host} has no address in DNS: ${describe(found)}.`;
    return [finding(CHECK, level, seen, 'See that [delivery.smarthost] host is written right.')];
  }
  let last: (SessionResult & { kind: 'failed' }) | null = null;
  let ca: string[];
  try {
    ca = readExtraCa(ctx.config);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return [finding(CHECK, 'error', `${error.message}.`, error.hint)];
  }
  for (const address of found.records) {
    const result = await open(ctx, smarthost, address, ca);
    if (result.kind === 'ready') {
      const { tls } = result.session;
      await result.session.quit();
      const login = smarthost.username === '' ? '' : ' and the login';
      return [ok(CHECK, `${name} takes mail: ${tls?.version ?? 'no TLS'}${login} as configured.`)];
    }
    last = result;
  }
  const why =
    last === null ? 'no address' : last.reply === null ? last.cause : formatReply(last.reply);
  const seen = `The smarthost ${name} would take no mail: ${why} (${last?.stage ?? 'dns'}).`;
  return [finding(CHECK, 'error', seen, adviceFor(last, smarthost))];
}

function open(
  ctx: DoctorContext,
  smarthost: Smarthost,
  address: string,
  ca: string[],
): Promise<SessionResult> {
  const { mode, verify } = policyOf(smarthost);
  const { username, password } = smarthost;
  return openSession({
    address,
    port: smarthost.port,
    localAddress: null,
    heloName: ctx.config.hostname,
    serverName: smarthost.host,
    tls: { mode, verify, ca },
    auth: username === '' ? null : { username, password },
    deadlines: DEADLINES,
  });
}

function adviceFor(
  failed: (SessionResult & { kind: 'failed' }) | null,
  { host, port }: Smarthost,
): string {
  const stage = failed?.stage ?? 'connect';
  if (stage === 'auth') {
    return 'See that username and password under [delivery.smarthost] are those of the relay.';
  }
  if (stage === 'starttls' || stage === 'handshake') {
    return `The certificate must name ${host} and be trusted (a private authority: [tls] extra_ca_file). 465 and 2465 are TLS from the first byte, other ports STARTTLS; tls = "none" or "opportunistic" for a relay without.`;
  }
  if (stage === 'connect') {
    return `See that host and port under [delivery.smarthost] are right and that no firewall is between here and ${host}:${port}.`;
  }
  return 'Ask the operator of the relay what its answer means.';
}
