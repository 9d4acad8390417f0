/**
 * Commands and replies over one connection, whatever the commands mean.
 *
 * Promises that each reply is matched to its command: a reply without a command ends the dialogue, and no byte from
 * before a TLS upgrade is read after it. Keeps absolute deadlines. Every failure is a `DialogueEnd`, after which the
 * socket is destroyed; nothing is written in plaintext after a handshake that failed. Uses one timer and one
 * descriptor.
 */
import { connect, isIP } from 'node:net';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { isLocalError } from '../local-errors.ts';
import { bodyDeadlineMs } from './deadlines.ts';
import type { Deadlines, Stage } from './deadlines.ts';
import { formatReply, printable, ReplyFault, ReplyReader } from './reply.ts';
import type { Reply, ReplyLines } from './reply.ts';
import { secure } from './tls.ts';
import type { TlsOptions } from './tls.ts';

export interface DialogueOptions {
  address: string;
  port: number;
  localAddress: string | null;
  deadlines: Deadlines;
  signal: AbortSignal | undefined;
}

/** Why a dialogue is over. Stays within this folder: sessions turn it into values. */
export class DialogueEnd extends Error {
  override readonly name = 'DialogueEnd';
  readonly stage: Stage;
  readonly reply: Reply | null;
  readonly isLocal: boolean;

  constructor(stage: Stage, cause: string, reply: Reply | null = null, isLocal = false) {
    // Errors of TLS quote the certificate, which is the server's to write.
    super(printable(cause).slice(0, MAX_CAUSE));
    this.stage = stage;
    this.reply = reply && { code: reply.code, enhanced: reply.enhanced, text: reply.text };
    this.isLocal = isLocal;
  }
}

const MAX_CAUSE = 500;

/** How much of a body is handed to the socket at once. */
const BLOCK_BYTES = 65_536;
/** A body up to this leaves at once: an idle connection takes it whole. */
const SHORT_BYTES = 4_096;
/** The final dot with its line end. */
const DOT_BYTES = 3;
/** One or two come from a confused server; more are a flood. */
const MAX_STRAYS = 8;

interface Waiter {
  stage: Stage;
  resolve(reply: ReplyLines): void;
  reject(end: DialogueEnd): void;
}

export class Dialogue {
  readonly #deadlines: Deadlines;
  readonly #signal: AbortSignal | undefined;
  readonly #localAddress: string | null;
  #socket: Socket | TLSSocket;
  #reader = new ReplyReader();
  readonly #waiters: Waiter[] = [];
  #stage: Stage = 'connect';
  #ended: DialogueEnd | null = null;
  /** Replies that came while none was expected. */
  readonly #strays: ReplyLines[] = [];
  /** Called when a block has left, a stray reply has come, or the dialogue has ended. */
  #wake: (() => void) | null = null;
  #deadlineAt = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #timerAt = 0;
  /** The deadline that was once found to be over. */
  #overdue = 0;

  private constructor(socket: Socket, options: DialogueOptions) {
    this.#socket = socket;
    this.#deadlines = options.deadlines;
    this.#signal = options.signal;
    this.#localAddress = options.localAddress;
    this.#signal?.addEventListener('abort', this.#abort, { once: true });
    this.#listen(socket);
  }

