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
  const [verdict] = await verifyAllWithDkimpy([message], records);
  return verdict;
}

/** The same for many messages, by one process: a verdict each, in their order. */
export async function verifyAllWithDkimpy(
  messages: readonly Buffer[],
  records: readonly PublishedRecord[],
): Promise<unknown[]> {
  const texts = records.filter(({ type }) => type === 'TXT');
  const published = Object.fromEntries(texts.map(({ name, value }) => [name, value]));
  const questions = messages.map((message) =>
    JSON.stringify({ message: message.toString('base64'), records: published }),
  );
  const child = Bun.spawn([PYTHON, SCRIPT], {
    stdin: Buffer.from(`${questions.join('\n')}\n`),
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const answers = (await new Response(child.stdout).text()).trim().split('\n');
  if (answers.length !== messages.length) throw new Error(`${answers.length} verdicts came`);
  return answers.map((answer) => JSON.parse(answer) as unknown);
}
