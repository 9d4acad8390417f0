/**
 * Reads the message content after DATA and checks its line ends.
 *
 * Promises that only a complete message resolves: a client that disconnects rejects. The bytes kept are limited, per
 * message and over all sessions; bytes beyond are read and dropped, so that the client still gets its reply. A bare CR
 * or LF is found anywhere, also at the border of two chunks. A large message has the memory that its bytes need: each
 * chunk it came in is released when it is copied or dropped.
 */
import type { SMTPServerDataStream } from 'smtp-server';
import { KeptBytes } from '../base/kept-bytes.ts';
import type { ByteBudget, Share } from '../flow/byte-budget.ts';
import { releaseChunk } from './release-chunks.ts';
import { SmtpRefusal } from './reply.ts';

export interface ReadMessage {
  /** The first `maxBytes` bytes, in parts; a small message is one. Those of a large one have a memory of their own. */
  parts: Buffer[];
  /** Bytes received, kept or not. */
  totalBytes: number;
  /** Whether the content has a bare CR or LF (RFC 5321 section 2.3.8). */
  hasBareLineEnd: boolean;
  /** The budget of all sessions was used up: `parts` have no bytes. */
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
  const kept = new KeptBytes();
  let totalBytes = 0;
  let isOverBudget = false;
  let previous: Buffer | null = null;
  const ends = new LineEnds();
  /** smtp-server has copied what it needs of a chunk when the next one is there; of one it may give out several parts. */
  const releaseBefore = (chunk: Buffer): void => {
    const isNext = previous !== null && previous.buffer !== chunk.buffer;
    if (previous !== null && isNext && !kept.hasChunks) releaseChunk(previous);
    previous = chunk;
  };
  const keep = (chunk: Buffer): void => {
    const bytes = Math.min(chunk.length, maxBytes - kept.length);
    if (isOverBudget || bytes <= 0) return;
    if (share.grow(bytes)) {
      kept.push(bytes === chunk.length ? chunk : chunk.subarray(0, bytes));
    } else {
      isOverBudget = true;
      kept.drop();
      share.release();
    }
  };
  return new Promise((resolve, reject) => {
    stream.on('data', (chunk: Buffer) => {
      totalBytes += chunk.length;
      ends.push(chunk);
      keep(chunk);
      releaseBefore(chunk);
    });
    stream.once('end', () => {
      const parts = kept.take();
      resolve({ parts, totalBytes, hasBareLineEnd: ends.isBare(), isOverBudget });
    });
    // smtp-server destroys the stream of a client that disconnects: 'error', never 'end'.
    stream.once('error', (error) => {
      kept.drop();
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

/**
 * Finds line ends other than CRLF in a stream of chunks. Looks at each byte: a search for the next line end is called
 * for every line, and a message of empty lines then takes twenty times as long.
 */
class LineEnds {
  #isBare = false;
  #wasCr = false;

  push(chunk: Buffer): void {
    if (this.#isBare) return;
    let wasCr = this.#wasCr;
    // By its index: an iterator takes twenty times as long too.
    for (let at = 0; at < chunk.length; at += 1) {
      // A CR and no LF behind it, or an LF and no CR before it.
      if (wasCr !== (chunk[at] === LF)) {
        this.#isBare = true;
        return;
      }
      wasCr = chunk[at] === CR;
    }
    this.#wasCr = wasCr;
  }

  /** At the end of the stream, when a CR can no longer be followed by its LF. */
  isBare(): boolean {
    return this.#isBare || this.#wasCr;
  }
}
