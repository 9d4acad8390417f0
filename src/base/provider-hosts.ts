/**
 * The large mailbox providers by the mail hosts they run: who takes the mail of a domain, whatever the domain is called.
 *
 * Promises one closed list of names, for limits and for counting. The ends of host names are those that the providers
 * publish; `flow/pacing/provider-limits.ts` says what each accepts. Pure.
 */

/** Ends of MX host names (lower case), by the provider's name. */
export const PROVIDER_HOSTS = {
  // Gmail and Workspace share their hosts.
  Gmail: ['.google.com', '.googlemail.com'],
  Outlook: ['.olc.protection.outlook.com'],
  // The tenants of Office 365: other edge servers than Outlook's.
  'Office 365': ['.mail.protection.outlook.com', '.mx.microsoft'],
  Yahoo: ['.yahoodns.net'],
  Apple: ['.icloud.com', '.mail.me.com'],
} as const satisfies Record<string, readonly string[]>;

const ENTRIES: readonly (readonly [name: string, ends: readonly string[]])[] =
  Object.entries(PROVIDER_HOSTS);

/** The provider that runs `host` (lower case); empty for any other host, and for null. */
export function providerOfHost(host: string | null): string {
  if (host === null) return '';
  return ENTRIES.find(([, ends]) => ends.some((end) => host.endsWith(end)))?.[0] ?? '';
}
