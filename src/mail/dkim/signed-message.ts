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
  /**
   * The message and the final dot in the same memory, where it ends with a line end and is not known to be such. It is what
   * DATA transfers if no line begins with a dot. Else null.
   */
  dotted: Buffer | null;
}

/** What the bytes of a signed message are: see the fields of `Signed`. */
export type SignedForm = 'data' | 'dotted' | 'message';

/** A message that can never be written: its own content is at fault. */
export class UncomposableError extends Error {
  override name = 'UncomposableError';
}

/** After the last line of a message. */
const FINAL_DOT = '.\r\n';
const LINE_END = Buffer.from('\r\n');

/**
 * The whole message, signed. Throws `UncomposableError` when it cannot be composed, another error when it
 * cannot be signed.
 */
export async function writeSigned(content: Content, signer: DkimSigner): Promise<Signed> {
  const message = await write(content).catch(say);
  const signature = await signer.sign(message);
  if (typeof message === 'string') return takeSigned(join(signature, message, FINAL_DOT), 'data');
  return message.subarray(-LINE_END.length).equals(LINE_END)
    ? takeSigned(join(signature, message, FINAL_DOT), 'dotted')
    : takeSigned(join(signature, message, ''), 'message');
}

async function write(content: Content): Promise<string | Buffer> {
  return content.kind === 'parts' ? composeAny(content.input) : writeSubmitted(content);
}

/** `bytes` end with the final dot unless they are the message alone. */
export function takeSigned(bytes: Buffer, form: SignedForm): Signed {
  if (form === 'message') return { message: bytes, data: null, dotted: null };
  const message = bytes.subarray(0, bytes.length - FINAL_DOT.length);
  return form === 'data'
    ? { message, data: bytes, dotted: null }
    : { message, data: null, dotted: bytes };
}

/** In memory of its own, so that it can be transferred to another thread. */
function join(signature: string, message: Buffer | string, tail: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(signature.length + message.length + tail.length);
  bytes.write(signature, 0, 'latin1');
  if (typeof message === 'string') bytes.write(message, signature.length, 'latin1');
  else message.copy(bytes, signature.length);
  bytes.write(tail, signature.length + message.length, 'latin1');
  return bytes;
}

/** The same input gives the same error, except when memory ran out, which JavaScript reports as a RangeError. */
function say(error: unknown): never {
  if (!(error instanceof Error) || error instanceof RangeError) throw error;
  throw new UncomposableError(error.message, { cause: error });
}
