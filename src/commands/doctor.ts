/** `doctor`: looks at host and DNS, says for each finding what to do. Needs no server and no data. */
import { systemClock } from '../base/clock.ts';
import type { Finding, Level } from '../flow/doctor-finding.ts';
import { examine } from '../flow/doctor.ts';
import { createResolver } from '../wire/dns.ts';
import type { Command } from './command.ts';
import { paragraph } from './layout.ts';

const MARKS: Readonly<Record<Level, string>> = {
  ok: '  ok       ',
  warning: '  WARNING  ',
  error: '  ERROR    ',
  unchecked: '  unchecked',
};

export const doctor: Command = {
  synopsis: '',
  does: 'Checks host, DNS, port 25, blocklists, clock and disk; exit code 1 when something is wrong.',
  async run(call) {
    const config = call.config();
    const resolver = createResolver({ servers: config.dnsServers, clock: systemClock });
    try {
      const show = (found: Finding): void => {
        if (!call.isJson) call.output.print(line(found));
      };
      const findings = await examine({ config, clock: systemClock, resolver }, show);
      const errors = findings.filter(({ level }) => level === 'error').length;
      const warnings = findings.filter(({ level }) => level === 'warning').length;
      call.print(
        { is_ok: errors === 0, findings },
        `\n${findings.length} checks, ${errors} errors, ${warnings} warnings.`,
      );
      return errors === 0 ? 0 : 1;
    } finally {
      resolver.close();
    }
  },
};

const INDENT = 12;

function line({ level, check, summary, advice }: Finding): string {
  const head = `${MARKS[level]} ${paragraph(`${check}: ${summary}`, INDENT)}`;
  return advice === null ? head : `${head}\n${' '.repeat(INDENT)}${paragraph(advice, INDENT)}`;
}
