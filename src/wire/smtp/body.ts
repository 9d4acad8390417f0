/**
 * A message as the DATA command transfers it (RFC 5321 section 4.5.2).
 *
 * Promises that the only `CRLF . CRLF` in what is transferred is the last: stray CR or LF, which some receivers take
 * for a line end (SMTP smuggling), are refused, never repaired, because the message is signed. A message is inspected
 * once, and a large one prepared once, for all its recipients: keep the `OutgoingMessage` beside the bytes.
 */
import { isAscii } from 'node:buffer';

const CR = 13;
const LF = 10;
const DOT = 46;
const LINE_WITH_DOT = Buffer.from('\n.');
/** Lines that are looked at before the event loop is given back, where it is: some milliseconds. */
const STEP = 20_000;
/** Bytes that are copied likewise: where fresh memory is dear, they take some milliseconds, too. */
const COPY_STEP = 1024 * 1024;

/**
 * From this size on, what is transferred is kept for the other recipients: a copy for each of a thousand sessions
 * that send 10 MB at once is too much. Below it, copying costs less than keeping.
 */
const KEPT_BYTES = 256 * 1024;

export interface MessageFacts {
  /** Whether every CR is followed by LF and every LF preceded by CR. */
  isClean: boolean;
  /** Bytes above 127: needs 8BITMIME (RFC 6152). */
  hasEightBit: boolean;
  /** How many dots begin a line. */
  dots: number;
}

/** One message on its way to any number of recipients. */
export class OutgoingMessage {
  /** CRLF-clean, not dot-stuffed. Never changed afterwards. */
  readonly bytes: Buffer;
  #facts: MessageFacts | null;
  #body: Buffer | null;
  readonly #dotted: Buffer | null;

  /**
   * `data`: what DATA transfers of `bytes`, the final dot included, for messages known to be clean, ASCII and without
   * a line that begins with a dot; null: found out here. `dotted`: `bytes`, which end with a line end, and the final dot
   * in the same memory; null: they are copied to have it behind them.
   */
  constructor(bytes: Buffer, data: Buffer | null, dotted: Buffer | null = null) {
    this.bytes = bytes;
    this.#body = data;
    this.#dotted = dotted;
    this.#facts = data === null ? null : { isClean: true, hasEightBit: false, dots: 0 };
  }

  /** The same for a message of any length: a large one is inspected and made ready here, in steps. */
  static async prepare(
    bytes: Buffer,
    data: Buffer | null,
    dotted: Buffer | null = null,
  ): Promise<OutgoingMessage> {
    const message = new OutgoingMessage(bytes, data, dotted);
    if (data !== null || bytes.length < KEPT_BYTES) return message;
    const facts = await finishSlowly(inspecting(bytes));
    message.#facts = facts;
    message.#body = message.#unstuffed() ?? (await finishSlowly(stuffing(bytes, facts.dots)));
    return message;
  }

  get facts(): MessageFacts {
    this.#facts ??= inspectMessage(this.bytes);
    return this.#facts;
  }

  /** What DATA transfers, the final dot included. The message must be clean. Do not change it. */
  body(): Buffer {
    if (this.#body !== null) return this.#body;
    const body = this.#unstuffed() ?? dotStuff(this.bytes, this.facts.dots);
    if (this.bytes.length >= KEPT_BYTES) this.#body = body;
    return body;
  }

  /** What DATA transfers where nothing has to be inserted. */
  #unstuffed(): Buffer | null {
    return this.facts.dots === 0 ? this.#dotted : null;
  }
}

/** Looks for line ends by the runtime's own search: a loop over the bytes costs several times as much. */
export function inspectMessage(bytes: Buffer): MessageFacts {
  return finish(inspecting(bytes));
}

/** The body of DATA: dots doubled, the final dot on a line of its own. `message` must be clean, `dots` as inspected. */
export function dotStuff(message: Buffer, dots: number): Buffer {
  return finish(stuffing(message, dots));
}

function* inspecting(bytes: Buffer): Generator<void, MessageFacts, void> {
  let dots = bytes[0] === DOT ? 1 : 0;
  let isClean = true;
  let lineEnds = 0;
  for (let lf = bytes.indexOf(LF); lf >= 0; lf = bytes.indexOf(LF, lf + 1)) {
    if (bytes[lf - 1] !== CR) isClean = false;
    if (bytes[lf + 1] === DOT) dots += 1;
    lineEnds += 1;
    if (lineEnds % STEP === 0) yield;
  }
  let returns = 0;
  for (let cr = bytes.indexOf(CR); cr >= 0; cr = bytes.indexOf(CR, cr + 1)) {
    returns += 1;
    if (returns % STEP === 0) yield;
  }
  // Every LF has its CR: then equal numbers mean that no CR stands alone.
  return { isClean: isClean && returns === lineEnds, hasEightBit: !isAscii(bytes), dots };
}

function* stuffing(message: Buffer, dots: number): Generator<void, Buffer, void> {
  const endsLine = message.length === 0 || message[message.length - 1] === LF;
  const tail = endsLine ? '.\r\n' : '\r\n.\r\n';
  const body = Buffer.allocUnsafe(message.length + dots + tail.length);
  let from = 0;
  let to = 0;
  const copyUpTo = function* (end: number): Generator<void, void, void> {
    while (end - from > COPY_STEP) {
      to += message.copy(body, to, from, from + COPY_STEP);
      from += COPY_STEP;
      yield;
    }
    to += message.copy(body, to, from, end);
    from = end;
  };
  let dot = message[0] === DOT ? 0 : nextDot(message, 0);
  for (let done = 0; done < dots; dot = nextDot(message, dot)) {
    if (dot - from > COPY_STEP) yield* copyUpTo(dot);
    to += message.copy(body, to, from, dot);
    body[to++] = DOT;
    from = dot;
    done += 1;
    if (done % STEP === 0) yield;
  }
  yield* copyUpTo(message.length);
  body.write(tail, to, 'latin1');
  return body;
}

/** The next dot from `at` on that begins a line; 0 behind the last. */
function nextDot(message: Buffer, at: number): number {
  return message.indexOf(LINE_WITH_DOT, at) + 1;
}

function finish<T>(steps: Generator<void, T, void>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** The same, with the event loop given back after each step. */
async function finishSlowly<T>(steps: Generator<void, T, void>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
