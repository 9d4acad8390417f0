/** `version`: what this program is, or with `--server` which process the running server is. Never opens the store. */
import { OperatorError } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { askServer } from '../control/client.ts';
import type { Call, Command } from './command.ts';
import { flag } from './parameter.ts';

const SERVER = flag('server', 'Show the version and the process id of the running server instead');

export const version: Command = {
  summary: 'Show the version, the Bun version and the build commit',
  parameters: [SERVER],
  async run(call) {
    if (call.get(SERVER)) {
      await showServer(call);
      return;
    }
    const { version: number, bun, commit } = VERSION;
    call.print({ version: number, bun, commit }, `postrider ${number} (Bun ${bun}, ${commit})`);
  },
};

/** Asks the server of the config's data directory. Throws `OperatorError` when none responds. */
async function showServer(call: Call): Promise<void> {
  const request = { operation: 'version', args: {} };
  const sink = { progress: () => undefined, chunk: () => Promise.resolve() };
  const { dataDir } = call.config().startup;
  const response = await askServer(dataDir, request, sink);
  if (response === null) {
    throw new OperatorError(
      `No server is running on ${dataDir}.`,
      'Start it with `postrider serve`, or name its config with --config.',
    );
  }
  const { OPERATIONS } = await import('../control/operations.ts');
  const { version: number, pid } = OPERATIONS.version.readResult(response.value);
  call.print({ version: number, pid }, `postrider ${number} (pid ${pid})`);
}
