/**
 * A message as it leaves: composed, with its signature in front.
 *
 * Promises signed bytes or a throw. The one function where both come together, for the main thread and for
 * the signing thread alike.
 */
import { composeAny } from '../compose/compose.ts';
import type { ComposeInput } from '../compose/compose.ts';
import { writeSubmitted } from '../compose/submitted.ts';
import type { SubmittedMessage } from '../compose/submitted.ts';
import type { DkimSigner } from './dkim.ts';

/**
 * Parts to compose, or a whole message that was submitted. `isTextWanted`: the html is without a text part, and
 * one is to be made of it; only the signing thread does that.
 */
export type Content =
  | { kind: 'parts'; input: ComposeInput; isTextWanted?: boolean }
  | ({ kind: 'whole' } & SubmittedMessage);

export interface Signed {
  /** Header and body, DKIM-Signature first. */
  message: Buffer;
  /**
   * What DATA transfers of it, the final dot included, in the same memory: for messages that are ASCII and of
   * which nothing has to be changed on the way (RFC 5321 section 4.5.2). Else null.
   */
  data: Buffer | null;
}

/** A message that can never be written: its own content is at fault. */
export class UncomposableError extends Error {
  override name = 'UncomposableError';
}

/** After the last line of a message. */
const FINAL_DOT = '.\r\n';

/**
 * The whole message, signed. Throws `UncomposableError` when it cannot be composed, another error when it
 * cannot be signed.
 */
export async function writeSigned(content: Content, signer: DkimSigner): Promise<Signed> {
  const message = await write(content).catch(say);
  const signature = await signer.sign(message);
  return typeof message === 'string'
    ? takeSigned(join(signature, message), true)
    : takeSigned(Buffer.concat([Buffer.from(signature, 'latin1'), message]), false);
}

async function write(content: Content): Promise<string | Buffer> {
  return content.kind === 'parts' ? composeAny(content.input) : writeSubmitted(content);
}

/** `bytes` end with the final dot when they are data. */
export function takeSigned(bytes: Buffer, isData: boolean): Signed {
  return isData
    ? { message: bytes.subarray(0, bytes.length - FINAL_DOT.length), data: bytes }
    : { message: bytes, data: null };
}

/** In memory of its own, so that it can be transferred to another thread. */
function join(signature: string, text: string): Buffer {
  const data = Buffer.allocUnsafeSlow(signature.length + text.length + FINAL_DOT.length);
  data.write(signature, 0, 'latin1');
  data.write(text, signature.length, 'latin1');
  data.write(FINAL_DOT, signature.length + text.length, 'latin1');
  return data;
}

/** The same input gives the same error, except when memory ran out, which JavaScript reports as a RangeError. */
function say(error: unknown): never {
  if (!(error instanceof Error) || error instanceof RangeError) throw error;
  throw new UncomposableError(error.message, { cause: error });
}
