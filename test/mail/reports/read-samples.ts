/** What each sample of the corpus says when it is read, every field of it; run by itself it writes read-samples.txt. */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { readReport } from '../../../src/mail/reports/read-report.ts';

const FOLDER = join(import.meta.dir, 'samples');
export const TRANSCRIPT_FILE = join(import.meta.dir, 'read-samples.txt');

export const SAMPLES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.eml'))
  .toSorted();

/** One block: the file, then a line for each field that says something. */
export function blockOf(file: string): string {
  const report = readReport(new InboundMessage(readFileSync(join(FOLDER, file))));
  const lines = [`# ${file}`];
  const put = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || (Array.isArray(value) && value.length === 0))
      lines.push(`${path} ${JSON.stringify(value)}`);
    else for (const [name, inner] of Object.entries(value)) put(inner, `${path}.${name}`);
  };
  put(report, '');
  return `${lines.join('\n')}\n`;
}

if (import.meta.main) writeFileSync(TRANSCRIPT_FILE, SAMPLES.map(blockOf).join('\n'));
