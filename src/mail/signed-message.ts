/**
 * A message as it leaves: composed, and its signature in front.
 *
 * Promises signed bytes or a throw. The one place where both come together, for the main thread and for
 * the signing thread alike.
 */
import { compose } from './compose.ts';
import type { ComposeInput } from './compose.ts';
import type { DkimSigner } from './dkim.ts';

/** Parts to compose, or a whole message that is CRLF-clean already. */
export type Content = { kind: 'parts'; input: ComposeInput } | { kind: 'whole'; bytes: Uint8Array };

/** A message that can not be written, now or later: its own content is at fault. */
export class UncomposableError extends Error {
  override name = 'UncomposableError';
}

/**
 * The whole message, DKIM-Signature first. Throws `UncomposableError` when it can not be composed, another
 * error when it can not be signed.
 */
export async function writeSigned(content: Content, signer: DkimSigner): Promise<Buffer> {
  const bytes =
    content.kind === 'parts'
      ? await composeOrSay(content.input)
      : Buffer.from(content.bytes.buffer, content.bytes.byteOffset, content.bytes.byteLength);
  const signature = await signer.sign(bytes);
  return Buffer.concat([Buffer.from(signature, 'latin1'), bytes]);
}

async function composeOrSay(input: ComposeInput): Promise<Buffer> {
  try {
    return await compose(input);
  } catch (error) {
    // Same input, same error, but for want of memory, which JavaScript calls a RangeError.
    if (!(error instanceof Error) || error instanceof RangeError) throw error;
    throw new UncomposableError(error.message, { cause: error });
  }
}
