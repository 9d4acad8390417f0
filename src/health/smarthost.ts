/**
 * The host check's question about the smarthost: would it take our mail?
 *
 * Goes as far as a delivery does before the first message, TLS and login included, and says QUIT. Never sends
 * mail and never throws. Nothing to ask where no smarthost is configured.
 */
import { isIPv6 } from 'node:net';
import type { Smarthost } from '../base/config.ts';
import { OperatorError } from '../base/errors.ts';
import { addressesOfHost } from '../wire/dns/host-addresses.ts';
import { openSession } from '../wire/smtp/client.ts';
import type { SessionResult } from '../wire/smtp/client.ts';
import { PRODUCTION_DEADLINES, withMaxStage } from '../wire/smtp/deadlines.ts';
import { formatReply } from '../wire/smtp/reply.ts';
import { ExtraTrust } from '../wire/smtp/tls.ts';
import { type DoctorContext, type Finding, finding, ok } from './finding.ts';
import { describe } from './resolver.ts';
import { readExtraCa } from '../flow/extra-ca.ts';
import { policyOf } from '../flow/deliver/tls-policy.ts';

const CHECK = 'smarthost';
/** A person waits for the result, so each stage has less time than in a delivery. */
const STAGE_MS = 8_000;
const DEADLINES = withMaxStage(PRODUCTION_DEADLINES, STAGE_MS);

export async function examineSmarthost(ctx: DoctorContext): Promise<Finding[]> {
  const { smarthost } = ctx.config.live.delivery;
  if (smarthost === null || ctx.config.startup.delivery.mode === 'capture') return [];
  const host = isIPv6(smarthost.host) ? `[${smarthost.host}]` : smarthost.host;
  const name = `${host}:${smarthost.port}`;
  const found = await addressesOfHost(ctx.resolver, smarthost.host);
  if (found.kind !== 'found') {
    const level = found.kind === 'failed' ? 'unchecked' : 'error';
    const seen = `The smarthost ${smarthost.host} has no address in DNS: ${describe(found)}.`;
    return [finding(CHECK, level, seen, 'Check the spelling of host under [delivery.smarthost].')];
  }
  let last: (SessionResult & { kind: 'failed' }) | null = null;
  let trust: ExtraTrust | undefined;
  try {
    const ca = readExtraCa(ctx.config.startup.tls.extraCaFile);
    trust = ca.length === 0 ? undefined : new ExtraTrust(ca);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return [finding(CHECK, 'error', `${error.message}.`, error.hint)];
  }
  for (const address of found.records) {
    const result = await open(ctx, smarthost, address, trust);
    if (result.kind === 'ready') {
      const { tls } = result.session;
      await result.session.quit();
      const login = smarthost.username === '' ? '' : ' and the login';
      return [
        ok(
          CHECK,
          `The smarthost ${name} takes mail: ${tls?.version ?? 'no TLS'}${login} as configured.`,
        ),
      ];
    }
    last = result;
  }
  const why =
    last === null ? 'no address' : last.reply === null ? last.cause : formatReply(last.reply);
  const seen = `The smarthost ${name} would not take mail: ${why} (at ${last?.stage ?? 'dns'}).`;
  return [finding(CHECK, 'error', seen, adviceFor(last, smarthost.host, name))];
}

function open(
  ctx: DoctorContext,
  smarthost: Smarthost,
  address: string,
  trust: ExtraTrust | undefined,
): Promise<SessionResult> {
  const { mode, verify } = policyOf(smarthost);
  const { username, password } = smarthost;
  return openSession({
    address,
    port: smarthost.port,
    localAddress: null,
    heloName: ctx.config.startup.hostname,
    serverName: smarthost.host,
    tls: { mode, verify, ...(trust === undefined ? {} : { trust }) },
    auth: username === '' ? null : { username, password },
    deadlines: DEADLINES,
  });
}

function adviceFor(
  failed: (SessionResult & { kind: 'failed' }) | null,
  host: string,
  name: string,
): string {
  const stage = failed?.stage ?? 'connect';
  if (stage === 'auth') {
    return 'Check username and password under [delivery.smarthost].';
  }
  if (stage === 'starttls' || stage === 'handshake') {
    return `The certificate of the smarthost must name ${host} and be trusted; for a private authority, set [tls] extra_ca_file. Ports 465 and 2465 use TLS from the first byte, other ports STARTTLS. For a smarthost without TLS, set tls = "none" or "opportunistic".`;
  }
  if (stage === 'connect') {
    return `Check host and port under [delivery.smarthost], and that no firewall blocks ${name}.`;
  }
  return 'Ask the operator of the smarthost what its reply means.';
}
