/**
 * Refusals that are sent before the body was read, on connections that end with the response.
 *
 * The runtime closes such a connection at once, and what the client still sends then makes the kernel reset it: the
 * client sees a broken pipe instead of the refusal (docs/runtime-hazards.md H7). Promises that the refusal is sent at
 * once, and that the connection ends only when the body has been read and thrown away, or after two ticks without a byte,
 * `TICKS_MAX` in all or `DISCARDED_BYTES`, or at once when the server stops. Keeps no byte of the body. Never fails.
 */

/** A body that is not longer has arrived with its head, or waits in the socket's buffer. */
const SHORT_BYTES = 64 * 1024;
/** More than four times the longest body that is accepted. */
const DISCARDED_BYTES = 64 * 1024 * 1024;
const TICK_MS = 1_000;
/**
 * A client that waits for the response before it sends its body sends none now. Two, because after a pause of this
 * process the first comes before what has arrived meanwhile is read.
 */
const SILENT_TICKS = 2;
const TICKS_MAX = 20;

/** Whether the response ends the connection: HTTP/1.0 cannot be told apart, but neither version's client says so then. */
export function endsConnection({ headers }: Request): boolean {
  return headers.get('connection')?.toLowerCase().includes('keep-alive') !== true;
}

/** Those of a server. */
export class UnreadBodies {
  /** Ends the wait for a body. */
  readonly #ends = new Set<() => void>();
  #isEnded = false;

  /** `response`, or the same as a stream that ends when the body of `request` has been thrown away. */
  after(request: Request, response: Response): Response {
    // Most responses end here: asking for a body makes a stream of it.
    if (response.status < 400 || this.#isEnded) return response;
    const { body } = request;
    if (response.body === null || body === null || body.locked) return response;
    const length = request.headers.get('content-length');
    if (request.bodyUsed || (length !== null && Number(length) <= SHORT_BYTES)) return response;
    const { status, headers } = response;
    return new Response(this.#stream(response.body, body), { status, headers });
  }

  /** The server stops: waits for no body from now on. */
  end(): void {
    this.#isEnded = true;
    for (const end of this.#ends) end();
  }

  #stream(refusal: ReadableStream<Uint8Array>, body: ReadableStream<Uint8Array>): ReadableStream {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    let isClientGone = false;
    this.#ends.add(end);
    return new ReadableStream<Uint8Array>({
      start: async (controller) => {
        try {
          for await (const chunk of refusal) controller.enqueue(chunk);
          await discard(body, ending.signal);
        } finally {
          this.#ends.delete(end);
        }
        if (!isClientGone) controller.close();
      },
      cancel() {
        isClientGone = true;
        end();
      },
    });
  }
}

async function discard(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', stop);
  // It may have been aborted before anybody listened.
  if (signal.aborted) stop();
  let [ticks, silentTicks] = [0, 0];
  const ticking = setInterval(() => {
    ticks += 1;
    silentTicks += 1;
    if (ticks >= TICKS_MAX || silentTicks >= SILENT_TICKS) stop();
  }, TICK_MS);
  try {
    for (let bytes = 0; bytes < DISCARDED_BYTES;) {
      const { value, done } = await reader.read();
      if (done) return;
      silentTicks = 0;
      bytes += value.length;
    }
  } catch {
    // The client closed the connection in the middle of its body.
  } finally {
    clearInterval(ticking);
    signal.removeEventListener('abort', stop);
  }
}
