/**
 * What is done with a message as a whole, as plain data: a task goes in, its result comes out, on any thread.
 *
 * A new kind of task is a new member of `Tasks` and a function in `WAYS`.
 */
import { repairSubmission } from '../compose/repair.ts';
import type { Submission, SubmissionDefaults } from '../compose/repair.ts';
import { readContent } from './stored-content.ts';
import type { StoredContent } from './stored-content.ts';

export interface Tasks {
  /** A submitted message is read and made fit to be signed. */
  repair: {
    input: { parts: readonly Uint8Array[]; defaults: SubmissionDefaults };
    output: Submission | { error: string };
  };
  /** A stored message is read in its parts. */
  read: { input: { bytes: Uint8Array }; output: StoredContent };
}

export type Kind = keyof Tasks;

/** Posted to the thread. `ticket` names the task in its result. */
export interface Posted {
  ticket: number;
  kind: Kind;
  input: Tasks[Kind]['input'];
}

/** Posted back: what came out, or the text of what was thrown. */
export type Outcome =
  | { ticket: number; output: Tasks[Kind]['output'] }
  | { ticket: number; error: string };

const WAYS: { [K in Kind]: (input: Tasks[K]['input']) => Tasks[K]['output'] } = {
  repair: ({ parts, defaults }) => repairSubmission(whole(parts), defaults),
  read: ({ bytes }) => readContent(bytes),
};

function whole(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

/** Does the task, here and now. */
export function perform<K extends Kind>(kind: K, input: Tasks[K]['input']): Tasks[K]['output'] {
  return WAYS[kind](input);
}
