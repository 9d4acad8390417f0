/**
 * What DNS says about one record of a domain.
 *
 * Data only. `missing` is certain and counts against the domain; `unknown` means that DNS could not be asked, and never
 * does.
 */
export type Finding =
  | { kind: 'found' }
  | { kind: 'missing'; reason: string }
  | { kind: 'unknown'; reason: string };

/** `reason`: a clause for the domain's owner. */
export function missing(reason: string): Finding {
  return { kind: 'missing', reason };
}

/** `reason`: why DNS could not be asked. */
export function unknown(reason: string): Finding {
  return { kind: 'unknown', reason };
}
