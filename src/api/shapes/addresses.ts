/**
 * Addresses as callers write them: `a@b`, `Name <a@b>`, `{email, name}`, or a list of those.
 *
 * `mail/header/address.ts` has the grammar; here it is applied to JSON. Faults carry the path in the list (`to[1]`).
 */
import { Type, type Static } from '@sinclair/typebox';
import {
  addressOf,
  makeAddress,
  parseAddress,
  type AddressError,
  type Mailbox,
} from '../../mail/header/address.ts';
import { hasFault, MAX_ISSUES, must, withoutNulls, type Fault } from './check.ts';
import { readEncodedWords } from './encoded-words.ts';

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

/** An address or a list without the nulls of `{email, name: null}`, as the schema requires. */
export function tidyAddresses(value: unknown): unknown {
  return Array.isArray(value) ? value.map(withoutNulls) : withoutNulls(value);
}

type AddressValue = Static<typeof Address>;

/** The mailbox of one address; adds a fault and returns null when it is not valid. */
export function readAddress(value: AddressValue, path: string, faults: Fault[]): Mailbox | null {
  const parsed =
    typeof value === 'string'
      ? readName(parseAddress(value))
      : makeAddress(value.email, value.name);
  if (!('error' in parsed)) return parsed;
  faults.push({ path, message: `${path} ${parsed.error}.`, isMissing: false });
  return null;
}

/** The mailbox with the encoded words of its name read. The address was read before, so that none can bring one in. */
function readName(mailbox: Mailbox | AddressError): Mailbox | AddressError {
  if ('error' in mailbox || !mailbox.name.includes('=?')) return mailbox;
  return makeAddress(addressOf(mailbox), readEncodedWords(mailbox.name));
}

/**
 * The mailboxes of an address or a list; absent is an empty list. Skips items that the shape refused, and what follows
 * once there are `most` faults.
 */
export function readAddresses(
  value: Static<typeof AddressList> | undefined,
  path: string,
  faults: Fault[],
  most = MAX_ISSUES,
): Mailbox[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    const mailbox = readAddress(value, path, faults);
    return mailbox === null ? [] : [mailbox];
  }
  const mailboxes: Mailbox[] = [];
  for (const [at, item] of value.entries()) {
    if (faults.length >= most) break;
    const itemPath = `${path}[${at}]`;
    const mailbox = hasFault(faults, itemPath) ? null : readAddress(item, itemPath, faults);
    if (mailbox !== null) mailboxes.push(mailbox);
  }
  return mailboxes;
}
