/**
 * Addresses as callers write them: `a@b`, `Name <a@b>`, `{email, name}`, or a list of those.
 *
 * The grammar itself is `mail/address.ts`; here it meets JSON. Faults carry the place in the list (`to[1]`).
 */
import { Type, type Static } from '@sinclair/typebox';
import { makeAddress, parseAddress, type Mailbox } from '../../mail/address.ts';
import { hasFault, MAX_ISSUES, must, withoutNulls, type Fault } from './check.ts';

export const Address = must(
  Type.Union([
    Type.String({ examples: ['Ann Lee <ann@example.com>'] }),
    Type.Object(
      { email: Type.String(), name: Type.Optional(Type.String()) },
      { additionalProperties: false },
    ),
  ]),
  'must be an address: "a@example.com", "Name <a@example.com>" or {email, name}',
);

export const AddressList = must(
  Type.Union([
    Type.String({ examples: ['ann@example.com'] }),
    Type.Object(
      { email: Type.String(), name: Type.Optional(Type.String()) },
      { additionalProperties: false },
    ),
    Type.Array(Address),
  ]),
  'must be an address or a list of addresses',
);

/** An address or a list without the nulls of `{email, name: null}`, as the schema wants it. */
export function tidyAddresses(value: unknown): unknown {
  return Array.isArray(value) ? value.map(withoutNulls) : withoutNulls(value);
}

type AddressValue = Static<typeof Address>;

/** The mailbox of one address; a fault is added and null returned when it is none. */
export function readAddress(value: AddressValue, path: string, faults: Fault[]): Mailbox | null {
  const parsed =
    typeof value === 'string' ? parseAddress(value) : makeAddress(value.email, value.name);
  if (!('error' in parsed)) return parsed;
  faults.push({ path, message: `${path} ${parsed.error}.`, isMissing: false });
  return null;
}

/** The mailboxes of an address or a list; absent is an empty list. Items the shape refused are left out. */
export function readAddresses(
  value: Static<typeof AddressList> | undefined,
  path: string,
  faults: Fault[],
): Mailbox[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    const mailbox = readAddress(value, path, faults);
    return mailbox === null ? [] : [mailbox];
  }
  const mailboxes: Mailbox[] = [];
  for (const [at, item] of value.entries()) {
    if (faults.length >= MAX_ISSUES) break;
    const place = `${path}[${at}]`;
    const mailbox = hasFault(faults, place) ? null : readAddress(item, place, faults);
    if (mailbox !== null) mailboxes.push(mailbox);
  }
  return mailboxes;
}
