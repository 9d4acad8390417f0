/** `check`: whether the server would accept the config file and the PEM files it names. Touches nothing else. */
import type { Command } from './command.ts';

export const check: Command = {
  summary: 'Check the config file',
  details:
    'Names every problem with its line. Reads the PEM files that the config names, too. Warns where public_url and the way the API listens contradict each other.',
  async run(call) {
    const config = call.config();
    const { readExtraCa } = await import('../flow/extra-ca.ts');
    const { publicUrlWarnings } = await import('../health/public-url.ts');
    const { readPair } = await import('../smtp/certificate.ts');
    const { hostname, dataDir, tls } = config.startup;
    for (const table of ['http', 'smtp'] as const) {
      if (config.live[table].tlsCert !== '') readPair(config, table);
    }
    readExtraCa(tls.extraCaFile);
    const file = call.configFile();
    const warnings = publicUrlWarnings(config);
    const value = { ok: true, config: file, hostname, data_dir: dataDir, warnings };
    const words = warnings.map(({ summary, advice }) => `\nWarning: ${summary}\n${advice}`);
    call.print(value, [`${file} has no problems.`, ...words].join('\n'));
  },
};
