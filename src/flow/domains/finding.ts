/**
 * What DNS says about one record of a domain.
 *
 * Data only. `missing` is certain and counts against the domain; `unknown` means that DNS could not be asked, and never
 * does.
 */
export type Finding =
  | { kind: 'found'; published?: Published }
  | { kind: 'missing'; reason: string; published?: Published }
  | { kind: 'unknown'; reason: string };

/** What stands in DNS where a record was looked for. */
export interface Published {
  /** The name that was asked. */
  at: string;
  /** The values, as an owner would enter them; an MX or TXT beside an expected CNAME says its type. */
  values: readonly string[];
}

/** `reason`: a clause for the domain's owner. */
export function missing(reason: string, published?: Published): Finding {
  return { kind: 'missing', reason, ...(published !== undefined && { published }) };
}

/** `reason`: why DNS could not be asked. */
export function unknown(reason: string): Finding {
  return { kind: 'unknown', reason };
}
