/**
 * What is done with a message as a whole, as plain data: a task goes in, its result comes out, on any thread.
 *
 * A new kind of task is a new member of `Tasks` and a function in `WAYS`.
 */
import { createHash } from 'node:crypto';
import { asBuffer } from '../../base/as-buffer.ts';
import { ApiError } from '../../base/errors.ts';
import type { Issue } from '../../base/errors.ts';
import { decodeText, parseJson } from '../../base/json.ts';
import { giveBack } from '../../base/kept-bytes.ts';
import { compose, withTextPart } from '../compose/compose.ts';
import type { ComposeInput } from '../compose/compose.ts';
import { makeFileBytes } from '../compose/file-content.ts';
import { repairSubmission } from '../compose/repair.ts';
import type { Submission, SubmissionDefaults } from '../compose/repair.ts';
import { withInlineImages } from '../mime/message-parts.ts';
import type { PartAttachment } from '../mime/message-parts.ts';
import { readContent } from './stored-content.ts';
import type { StoredAttachment, StoredContent } from './stored-content.ts';

export interface Tasks {
  /** A submitted message is read and made fit to be signed. */
  repair: {
    input: { parts: readonly Uint8Array[]; defaults: SubmissionDefaults };
    output: Submission | { error: string };
  };
  /** A stored message is read in its parts. */
  read: { input: { bytes: Uint8Array }; output: StoredContent };
  /** The JSON of a request with emails is read. */
  parse: { input: { parts: readonly Uint8Array[] }; output: ParsedBody | FaultyBody };
  /** Bytes in UTF-8 become text. */
  decode: { input: { bytes: Uint8Array }; output: { text: string } };
  /** A message is written for somebody who wants to see its source. */
  compose: { input: ComposeTask; output: { bytes: Uint8Array } | { fault: string } };
  /** Images are put into the html that names them. */
  inline: {
    input: { html: string; images: readonly ImageFile[] };
    output: { html: string };
  };
}

/** A file that html may name. */
export type ImageFile = Pick<StoredAttachment, 'contentType' | 'contentId'> & {
  content: Uint8Array;
};

/** `isTextWanted`: a text part is made of the html. */
export interface ComposeTask {
  message: ComposeInput;
  isTextWanted: boolean;
}

/** `value`: what the JSON says, with bytes for each file. `hash`: SHA-256 of the body as it came, in hexadecimal. */
export interface ParsedBody {
  value: unknown;
  hash: string;
}

/** Why a body was refused: an `ApiError` does not cross threads. */
export interface FaultyBody {
  status: number;
  issues: Issue[];
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

type Way<K extends Kind> = (
  input: Tasks[K]['input'],
) => Tasks[K]['output'] | Promise<Tasks[K]['output']>;

const WAYS: { [K in Kind]: Way<K> } = {
  repair: ({ parts, defaults }) => repairSubmission(whole(parts), defaults),
  read: ({ bytes }) => readContent(bytes),
  parse: ({ parts }) => parseBody(whole(parts)),
  decode: ({ bytes }) => ({ text: asBuffer(bytes).toString() }),
  compose: writeMessage,
  inline: ({ html, images }) => ({ html: withInlineImages(html, images.map(asPart)) }),
};

function asPart({ contentType, contentId, content }: ImageFile): Omit<PartAttachment, 'filename'> {
  return {
    contentType,
    contentId,
    byteLength: content.length,
    content: () => asBuffer(content),
  };
}

async function writeMessage(task: ComposeTask): Promise<Tasks['compose']['output']> {
  try {
    const message = task.isTextWanted ? await withTextPart(task.message) : task.message;
    return { bytes: await compose(message) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

async function parseBody(bytes: Uint8Array): Promise<ParsedBody | FaultyBody> {
  try {
    const hash = createHash('sha256').update(bytes).digest('hex');
    const text = decodeText(bytes);
    // Text and value need as much again.
    giveBack(bytes);
    const value = await parseJson(text);
    makeFileBytes(value);
    return { value, hash };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { status: error.status, issues: error.detail?.issues ?? [] };
  }
}

/** The bytes of all parts, of which those with a memory of their own give it back when there are several. */
function whole(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const bytes = Buffer.concat(parts);
  for (const part of parts) giveBack(part);
  return bytes;
}

/** Does the task, here and now. */
export async function perform<K extends Kind>(
  kind: K,
  input: Tasks[K]['input'],
): Promise<Tasks[K]['output']> {
  return WAYS[kind](input);
}
