/**
 * The notices after an accepted form: a page redirects with `done`, and the next page says it.
 *
 * A fixed list, so that a link cannot show its own text on the operator's page.
 */
const NOTICES: Readonly<Record<string, string>> = {
  saved: 'Saved.',
  added: 'Added.',
  removed: 'Removed.',
  confirmed: 'Confirmed. The account may mail this address.',
  inbox_cleared: 'Messages deleted',
  account_added: 'The account was created. It sends when it has a verified domain and a key.',
  domain_added: 'Added. Publish the records below; the page notices when they are there.',
  host_checked: 'The host was checked. What was found is shown below.',
  checked: 'DNS was asked. What was found is shown below.',
  key_made: 'A new key was made. Publish its record, then use it.',
  key_activated: 'Mail is signed with the new key.',
  revoked: 'Key revoked. It no longer works.',
  enabled: 'Enabled. Pending calls continue.',
  endpoint_disabled: 'Disabled. Its calls wait.',
  retried: 'Recipients scheduled for delivery now',
  failed: 'Recipients marked as failed',
  replayed: 'Events scheduled for delivery again',
  halted: 'Sending halted: new sends are refused and deliveries are paused.',
  resumed: 'Sending resumed.',
  drain_asked: 'The node drains: it ends what is under way. Stop it when it is no longer listed.',
  sent: 'Accepted. What happens to it is shown below.',
};

/** The notice for `?done=…&count=…`; null for any other query. */
export function noticeOf(query: URLSearchParams): string | null {
  const done = query.get('done') ?? '';
  const words = Object.hasOwn(NOTICES, done) ? NOTICES[done] : undefined;
  if (words === undefined) return null;
  const count = /^\d{1,9}$/.exec(query.get('count') ?? '')?.[0];
  return count === undefined ? words : `${words}: ${Number(count)}.`;
}