  /** Connects to an IP address. Rejects with DialogueEnd. */
  static connect(options: DialogueOptions): Promise<Dialogue> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted === true) throw new DialogueEnd('connect', 'stopped', null, true);
      const socket = dial(options);
      const dialogue = new Dialogue(socket, options);
      dialogue.#wait('connect');
      dialogue.#wake = () => {
        if (dialogue.#ended === null) dialogue.#fail('connection closed');
        reject(dialogue.#ended);
      };
      socket.once('connect', () => {
        dialogue.#wake = null;
        dialogue.#rest();
        socket.setNoDelay(true);
        resolve(dialogue);
      });
    });
  }

  /** Whether a command may be sent: the connection is up, and no reply has come without a command. */
  get isOpen(): boolean {
    return this.#ended === null && this.#strays.length === 0 && !this.#reader.isMidReply;
  }

  /** Sends one line (without line end) and gives its reply. Rejects with DialogueEnd. */
  command(line: string, stage: Stage): Promise<ReplyLines> {
    this.#stage = stage;
    this.#expectSilence();
    const reply = this.reply(stage);
    if (this.#ended === null) this.#socket.write(`${line}\r\n`);
    return reply;
  }

  /**
   * Sends lines in one write (RFC 2920) and gives their replies, in order: all of them, those up to a 421, or those
   * before the end, which is then in `end`. The deadline of each starts when the one before has its reply.
   */
  commands(
    lines: readonly (readonly [line: string, stage: Stage])[],
  ): Promise<{ replies: ReplyLines[]; end: DialogueEnd | null }> {
    return new Promise((resolve) => {
      const replies: ReplyLines[] = [];
      // The first call decides; one promise for all costs much less than one for each.
      const take = (reply: ReplyLines): void => {
        replies.push(reply);
        if (replies.length === lines.length || reply.code === 421) resolve({ replies, end: null });
      };
      const stop = (end: DialogueEnd): void => resolve({ replies, end });
      this.#stage = lines[0]?.[1] ?? this.#stage;
      this.#expectSilence();
      let text = '';
      for (const [line, stage] of lines) {
        text += `${line}\r\n`;
        this.#expect({ stage, resolve: take, reject: stop });
      }
      if (this.#ended === null) this.#socket.write(text);
    });
  }

  /** The next reply: for the banner, which comes without a command. */
  reply(stage: Stage): Promise<ReplyLines> {
    return new Promise((resolve, reject) => this.#expect({ stage, resolve, reject }));
  }

  #expect(waiter: Waiter): void {
    const { stage } = waiter;
    if (this.#ended !== null) return waiter.reject(this.#endAt(stage, this.#ended));
    this.#waiters.push(waiter);
    if (this.#waiters.length > 1) return;
    // The banner may have come with the connection, before anyone asked.
    const early = stage === 'banner' ? this.#strays.shift() : undefined;
    if (early === undefined) this.#wait(stage);
    else this.#take(early);
  }

  /**
   * Sends a body that ends with the final dot. `isHandedOver` becomes true when its last byte has left
   * for the network: from then on a lost connection may mean a delivered message (RFC 1047). A reply
   * that comes before is the server's refusal (or nonsense), and is returned with `isEarly`. Where `mayHandOver` says
   * no, the dialogue ends before the dot.
   */
  async body(
    bytes: Buffer,
    progress: { isHandedOver: boolean },
    mayHandOver?: () => boolean,
  ): Promise<{ reply: ReplyLines; isEarly: boolean }> {
    this.#stage = 'body';
    this.#expectSilence();
    const overallAt = performance.now() + bodyDeadlineMs(this.#deadlines, bytes.length);
    // What the socket keeps leaves later, whatever is known by then: the dot follows when all before it has left.
    const lastBytes = mayHandOver === undefined ? BLOCK_BYTES : lastAlone(bytes);
    let at = 0;
    while (bytes.length - at > lastBytes) {
      const block = bytes.subarray(at, Math.min(at + BLOCK_BYTES, bytes.length - DOT_BYTES));
      at += block.length;
      this.#wait('body', overallAt);
      await this.#flush(block);
      if (this.#ended !== null) throw this.#endAt('body', this.#ended);
      const [early] = this.#strays;
      if (early !== undefined) return { reply: early, isEarly: true };
    }
    if (mayHandOver?.() === false)
      throw this.#fail('this server may not hand it over any more', true);
    const last = this.reply('dot');
    if (this.#ended === null) {
      this.#wait('body', overallAt);
      this.#socket.write(bytes.subarray(at), () => {
        if (this.#ended !== null) return;
        progress.isHandedOver = true;
        if (this.#waiters[0]?.stage === 'dot') this.#wait('dot');
      });
    }
    const reply = await last;
    return { reply, isEarly: false };
  }

  /** Upgrades to TLS in place. Rejects with DialogueEnd, and then nothing more is ever written. */
  async startTls(options: TlsOptions): Promise<TLSSocket> {
    if (this.#ended !== null) throw this.#ended;
    this.#stage = 'handshake';
    if (this.#strays.length > 0 || this.#reader.isMidReply) {
      // CVE-2011-0411 in the other direction: the handshake does not protect what came before it.
      throw this.#fail('the server sent plaintext where the TLS handshake was expected');
    }
    this.#wait('handshake');
    const plain = this.#socket;
    // Its errors still count; the TLS socket tells of its end, after the last bytes have been read.
    for (const event of ['data', 'end', 'close']) plain.removeAllListeners(event);
    this.#reader = new ReplyReader();
    return new Promise((resolve, reject) => {
      this.#wake = () => reject(this.#ended ?? this.#fail('connection closed'));
      const socket = secure(plain, options, (problem) => {
        if (this.#ended !== null) return;
        if (problem !== null) {
          this.#fail(problem);
          return;
        }
        this.#wake = null;
        this.#rest();
        resolve(socket);
      });
      this.#socket = socket;
      this.#listen(socket);
    });
  }

  /** Ends without QUIT. Safe to call at any time. */
  destroy(): void {
    this.#fail('closed by us', true);
  }

  #listen(socket: Socket): void {
    // All listeners at once, before anything can arrive: late listeners lose data on some runtimes.
    socket.on('data', this.#read);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#fail(describe(error, this.#localAddress), isLocalError(error));
    });
    socket.on('end', () => this.#fail('connection closed by the server'));
    socket.on('close', () => this.#fail('connection closed'));
  }

  readonly #read = (chunk: Buffer): void => {
    if (this.#ended !== null) return;
    try {
      this.#reader.push(chunk, (reply) => this.#take(reply));
    } catch (error) {
      if (!(error instanceof ReplyFault)) throw error;
      this.#fail(error.message);
    }
  };

  readonly #abort = (): void => {
    this.#fail('stopped', true);
  };

  #take(reply: ReplyLines): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#strays.push(reply);
      if (this.#strays.length > MAX_STRAYS)
        this.#fail('the server sends replies without a command');
      else this.#wake?.();
      return;
    }
    const next = this.#waiters[0];
    if (next === undefined) this.#rest();
    else this.#wait(next.stage);
    waiter.resolve(reply);
  }

  #expectSilence(): void {
    if (this.#ended !== null || this.isOpen) return;
    const [stray] = this.#strays;
    // 421 may come at any time and says that the server closes (RFC 5321 section 3.8).
    const said = stray === undefined ? 'part of a reply' : formatReply(stray);
    this.#fail(`unexpected reply: ${said}`, false, stray?.code === 421 ? stray : null);
  }

  /** Hands a block to the socket; resolves when it has left, a stray reply has come, or the dialogue has ended. */
  #flush(block: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake = null;
        resolve();
      };
      this.#wake = wake;
      if (this.#ended === null) this.#socket.write(block, wake);
      else wake();
    });
  }

  /** Starts the deadline of a stage. One timer serves all: it is only ever moved to an earlier time. */
  #wait(stage: Stage, atMost = Number.POSITIVE_INFINITY): void {
    this.#stage = stage;
    const now = performance.now();
    this.#deadlineAt = Math.min(now + this.#deadlines[stage], atMost);
    if (this.#timer === null || this.#timerAt > this.#deadlineAt) this.#arm(now);
  }

  #arm(now: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = this.#deadlineAt;
    this.#timer = setTimeout(this.#tick, Math.max(0, Math.ceil(this.#deadlineAt - now)));
  }

  readonly #tick = (): void => {
    this.#timer = null;
    if (this.#deadlineAt === Number.POSITIVE_INFINITY || this.#ended !== null) return;
    const now = performance.now();
    if (now < this.#deadlineAt) {
      this.#arm(now);
    } else if (this.#overdue !== this.#deadlineAt) {
      // This process may be late itself, with the reply in the socket: one tick of the event loop to read it.
      this.#overdue = this.#deadlineAt;
      this.#timer = setTimeout(this.#tick, 1);
    } else {
      this.#fail('timeout');
    }
  };

  /** No deadline until the next command. */
  #rest(): void {
    this.#deadlineAt = Number.POSITIVE_INFINITY;
  }

  /** The first call decides; later ones change nothing. */
  #fail(cause: string, isLocal = false, reply: Reply | null = null): DialogueEnd {
    if (this.#ended !== null) return this.#ended;
    const end = new DialogueEnd(this.#stage, cause, reply, isLocal);
    this.#ended = end;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#socket.destroy();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(end);
    this.#wake?.();
    return end;
  }

  /** The same end, seen from a later stage. */
  #endAt(stage: Stage, end: DialogueEnd): DialogueEnd {
    return end.stage === stage ? end : new DialogueEnd(stage, end.message, end.reply, end.isLocal);
  }
}

/** How many bytes of a body leave together with its dot. */
function lastAlone(bytes: Buffer): number {
  return bytes.length > SHORT_BYTES ? DOT_BYTES : SHORT_BYTES;
}

/** Every end here is at the stage `connect`: nothing has been said yet. */
function dial(options: DialogueOptions): Socket {
  const { address: host, port, localAddress } = options;
  // A name would be looked up by the runtime, past our resolver and every check of addresses.
  if (isIP(host) === 0) throw new DialogueEnd('connect', `not an IP address: ${host}`, null, true);
  try {
    return connect({ host, port, ...(localAddress === null ? {} : { localAddress }) });
  } catch (error) {
    throw new DialogueEnd(
      'connect',
      describe(error as NodeJS.ErrnoException, localAddress),
      null,
      true,
    );
  }
}

/** `from`: the local address that was asked for. */
function describe(error: NodeJS.ErrnoException, from: string | null): string {
  if (error.code === 'EADDRNOTAVAIL' && from !== null) {
    // The runtime names the other machine, although the error is about this one.
    return `EADDRNOTAVAIL: ${from} is not an address of this machine, or has no port left`;
  }
  return error.code !== undefined && !error.message.includes(error.code)
    ? `${error.code}: ${error.message}`
    : error.message;
}
