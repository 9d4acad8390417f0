/**
 * Bytes that come in chunks and are kept until all are there, in memory that does not move.
 *
 * Promises that many bytes need at most twice their memory, however small the chunks, and that each is copied once, with
 * its chunk: what grows would be copied whole, which stops a thread for a tenth of a second where fresh memory is dear.
 * Never fails.
 */

/** Bytes. Up to here the chunks are kept as they came. */
const SMALL_BYTES = 64 * 1024;
/**
 * Each block is as large as those before it together, up to `BLOCK_BYTES`: a budget counts what came, and memory is at
 * most twice as much.
 */
const FIRST_BLOCK_BYTES = 128 * 1024;
const BLOCK_BYTES = 1024 * 1024;

type Block = Uint8Array<ArrayBuffer>;

/** Chunks while they are few bytes, then blocks, into which each chunk is copied. */
export class KeptBytes {
  #chunks: Buffer[] = [];
  #full: Block[] = [];
  #fullBytes = 0;
  #block: Block | null = null;
  /** Bytes of the last block that are in use. */
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Whether it still holds chunks as they came. */
  get hasChunks(): boolean {
    return this.#chunks.length > 0;
  }

  push(chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length <= SMALL_BYTES) {
      this.#chunks.push(chunk);
      return;
    }
    for (const before of this.#chunks) this.#copy(before);
    this.#chunks = [];
    this.#copy(chunk);
  }

  /** All bytes, in parts with a memory of their own when they are many. Nothing is kept. */
  take(): Buffer[] {
    const buffers = this.#full.map(({ buffer }) => buffer);
    if (this.#block !== null) buffers.push(this.#block.buffer.transfer(this.#used));
    const parts =
      buffers.length === 0
        ? [Buffer.concat(this.#chunks)]
        : buffers.map((buffer) => Buffer.from(buffer));
    this.#forget();
    return parts;
  }

  /** Gives the memory back now, not with the next collection. */
  drop(): void {
    for (const { buffer } of this.#full) buffer.transfer(0);
    this.#block?.buffer.transfer(0);
    this.#forget();
  }

  #forget(): void {
    this.#chunks = [];
    this.#full = [];
    this.#fullBytes = 0;
    this.#block = null;
    this.#used = 0;
    this.#length = 0;
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#block === null) {
        const asBefore = Math.max(FIRST_BLOCK_BYTES, this.#fullBytes);
        this.#block = new Uint8Array(Math.min(asBefore, BLOCK_BYTES));
        this.#used = 0;
      }
      const part = chunk.subarray(at, at + this.#block.length - this.#used);
      this.#block.set(part, this.#used);
      this.#used += part.length;
      at += part.length;
      if (this.#used < this.#block.length) continue;
      this.#full.push(this.#block);
      this.#fullBytes += this.#block.length;
      this.#block = null;
    }
  }
}

/**
 * Gives the memory of `bytes` back now, where they have it for themselves, and empties them: the collector lets such
 * memory grow to some hundred megabytes while the process is busy (docs/decisions.md D441).
 */
export function giveBack(bytes: Uint8Array): void {
  ownMemory(bytes)?.transfer(0);
}

/** The memory of bytes that have it for themselves; null where it is a part of another or shared between threads. */
export function ownMemory({ buffer, byteLength }: Uint8Array): ArrayBuffer | null {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : null;
}
