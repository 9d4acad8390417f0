/**
 * Reads the message content after DATA and checks its line ends.
 *
 * Promises that only a complete message resolves: a client that disconnects rejects. The bytes kept are limited, per
 * message and over all sessions; bytes beyond are read and dropped, so that the client still gets its reply. A bare CR
 * or LF is found anywhere, also at the border of two chunks.
 */
import type { SMTPServerDataStream } from 'smtp-server';
import type { ByteBudget, Share } from '../flow/byte-budget.ts';
import { SmtpRefusal } from './reply.ts';

export interface ReadMessage {
  /** The first `maxBytes` bytes. */
  bytes: Buffer;
  /** Bytes received, kept or not. */
  totalBytes: number;
  /** Whether the content has a bare CR or LF (RFC 5321 section 2.3.8). */
  hasBareLineEnd: boolean;
  /** The budget of all sessions was used up: `bytes` is empty. */
  isOverBudget: boolean;
}

const CR = 0x0d;
const LF = 0x0a;

/** Reads to the end; `share` takes what is kept. Rejects when the client disconnects before: release the share. */
export function readMessage(
  stream: SMTPServerDataStream,
  maxBytes: number,
  share: Share,
): Promise<ReadMessage> {
  const chunks: Buffer[] = [];
  let keptBytes = 0;
  let totalBytes = 0;
  let isOverBudget = false;
  const ends = new LineEnds();
  const keep = (chunk: Buffer): void => {
    const bytes = Math.min(chunk.length, maxBytes - keptBytes);
    if (isOverBudget || bytes <= 0) return;
    if (share.grow(bytes)) {
      keptBytes += bytes;
      chunks.push(bytes === chunk.length ? chunk : chunk.subarray(0, bytes));
    } else {
      isOverBudget = true;
      chunks.length = 0;
      keptBytes = 0;
      share.release();
    }
  };
  return new Promise((resolve, reject) => {
    stream.on('data', (chunk: Buffer) => {
      totalBytes += chunk.length;
      ends.push(chunk);
      keep(chunk);
    });
    stream.once('end', () => {
      const bytes = Buffer.concat(chunks);
      chunks.length = 0;
      resolve({ bytes, totalBytes, hasBareLineEnd: ends.isBare(), isOverBudget });
    });
    // smtp-server destroys the stream of a client that disconnects: 'error', never 'end'.
    stream.once('error', (error) => {
      chunks.length = 0;
      reject(error);
    });
  });
}

/** Throws `SmtpRefusal` for a message that is larger than `maxBytes` or did not fit the budget. */
export function checkSize(
  { totalBytes, isOverBudget }: Pick<ReadMessage, 'totalBytes' | 'isOverBudget'>,
  maxBytes: number,
): void {
  if (totalBytes > maxBytes) {
    const text = `The message has ${totalBytes} bytes. The limit is ${maxBytes} bytes.`;
    throw new SmtpRefusal(552, '5.3.4', text);
  }
  if (isOverBudget) throw tooBusy();
}

/** Throws `SmtpRefusal` when `owner` could not take `bytes` now: before the client has sent them. */
export function checkFree(budget: Pick<ByteBudget, 'isFree'>, bytes: number, owner: string): void {
  if (!budget.isFree(bytes, owner)) throw tooBusy();
}

function tooBusy(): SmtpRefusal {
  const text = 'The server is receiving too much mail right now. Try again later.';
  return new SmtpRefusal(452, '4.3.1', text);
}

/** Finds line ends other than CRLF in a stream of chunks. */
class LineEnds {
  #isBare = false;
  #last = LF;
  #isFirst = true;

  push(chunk: Buffer): void {
    if (this.#isBare || chunk.length === 0) return;
    if (!this.#isFirst && this.#last === CR && chunk[0] !== LF) this.#isBare = true;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, at + 1)) {
      const before = at > 0 ? chunk[at - 1] : this.#isFirst ? undefined : this.#last;
      if (before !== CR) this.#isBare = true;
      if (this.#isBare) return;
    }
    for (let at = chunk.indexOf(CR); at !== -1; at = chunk.indexOf(CR, at + 1)) {
      if (at + 1 < chunk.length && chunk[at + 1] !== LF) this.#isBare = true;
      if (this.#isBare) return;
    }
    this.#last = chunk[chunk.length - 1] ?? LF;
    this.#isFirst = false;
  }

  /** At the end of the stream, when a CR can no longer be followed by its LF. */
  isBare(): boolean {
    return this.#isBare || (!this.#isFirst && this.#last === CR);
  }
}
