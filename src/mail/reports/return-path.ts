/**
 * Return paths that carry their recipient: `b-<id>-<mac>`, so that a bounce report finds its message.
 *
 * Promises that a local part which was not made with our key does not decode: the tag is an HMAC of the
 * recipient's id, compared in constant time. Case does not matter, since some systems change it.
 */
import { timingSafeEqual } from 'node:crypto';
import { isId } from '../../base/ids.ts';

/** HMAC of a text under a key of ours, at least 8 bytes. */
export type Mac = (text: string) => Buffer;

/** Bytes of the HMAC in the address: 64 bits, so that the local part stays below 64 octets. */
const TAG_BYTES = 8;
/** Length of each local part: `b-`, the id in hexadecimal, `-`, the tag. */
export const RETURN_PATH_OCTETS = 2 + 32 + 1 + 2 * TAG_BYTES;
const RETURN_PATH = /^b-([0-9a-f]{32})-([0-9a-f]{16})$/;

/** The local part of the return path for one recipient. `recipientId` is an id of ours. */
export function encodeReturnPath(recipientId: string, mac: Mac): string {
  const hex = recipientId.replaceAll('-', '');
  return `b-${hex}-${tagOf(hex, mac).toString('hex')}`;
}

/** The recipient's id in a local part that `encodeReturnPath` made with the same key; else null. */
export function decodeReturnPath(local: string, mac: Mac): string | null {
  const match = RETURN_PATH.exec(local.toLowerCase());
  const hex = match?.[1];
  const tag = match?.[2];
  if (hex === undefined || tag === undefined) return null;
  if (!timingSafeEqual(Buffer.from(tag, 'hex'), tagOf(hex, mac))) return null;
  const id = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
  return isId(id) ? id : null;
}

function tagOf(hex: string, mac: Mac): Buffer {
  return mac(hex).subarray(0, TAG_BYTES);
}
