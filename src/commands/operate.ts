/**
 * Carries out an operation for a command: by the running server where there is one, else on the store itself.
 *
 * Promises the same outcome either way, and never two processes on one data directory: without a server the command
 * holds the directory's lock while it works.
 */
import { systemClock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { createLog } from '../base/log.ts';
import { closeContext, openContext } from '../appliance-context.ts';
import { askServer } from '../control/client.ts';
import { runOperation } from '../control/operations.ts';
import type { Arguments, Sink } from '../control/protocol.ts';
import { DirectoryInUseError } from '../store/lock.ts';
import type { Call } from './command.ts';
import { becomeOwner, requireDataDir } from './owner.ts';

/** How long to wait for whoever has the directory without a socket. */
const PATIENCE_MS = 5_000;
const ASK_AGAIN_MS = 100;

/** The operation's result. Throws `OperatorError` or `ApiError`. */
export async function operate(call: Call, operation: string, args: Arguments): Promise<unknown> {
  const config = call.config();
  const sink: Sink = {
    progress: (text) => call.output.say(text),
    chunk: async (text) => call.output.write(text),
  };
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await askServer(config.dataDir, operation, args, sink);
    if (answer !== null) return answer.value;
    try {
      return await operateAlone(config, operation, args, sink);
    } catch (error) {
      // A server that starts or ends has the directory, but no socket; so has another command.
      if (!(error instanceof DirectoryInUseError) || Date.now() > until) throw error;
      await Bun.sleep(ASK_AGAIN_MS);
    }
  }
}

async function operateAlone(
  config: Config,
  operation: string,
  args: Arguments,
  sink: Sink,
): Promise<unknown> {
  requireDataDir(config);
  becomeOwner(config.dataDir);
  // What the flow logs for a server's operator would only stand between a command's own lines.
  const log = createLog(
    () => undefined,
    () => systemClock.now(),
  );
  const ctx = await openContext(config, { clock: systemClock, log });
  try {
    const scope = { ctx, queue: null, dispatcher: null, sink, reload: null };
    const value = await runOperation(scope, operation, args);
    // As it would come over the socket: a date or a byte array must not look different here.
    return JSON.parse(JSON.stringify(value ?? null));
  } finally {
    await closeContext(ctx);
  }
}
