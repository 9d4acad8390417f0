/**
 * The id of a webhook call, which follows from the ids of its event and its endpoint.
 *
 * Promises the same id whenever and wherever it is made: a store draws nothing, a commit that is run twice makes the
 * same call, and an event cannot become two calls to one endpoint. Pure.
 */
import { createHash } from 'node:crypto';

/** `tttttttt-tttt-7ccc-`: the time of a UUIDv7, its version and the counter within its millisecond. */
const ORDERED_LENGTH = 19;

/** A UUIDv7 that sorts as the event's, with a digest of both ids instead of random bits. */
export function callId(eventId: string, endpointId: string): string {
  const digest = createHash('sha256').update(eventId).update(endpointId).digest();
  // RFC 9562 section 4.1: the two top bits of octet 8 are 10.
  digest[0] = ((digest[0] ?? 0) & 0x3f) | 0x80;
  const text = digest.toString('hex', 0, 8);
  return `${eventId.slice(0, ORDERED_LENGTH)}${text.slice(0, 4)}-${text.slice(4)}`;
}
