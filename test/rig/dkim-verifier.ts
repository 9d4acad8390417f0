/**
 * DKIM verified by dkimpy and by OpenDKIM, implementations that share nothing with the appliance.
 *
 * Promises a verdict on the exact bytes and records it is given. Needs Debian's python3-dkim and opendkim.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { PublishedRecord } from './world.ts';

/** Debian's own interpreter: others on the PATH do not see its packages. */
const PYTHON = '/usr/bin/python3';
const SCRIPT = join(import.meta.dir, '../mail/dkim/verify_dkim.py');

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

/** Whether each message verifies with OpenDKIM, in their order, by one process. */
export async function verifyAllWithOpendkim(
  messages: readonly Buffer[],
  records: readonly PublishedRecord[],
): Promise<boolean[]> {
  const dir = mkdtempSync(join(tmpdir(), 'opendkim-'));
  try {
    const keys = records.filter(({ type }) => type === 'TXT');
    writeFileSync(join(dir, 'keys'), keys.map(({ name, value }) => `${name} ${value}\n`).join(''));
    writeFileSync(join(dir, 'conf'), `TestPublicKeys ${join(dir, 'keys')}\nMode v\nSyslog no\n`);
    const files = messages.map((message, number) => {
      writeFileSync(join(dir, `${number}.eml`), message);
      return `${number}.eml`;
    });
    const child = Bun.spawn(['/usr/sbin/opendkim', '-x', 'conf', '-t', files.join(',')], {
      cwd: dir,
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const lines = (await new Response(child.stdout).text()).split('\n');
    const verdicts = files.map((file) =>
      lines.find((line) => line.startsWith(`opendkim: ${file}: verification`)),
    );
    if (verdicts.includes(undefined)) throw new Error(`OpenDKIM said: ${lines.join('\n')}`);
    return verdicts.map((line) => line?.endsWith(' succeeded') === true);
  } finally {
    rmSync(dir, { recursive: true });
  }
}
