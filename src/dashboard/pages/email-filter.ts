/**
 * The filters of the emails' list: what the query asks for, the form that asks, and the rows that answer.
 *
 * Text, recipient, status and dates are found by the store's indexes. Sending domain, key and tag are compared row by
 * row, within a bound: a search that has looked at enough rows says how far it came and goes on from there. Promises
 * rows newest first, none twice.
 */
import { isId } from '../../base/ids.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../base/status.ts';
import type { Context } from '../../flow/context.ts';
import type { Domain, Key, Message } from '../../store/rows.ts';
import { fieldOf } from '../frame/form.ts';
import { html, type Html } from '../frame/html.ts';
import { startOfDay } from '../frame/values.ts';
import { queryText, type Visit } from '../frame/visit.ts';
import { choiceField, domainAsked } from './offered.ts';

const DAY_MS = 86_400_000;
/** What is compared one by one for one page: so many rows, and not for longer, in milliseconds. */
const MOST_ROWS = 20_000;
const MOST_MS = 100;
const STEP_ROWS = 500;
/** Messages are listed in the order of their commits, which follows their times but for an instant. */
const COMMIT_SLACK_MS = 60_000;

export interface EmailQuery {
  q: string | null;
  status: MessageStatus | null;
  /** As entered: `name` or `name=value`. */
  tag: string | null;
  /** As entered: the id or the name of a domain. */
  domainId: string | null;
  keyId: string | null;
  /** Part of an address in To. */
  recipient: string | null;
  /** First and last day in UTC, as `2026-11-22`. */
  from: string | null;
  until: string | null;
}

export interface FoundEmails {
  rows: Message[];
  /** The cursor of the next page; null at the end of the list. */
  next: string | null;
  /** Time of the last row looked at, when the bound ended the search before the page was full. */
  searchedTo: number | null;
}

/** The filters in the query of a page's address; what is none is left out. */
export function emailQueryOf(visit: Visit): EmailQuery {
  const status = queryText(visit, 'status');
  return {
    q: queryText(visit, 'q'),
    status: MESSAGE_STATUSES.find((word) => word === status) ?? null,
    tag: queryText(visit, 'tag'),
    domainId: queryText(visit, 'domain'),
    keyId: queryText(visit, 'key'),
    recipient: queryText(visit, 'to'),
    from: dayOf(queryText(visit, 'from')),
    until: dayOf(queryText(visit, 'until')),
  };
}

/** Whether any filter is set. */
export function isFiltered(query: EmailQuery): boolean {
  return Object.values(query).some((value) => value !== null);
}

/** The query by the id of its domain, where it has the name; null where no domain has it, so that no email matches. */
export async function findable(
  store: Parameters<typeof domainAsked>[0],
  accountId: string,
  query: EmailQuery,
): Promise<EmailQuery | null> {
  const { domainId } = query;
  if (domainId === null) return query;
  const domain = await domainAsked(store, accountId, domainId);
  if (domain !== null) return { ...query, domainId: domain.id };
  // Emails of a domain that was removed are still found by its id.
  return isId(domainId) ? query : null;
}

