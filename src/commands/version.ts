/** `version`: what this program is. */
import { VERSION } from '../base/version.ts';
import type { Command } from './command.ts';

export const version: Command = {
  synopsis: '',
  does: 'Version, Bun version and build commit.',
  run(call) {
    const { version: number, bun, commit } = VERSION;
    call.print({ version: number, bun, commit }, `postrider ${number} (Bun ${bun}, ${commit})`);
    return Promise.resolve();
  },
};
