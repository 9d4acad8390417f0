/**
 * Signatures of webhook calls: Standard Webhooks headers, the same values as `svix-*`, and the two older ones.
 *
 * Promises headers that the reference libraries verify against the raw body. Never logs or returns a
 * secret in an error. A malformed secret is a fault of ours and throws.
 */
import { createHmac, randomBytes } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
/** Standard Webhooks asks for 24 to 64 random bytes. */
const SECRET_BYTES = 32;

/** A new signing secret: `whsec_` and padded standard base64 of 32 random bytes. */
export function newSigningSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

export interface CallToSign {
  /** The event's id: the same on every attempt. */
  id: string;
  /** When this attempt is made, epoch milliseconds; sent in whole seconds. */
  now: number;
  /** The exact text that is posted. */
  body: string;
  /** `whsec_…`; the newest first. A rotation that is fresh gives two. */
  secrets: readonly [string, ...string[]];
}

/**
 * All signature headers of one attempt. `webhook-signature` is a space-separated list of
 * `v1,<base64 HMAC-SHA256 of {id}.{timestamp}.{body}>`, one for each secret.
 * `service-signature` is the hex HMAC-SHA256 of `{timestamp}.{body}` keyed with the whole text of the oldest secret: it
 * has one value, and a receiver that was not told yet of a rotation must go on (docs/decisions.md D64).
 */
export function signatureHeaders(call: CallToSign): Record<string, string> {
  const timestamp = String(Math.floor(call.now / 1000));
  const signed = `${call.id}.${timestamp}.${call.body}`;
  const signatures = call.secrets
    .map((secret) => `v1,${hmac(keyOf(secret), signed).digest('base64')}`)
    .join(' ');
  const oldest = call.secrets.at(-1) ?? call.secrets[0];
  return {
    'webhook-id': call.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures,
    'svix-id': call.id,
    'svix-timestamp': timestamp,
    'svix-signature': signatures,
    'service-timestamp': timestamp,
    'service-signature': hmac(oldest, `${timestamp}.${call.body}`).digest('hex'),
  };
}

function keyOf(secret: string): Buffer {
  if (!secret.startsWith(SECRET_PREFIX)) throw new Error('signing secret has an unknown form');
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
}

function hmac(key: string | Buffer, text: string): ReturnType<typeof createHmac> {
  return createHmac('sha256', key).update(text, 'utf8');
}
