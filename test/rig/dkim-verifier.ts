/**
 * DKIM verified by dkimpy, an implementation that shares nothing with the appliance.
 *
 * Promises a verdict on the exact bytes and records it is given. Needs Debian's python3-dkim.
 */
import { join } from 'node:path';

import type { PublishedRecord } from './world.ts';

/** Debian's own interpreter: others on the PATH do not see its packages. */
const PYTHON = '/usr/bin/python3';
const SCRIPT = join(import.meta.dir, '../mail/verify_dkim.py');

/** True, false, or the exception's text. */
export async function verifyWithDkimpy(
  message: Buffer,
  records: readonly PublishedRecord[],
): Promise<unknown> {
  const texts = records.filter(({ type }) => type === 'TXT');
  const question = {
    message: message.toString('base64'),
    records: Object.fromEntries(texts.map(({ name, value }) => [name, value])),
  };
  const child = Bun.spawn([PYTHON, SCRIPT], {
    stdin: Buffer.from(`${JSON.stringify(question)}\n`),
    stdout: 'pipe',
    stderr: 'inherit',
  });
  return JSON.parse(await new Response(child.stdout).text()) as unknown;
}
