/** `doctor`: checks the host and its DNS, and says for each finding what to do. Needs no server and no data. */
import { systemClock } from '../base/clock.ts';
import type { Finding, Level } from '../health/finding.ts';
import type { Command } from './command.ts';
import { paragraph } from './layout.ts';

const LABELS: Readonly<Record<Level, string>> = {
  ok: '  ok       ',
  warning: '  WARNING  ',
  error: '  ERROR    ',
  unchecked: '  unchecked',
};
const INDENT = 12;

export const doctor: Command = {
  summary: 'Check the host: DNS, port 25, blocklists, clock, disk',
  details: 'Says what to do about each finding. Ends with 1 when a check finds an error.',
  async run(call) {
    const config = call.config();
    const { examine } = await import('../health/doctor.ts');
    const { createResolver } = await import('../wire/dns/dns.ts');
    const resolver = createResolver({ servers: config.startup.dns.servers, clock: systemClock });
    try {
      const show = (found: Finding): void => {
        if (!call.isJson) call.output.print(line(found));
      };
      const findings = await examine({ config, clock: systemClock, resolver }, show);
      const counts = (level: Level): number =>
        findings.filter((finding) => finding.level === level).length;
      const [errors, warnings] = [counts('error'), counts('warning')];
      call.print(
        { is_ok: errors === 0, findings },
        `\nChecks: ${findings.length}. Errors: ${errors}. Warnings: ${warnings}.`,
      );
      return errors === 0 ? 0 : 1;
    } finally {
      resolver.close();
    }
  },
};

function line({ level, check, summary, advice }: Finding): string {
  const head = `${LABELS[level]} ${paragraph(`${check}: ${summary}`, INDENT)}`;
  return advice === null ? head : `${head}\n${' '.repeat(INDENT)}${paragraph(advice, INDENT)}`;
}