/** The filters as a form that answers while it is changed. `domains`: read by `OFFERED`. */
export function emailFilters(
  path: string,
  query: EmailQuery,
  offered: { domains: readonly Domain[]; keys: readonly Key[] },
): Html {
  const { domains, keys } = offered;
  const isMore = [query.tag, query.domainId, query.keyId, query.from, query.until].some(
    (value) => value !== null,
  );
  const any = ['', 'Any'] as const;
  const field = (spec: Parameters<typeof fieldOf>[0]): Html => fieldOf(spec, null, 'q');
  return html`<form class="filters" method="get" action="${path}" role="search" data-swap="">
    ${field({ kind: 'text', type: 'search', name: 'q', label: 'Subject, sender or recipient', value: query.q })}
    ${field({
      kind: 'select',
      name: 'status',
      label: 'Status',
      value: query.status,
      options: [any, ...MESSAGE_STATUSES.map((word) => [word, word.replace('_', ' ')] as const)],
    })}
    ${field({ kind: 'text', name: 'to', label: 'Recipient', value: query.recipient })}
    <p class="submit"><button class="plain">Filter</button></p>
    <details class="more" ${isMore && html`open`}>
      <summary>More filters</summary>
      <div>
        ${field({ kind: 'text', type: 'date', name: 'from', label: 'From (UTC)', value: query.from })}
        ${field({ kind: 'text', type: 'date', name: 'until', label: 'Until (UTC)', value: query.until })}
        ${field(
          choiceField(domains, {
            name: 'domain',
            label: 'Sending domain',
            value: query.domainId,
            none: 'Any',
          }),
        )}
        ${field({
          kind: 'select',
          name: 'key',
          label: 'API key',
          value: query.keyId,
          options: [
            any,
            ...keys.map(({ id, name, last4 }) => [id, `${name} (…${last4})`] as const),
          ],
        })}
        ${field({ kind: 'text', name: 'tag', label: 'Tag', value: query.tag, placeholder: 'name or name=value' })}
      </div>
    </details>
  </form>`;
}

/** A page of the list. `query`: from `findable`. `after`: the cursor of the page before; null for the newest. */
export async function findEmails(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  accountId: string,
  query: EmailQuery | null,
  after: string | null,
  limit: number,
): Promise<FoundEmails> {
  if (query === null) return { rows: [], next: null, searchedTo: null };
  const isSearched = [query.tag, query.domainId, query.keyId].some((value) => value !== null);
  const oldest = query.from === null ? 0 : Date.parse(query.from);
  const rows: Message[] = [];
  let cursor = after ?? (query.until === null ? null : cursorAt(Date.parse(query.until) + DAY_MS));
  const beganAt = clock.steady();
  for (let seen = 0; ;) {
    // Both are in the indexed text; what it finds by one is compared with the other.
    const q = query.q ?? query.recipient;
    const { status } = query;
    const page = { limit: isSearched ? STEP_ROWS : limit, after: cursor, before: null, q, status };
    const found = await store.emails(accountId, page);
    for (const row of found.rows) {
      if (row.createdAt < oldest - COMMIT_SLACK_MS) return { rows, next: null, searchedTo: null };
      cursor = row.id;
      if (row.createdAt < oldest || !isMatch(row, query)) continue;
      rows.push(row);
      if (rows.length === limit) {
        const hasMore = found.hasMore || row !== found.rows.at(-1);
        return { rows, next: hasMore ? cursor : null, searchedTo: null };
      }
    }
    if (!found.hasMore) return { rows, next: null, searchedTo: null };
    seen += found.rows.length;
    if (seen >= MOST_ROWS || clock.steady() - beganAt >= MOST_MS) {
      return { rows, next: cursor, searchedTo: found.rows.at(-1)?.createdAt ?? null };
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function isMatch(row: Message, { tag, domainId, keyId, recipient }: EmailQuery): boolean {
  if (domainId !== null && row.domainId !== domainId) return false;
  if (keyId !== null && row.keyId !== keyId) return false;
  if (tag !== null) {
    const [name, ...value] = tag.split('=');
    const wanted = value.length === 0 ? null : value.join('=');
    const has = row.tags.some((one) => one.name === name && (wanted ?? one.value) === one.value);
    if (!has) return false;
  }
  if (recipient === null) return true;
  const part = recipient.toLowerCase();
  return row.to.some((address) => address.toLowerCase().includes(part));
}

function dayOf(text: string | null): string | null {
  return text !== null && startOfDay(text) !== null ? text : null;
}

/** The lowest id of a moment (UUIDv7, RFC 9562 section 5.7): as a cursor, the list goes on with what is older. */
function cursorAt(atMs: number): string {
  const time = Math.max(0, atMs).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}
