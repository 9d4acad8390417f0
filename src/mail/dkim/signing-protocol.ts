/**
 * What the main thread and the signing thread say to each other.
 *
 * Types alone. Requests cross packed (`base/packing`); the bytes of results are handed over, not copied.
 */
import type { DkimIdentity } from './dkim.ts';
import type { Content, SignedForm } from './signed-message.ts';

export interface SignRequest {
  /** Names the request in its result. */
  ticket: number;
  signerId: number;
  /** Set when the thread does not have the signer yet. */
  identity: DkimIdentity | null;
  content: Content;
}

export type ToSigningThread = { kind: 'sign'; requests: SignRequest[] } | { kind: 'forget' };

export type SignResult =
  | { ticket: number; bytes: Uint8Array<ArrayBuffer>; form: SignedForm }
  /** The message cannot be composed or signed, by this thread or another. */
  | { ticket: number; error: string; isUncomposable: boolean };

export type FromSigningThread = { kind: 'started' } | { kind: 'signed'; results: SignResult[] };
