/**
 * Refusals that are sent before the body was read, on connections that end with the response.
 *
 * The runtime closes such a connection at once, and what the client still sends then makes the kernel reset it: the
 * client sees a broken pipe instead of the refusal (docs/runtime-hazards.md H7). Promises that the refusal is sent at
 * once, and that the connection ends only when the body has been read and thrown away, or after two ticks without a byte,
 * `TICKS_MAX` in all or `DISCARDED_BYTES`. Keeps no byte of the body. Never fails.
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

/** `response`, or the same as a stream that ends when the body of `request` has been thrown away. */
export function afterUnreadBody(request: Request, response: Response): Response {
  // Most responses end here: asking for a body makes a stream of it.
  if (response.status < 400) return response;
  const { body } = request;
  if (response.body === null || body === null || body.locked) return response;
  const length = request.headers.get('content-length');
  if (request.bodyUsed || (length !== null && Number(length) <= SHORT_BYTES)) return response;
  const refusal = response.body;
  const discarding = new AbortController();
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      for await (const chunk of refusal) controller.enqueue(chunk);
      await discard(body, discarding.signal);
      if (!discarding.signal.aborted) controller.close();
    },
    // The client is gone.
    cancel: () => discarding.abort(),
  });
  const { status, headers } = response;
  return new Response(stream, { status, headers });
}

async function discard(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', stop);
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
