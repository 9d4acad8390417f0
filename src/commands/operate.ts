/**
 * Carries out an operation for a command: by the running server where there is one, else on the store itself.
 *
 * Promises the same outcome either way, and never two processes on one data directory: without a server the command
 * holds the directory's lock while it works, and what the operation logged waits there for the next server's log.
 */

import { systemClock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { createLog } from '../base/log.ts';
import { askServer } from '../control/client.ts';
import type { ArgumentsOf, OperationName, ResultOf } from '../control/operations.ts';
import type { Sink } from '../control/protocol.ts';
import type { Context } from '../flow/context.ts';
import { DirectoryInUseError } from '../store/directory-lock.ts';
import type { Call } from './command.ts';
import { keepLines } from './kept-log.ts';
import { machineUser } from './machine-user.ts';
import { becomeOwner, requireDataDir } from './owner.ts';

/** How long to wait for a process that holds the directory without a socket. */
const PATIENCE_MS = 5_000;
const ASK_AGAIN_MS = 100;

/**
 * Carries out the operation `name` and returns its result. `take` gets the pieces of a long one; when it throws, the
 * operation ends with that. Throws `OperatorError` or `ApiError`.
 */
export async function operate<Name extends OperationName>(
  call: Call,
  name: Name,
  args: ArgumentsOf<Name>,
  take: Sink['chunk'] = async (text) => void call.output.write(text),
): Promise<ResultOf<Name>> {
  const config = call.config();
  const sink: Sink = {
    progress: (text) => call.output.say(text),
    chunk: take,
    // A command that ends takes its own work with it.
    left: new AbortController().signal,
  };
  // Asked once: without a server this process becomes the owner of the data.
  const by = machineUser();
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const response = await askServer(config.startup.dataDir, { operation: name, args, by }, sink);
    const { OPERATIONS, perform } = await import('../control/operations.ts');
    if (response !== null) return OPERATIONS[name].readResult(response.value);
    try {
      return await alone(call, config, (ctx) =>
        perform({ ctx, queue: null, dispatcher: null, sink, reload: null, by }, name, args),
      );
    } catch (error) {
      // A server that starts or ends holds the directory, but has no socket; so does another command.
      if (!(error instanceof DirectoryInUseError) || Date.now() > until) throw error;
      await Bun.sleep(ASK_AGAIN_MS);
    }
  }
}

/** Opens the store for `work`, while no server runs. Throws `OperatorError`, or what `work` throws. */
export async function alone<T>(
  call: Call,
  config: Config,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  requireDataDir(config.startup.dataDir);
  becomeOwner(config.startup.dataDir);
  const lines: string[] = [];
  const log = createLog(
    (line) => lines.push(line),
    () => systemClock.now(),
  );
  const { closeContext, openContext } = await import('../appliance/context.ts');
  const ctx = await openContext(config, { clock: systemClock, log });
  try {
    return await work(ctx);
  } finally {
    keepLog(call, config.startup.dataDir, lines);
    await closeContext(ctx);
  }
}

/** A full disk costs the log its lines, not the command its result: then they are shown. */
function keepLog(call: Call, dataDir: string, lines: readonly string[]): void {
  try {
    keepLines(dataDir, lines);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    call.output.say(`Cannot keep these lines for the log (${reason}):\n${lines.join('\n')}`);
  }
}
