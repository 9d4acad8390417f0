/**
 * The signing thread: composes and signs messages for the main thread when there are many.
 *
 * Promises an answer to every request: bytes, or why there are none. Holds the signers it was given until
 * it is told to forget them. Opens no file and no connection.
 */
import { Unpacker } from '../base/packing.ts';
import type { Packed } from '../base/packing.ts';
import { DkimSigner } from './dkim.ts';
import type { DkimIdentity } from './dkim.ts';
import { UncomposableError, writeSigned } from './signed-message.ts';
import type { Content } from './signed-message.ts';

export interface SignRequest {
  ticket: number;
  signerId: number;
  /** Set when this thread does not hold the signer yet. */
  identity: DkimIdentity | null;
  content: Content;
}

export type ToSigner = { kind: 'sign'; requests: SignRequest[] } | { kind: 'forget' };

export type Answer =
  /** `isData`: the final dot included (see `takeSigned`). */
  | { ticket: number; bytes: Uint8Array<ArrayBuffer>; isData: boolean }
  /** The message can not be composed or signed, here or anywhere. */
  | { ticket: number; error: string; isUncomposable: boolean };

export type FromSigner = { kind: 'started' } | { kind: 'signed'; answers: Answer[] };

declare const self: Worker;

/** Answers that go together: crossing threads has its price, and so has waiting. */
const ANSWERS_TOGETHER = 4;

const signers = new Map<number, DkimSigner>();

function signerOf({ signerId, identity }: SignRequest): DkimSigner {
  const known = signers.get(signerId);
  if (known !== undefined) return known;
  if (identity === null) throw new Error('the signing thread does not have the key');
  const signer = new DkimSigner(identity, true);
  signers.set(signerId, signer);
  return signer;
}

function isAlone(bytes: Buffer): bytes is Buffer<ArrayBuffer> {
  return bytes.buffer.byteLength === bytes.length;
}

async function answer(request: SignRequest): Promise<Answer> {
  const { ticket, content } = request;
  try {
    const { message, data } = await writeSigned(content, signerOf(request));
    const bytes = data ?? message;
    // A copy where the Buffer is a view of a larger one, which would cross whole and be missed here.
    return {
      ticket,
      bytes: isAlone(bytes) ? bytes : new Uint8Array(bytes),
      isData: data !== null,
    };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { ticket, error: said, isUncomposable: error instanceof UncomposableError };
  }
}

/** Bytes are handed over, not copied. */
function post(message: FromSigner): void {
  const handedOver: ArrayBuffer[] = [];
  for (const one of message.kind === 'signed' ? message.answers : []) {
    if ('bytes' in one) handedOver.push(one.bytes.buffer);
  }
  self.postMessage(message, handedOver);
}

async function answerAll(requests: readonly SignRequest[]): Promise<void> {
  let answers: Answer[] = [];
  for (const request of requests) {
    answers.push(await answer(request));
    if (answers.length < ANSWERS_TOGETHER) continue;
    post({ kind: 'signed', answers });
    answers = [];
  }
  if (answers.length > 0) post({ kind: 'signed', answers });
}

/** One after the other, so that keys are never forgotten under a request that came before. */
let turn: Promise<void> = Promise.resolve();

const unpacker = new Unpacker();

self.addEventListener('message', ({ data: packed }: MessageEvent<Packed>) => {
  const data = unpacker.unpack(packed) as ToSigner;
  turn = turn.then(() => {
    if (data.kind === 'sign') return answerAll(data.requests);
    for (const signer of signers.values()) signer.free();
    signers.clear();
    return undefined;
  });
});

post({ kind: 'started' });
