/**
 * The host check's questions about DNS itself: does the resolver answer, does it validate, does it invent answers?
 *
 * Asks for a few well-known names only. Never throws.
 */
import { isLoopback } from '../wire/dns/dns.ts';
import { readResolvConf } from '../wire/dns/resolv-conf.ts';
import type { DnsAnswer } from '../wire/dns/resolver.ts';
import { type DoctorContext, type Finding, finding, ok } from './finding.ts';

/** Signed since 2010 and never without addresses; `dnssec-failed.org` is kept broken on purpose. */
const SIGNED_NAME = 'ietf.org';
const BOGUS_NAME = 'dnssec-failed.org';
/** A receiver that will not go away: shows whether names of the internet can be resolved at all. */
const KNOWN_MAIL_DOMAIN = 'gmail.com';
/** RFC 2606: a name below .invalid never exists; an answer means that the resolver invents some. */
const NEVER_EXISTS = 'postrider-doctor.invalid';

/** Findings, and whether names of the internet can be resolved at all from here. */
export async function examineResolver(
  ctx: DoctorContext,
): Promise<{ findings: Finding[]; isResolving: boolean }> {
  const [known, signed, bogus, invented] = await Promise.all([
    ctx.resolver.mx(KNOWN_MAIL_DOMAIN),
    ctx.resolver.a(SIGNED_NAME),
    ctx.resolver.a(BOGUS_NAME),
    ctx.resolver.a(NEVER_EXISTS),
  ]);
  if (known.kind !== 'found') {
    const seen = `The MX records of ${KNOWN_MAIL_DOMAIN} could not be looked up: ${describe(known)}.`;
    const advice =
      'Set [dns] servers to a resolver that works, or install unbound on this machine. Without DNS, no mail can leave to the internet. On a network without internet this is expected.';
    return { findings: [finding('resolver', 'unchecked', seen, advice)], isResolving: false };
  }
  const findings: Finding[] = [ok('resolver', 'The resolver answers for names of the internet.')];
  if (invented.kind === 'found') {
    findings.push(
      finding(
        'resolver_honesty',
        'error',
        'The resolver answers for a name that cannot exist.',
        'Set [dns] servers to another resolver, or install unbound on this machine. This one invents answers, so that mail to a mistyped domain is delivered to somebody else.',
      ),
    );
  }
  findings.push(validation(signed, bogus, remoteServers(ctx)));
  return { findings, isResolving: true };
}

/** Addresses of the resolvers in use that are not on this machine. */
function remoteServers({ config }: DoctorContext): string[] {
  const servers =
    config.startup.dns.servers.length > 0 ? config.startup.dns.servers : readResolvConf();
  return servers.map(({ host }) => host).filter((host) => !isLoopback(host));
}

function validation(
  signed: DnsAnswer<string>,
  bogus: DnsAnswer<string>,
  remote: string[],
): Finding {
  const isTrusted = signed.kind === 'found' && signed.isAuthenticated;
  if (isTrusted && bogus.kind === 'failed') {
    return ok('dnssec', 'The resolver on this machine validates DNSSEC, so DANE is used.');
  }
  if (remote.length > 0) {
    return finding(
      'dnssec',
      'warning',
      `Not every resolver in use is on this machine (${remote.join(', ')}), so DNSSEC is not used.`,
      'Install unbound on this machine, set [dns] servers = ["127.0.0.1:53"] without any other, and restart. Mail is delivered until then, but without DANE (RFC 7672): anyone between this machine and a resolver can forge the flag of a validated answer (AD), so it counts only when all resolvers are on loopback.',
    );
  }
  if (bogus.kind === 'found') {
    return finding(
      'dnssec',
      'warning',
      'The resolver does not validate DNSSEC.',
      'Install unbound on this machine and set [dns] servers = ["127.0.0.1:53"] without any other. Mail is delivered until then, but without DANE (RFC 7672): a validated answer counts only when all resolvers are on loopback.',
    );
  }
  return finding(
    'dnssec',
    'warning',
    'The resolver does not mark signed names as validated.',
    'Install unbound on this machine and set [dns] servers = ["127.0.0.1:53"]. DANE (RFC 7672) needs a validating resolver, and all resolvers on loopback.',
  );
}

/** An answer in words, for findings. */
export function describe(answer: DnsAnswer<unknown>): string {
  switch (answer.kind) {
    case 'found':
      return 'found';
    case 'nodata':
      return 'there is no such record';
    case 'nxdomain':
      return 'the name does not exist';
    case 'failed':
      return answer.reason;
  }
}
