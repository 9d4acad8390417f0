/** `check`: whether the config file, and the PEM files it names, would be accepted, without touching anything else. */
import { readExtraCa } from '../flow/extra-ca.ts';
import { readPair } from '../smtp/certificate.ts';
import type { Command } from './command.ts';

export const check: Command = {
  synopsis: '',
  does: 'Checks the config file; every problem with its line.',
  run(call) {
    const config = call.config();
    for (const table of ['http', 'smtp'] as const) {
      if (config[table].tlsCert !== '') readPair(config, table);
    }
    readExtraCa(config);
    const file = call.configFile();
    const value = { ok: true, config: file, hostname: config.hostname, data_dir: config.dataDir };
    call.print(value, `${file} is fine.`);
    return Promise.resolve();
  },
};
