/**
 * The values of the metrics' label `destination`: one closed list, by the recipient's domain.
 *
 * Promises the same word for the same domain in every metric, so that what waits can be compared with what was
 * attempted. A domain whose mail a provider hosts under another name counts as `other`: the store knows domains, not
 * hosts. Cannot fail.
 */

/** Never in the DNS (RFC 6761 section 6.2): its recipients are simulated, so they are no destination. */
export const SANDBOX_DOMAIN = 'sandbox.test';

/** The large consumer mailbox providers, with their domains. */
const DOMAINS = {
  gmail: ['gmail.com', 'googlemail.com'],
  microsoft: ['outlook.com', 'hotmail.com', 'live.com', 'msn.com'],
  yahoo: ['yahoo.com', 'ymail.com', 'aol.com'],
  apple: ['icloud.com', 'me.com', 'mac.com'],
};

/** The kind of each domain that has one; all others are of `OTHER_KIND`. */
export const DESTINATION_KINDS: ReadonlyMap<string, string> = new Map(
  Object.entries(DOMAINS).flatMap(([kind, domains]) =>
    domains.map((domain): [string, string] => [domain, kind]),
  ),
);

export const OTHER_KIND = 'other';

/** The label's value for mail to `domain` (lower case). */
export function destinationKind(domain: string): string {
  return DESTINATION_KINDS.get(domain) ?? OTHER_KIND;
}
