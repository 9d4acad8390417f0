/**
 * Reads the content of DATA, watching for what must not come through.
 *
 * Promises that a message counts only when its stream has ended: a client that goes away rejects. Bytes
 * kept are bounded, per message and over all sessions; whatever is beyond is read and let go, so that the
 * client gets its reply. A CR or LF alone is noticed wherever it stands, also between two chunks.
 */
import type { SMTPServerDataStream } from 'smtp-server';
import type { ByteBudget } from './limits.ts';

export interface ReadMessage {
  /** The first `maxBytes` bytes. */
  bytes: Buffer;
  /** All that came. */
  totalBytes: number;
  /** A CR or LF that stands alone (RFC 5321 section 2.3.8). */
  hasBareLineEnd: boolean;
  /** The budget had no room: `bytes` is empty. */
  isCrowdedOut: boolean;
  /** Gives the bytes back to the budget; call it when the message is done with. */
  release(): void;
}

const CR = 0x0d;
const LF = 0x0a;

/** Rejects when the client goes away before the end; the budget is then given back. */
export function readMessage(
  stream: SMTPServerDataStream,
  maxBytes: number,
  budget: ByteBudget,
): Promise<ReadMessage> {
  const chunks: Buffer[] = [];
  let keptBytes = 0;
  let totalBytes = 0;
  let isCrowdedOut = false;
  const ends = new LineEnds();
  const release = (): void => {
    budget.giveBack(keptBytes);
    keptBytes = 0;
  };
  const keep = (chunk: Buffer): void => {
    const bytes = Math.min(chunk.length, maxBytes - keptBytes);
    if (isCrowdedOut || bytes <= 0) return;
    if (budget.take(bytes)) {
      keptBytes += bytes;
      chunks.push(bytes === chunk.length ? chunk : chunk.subarray(0, bytes));
    } else {
      isCrowdedOut = true;
      chunks.length = 0;
      release();
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
      resolve({ bytes, totalBytes, hasBareLineEnd: ends.isBare(), isCrowdedOut, release });
    });
    // smtp-server destroys the stream of a client that has gone: 'error' then, never 'end'.
    stream.once('error', (error) => {
      chunks.length = 0;
      release();
      reject(error);
    });
  });
}

/** Finds line ends that are not CRLF in a stream of chunks. */
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
