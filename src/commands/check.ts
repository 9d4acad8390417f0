/** `check`: whether the config file would be accepted, without touching anything else. */
import type { Command } from './command.ts';

export const check: Command = {
  synopsis: '',
  does: 'Checks the config file; every problem with its line.',
  run(call) {
    const config = call.config();
    const file = call.configFile();
    const value = { ok: true, config: file, hostname: config.hostname, data_dir: config.dataDir };
    call.print(value, `${file} is fine.`);
    return Promise.resolve();
  },
};
