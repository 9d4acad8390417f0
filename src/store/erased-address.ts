/**
 * What erasing an address takes out of rows that stay, and which rows of the request log name it.
 *
 * Promises that letters of either case are one, and that an address which merely ends like it is another. Only a row of the
 * request log goes also where the address is a part of a longer one: rather a row too many than one that names the person.
 * `address` is in lower case everywhere. Reads and writes nothing; cannot fail.
 */

/** What the subject of a message becomes, which may have named the person. */
export const ERASED_SUBJECT = '[erased]';

/**
 * What becomes of a message to the address. `waits`: a recipient is still to be tried, nothing changes. `goes`: nobody
 * else was its recipient, and its row may go. `stays`: the address is taken out of it, with its content.
 */
export type MessageErasure = 'waits' | 'goes' | 'stays';

/** `others`: recipients of another address. `mayGo`: the store needs no row of it. */
export function erasureOf(isOpen: boolean, others: number, mayGo: boolean): MessageErasure {
  if (isOpen) return 'waits';
  return others === 0 && mayGo ? 'goes' : 'stays';
}

/** A list of `a@b` and `Name <a@b>`, without one address. */
export function listWithout(list: readonly string[], address: string): string[] {
  return list.filter((entry) => {
    const lower = entry.toLowerCase();
    return lower !== address && !lower.endsWith(`<${address}>`);
  });
}

/** Whether a request's path or bodies name the address, as it is or percent-encoded. */
export function isNamedIn(text: string, address: string): boolean {
  const lower = text.toLowerCase();
  return lower.includes(address) || lower.includes(encodeURIComponent(address).toLowerCase());
}
