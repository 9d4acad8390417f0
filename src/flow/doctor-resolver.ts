/**
 * The host check's questions about DNS itself: does the resolver answer, is it a validating one, does it lie.
 */
import { isLoopback } from '../wire/dns.ts';
import { readResolvConf } from '../wire/resolv-conf.ts';
import type { DnsAnswer } from '../wire/resolver.ts';
import { type DoctorContext, type Finding, finding, ok } from './doctor-finding.ts';

/** Signed since 2010 and never without addresses; `dnssec-failed.org` is kept broken on purpose. */
const SIGNED_NAME = 'ietf.org';
const BOGUS_NAME = 'dnssec-failed.org';
/** Any receiver that exists as long as mail does: used to see whether the internet answers at all. */
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
    const seen = `The MX records of ${KNOWN_MAIL_DOMAIN} could not be found: ${describe(known)}.`;
    const advice =
      'Without an answer from DNS no mail to the internet can leave. Set [dns] servers to a resolver that works, or install unbound on this machine. On a network without internet this is expected.';
    return { findings: [finding('resolver', 'unchecked', seen, advice)], isResolving: false };
  }
  const findings: Finding[] = [
    ok('resolver', 'The resolver answers questions about the internet.'),
  ];
  if (invented.kind === 'found') {
    findings.push(
      finding(
        'resolver_honesty',
        'error',
        'The resolver answers for a name that can not exist.',
        'Use another resolver: this one invents answers, so that mail for mistyped domains goes to a stranger. Set [dns] servers, or install unbound on this machine.',
      ),
    );
  }
  findings.push(validation(signed, bogus, remoteServers(ctx)));
  return { findings, isResolving: true };
}

/** Addresses of the resolvers in use that are not on this machine. */
function remoteServers({ config }: DoctorContext): string[] {
  const servers = config.dnsServers.length > 0 ? config.dnsServers : readResolvConf();
  return servers.map(({ host }) => host).filter((host) => !isLoopback(host));
}

function validation(
  signed: DnsAnswer<string>,
  bogus: DnsAnswer<string>,
  remote: string[],
): Finding {
  const isTrusted = signed.kind === 'found' && signed.isAuthenticated;
  if (isTrusted && bogus.kind === 'failed') {
    return ok('dnssec', 'The resolver validates DNSSEC on this machine: DANE is in force.');
  }
  if (remote.length > 0) {
    return finding(
      'dnssec',
      'warning',
      `Not every resolver in use is on this machine (${remote.join(', ')}), so DNSSEC is not believed.`,
      'Mail still flows, but DANE (RFC 7672) is not used: anyone on the way can set the flag that says an answer was validated (AD), so it counts only when all resolvers are on loopback; one elsewhere among them is enough. Install unbound on this machine and set [dns] servers = ["127.0.0.1:53"], without any other, and restart.',
    );
  }
  if (bogus.kind === 'found') {
    return finding(
      'dnssec',
      'warning',
      'The resolver does not validate DNSSEC.',
      'Mail still flows; DANE (RFC 7672) is not used. Install unbound on this machine and set [dns] servers = ["127.0.0.1:53"] and nothing else to have it: the flag is believed only when all resolvers are on loopback.',
    );
  }
  return finding(
    'dnssec',
    'warning',
    'The resolver does not vouch for signed names from this machine.',
    'DANE (RFC 7672) needs a validating resolver, and all resolvers on loopback. Install unbound on this machine and set [dns] servers = ["127.0.0.1:53"].',
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
