/**
 * The README's shell lines under "By hand", run word for word in an empty directory with the compiled binary.
 */
import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { BINARY } from '../rig/binary.ts';

const README = join(import.meta.dir, '../../README.md');

/** The first shell block below a heading. */
function shellBlock(heading: string): string {
  const text = readFileSync(README, 'utf8');
  const section = text.slice(text.indexOf(`\n## ${heading}\n`));
  return /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? '';
}

/** The README names the default port: wait for another run on this machine to leave it. */
async function portIsFree(): Promise<void> {
  const until = Date.now() + 60_000;
  for (;;) {
    try {
      Bun.listen({ hostname: '127.0.0.1', port: 8025, socket: { data: () => undefined } }).stop(
        true,
      );
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await Bun.sleep(200);
    }
  }
}

test('from an empty directory to a first email with curl', async () => {
  await portIsFree();
  const folder = mkdtempSync(join(tmpdir(), 'postrider-readme-'));
  const script = `set -e\n${shellBlock('By hand')}\nkill -TERM %1\nwait %1\n`;
  const child = Bun.spawn(['bash', '-c', script], {
    cwd: folder,
    env: { PATH: `${dirname(BINARY)}:${process.env['PATH'] ?? ''}` },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, err.includes('"level":"error"')]).toEqual([0, false]);
  expect(out).toContain('not shown again');
  expect(out).toMatch(/\{"id":"[0-9a-f-]{36}","status":"sent"\}/);
  rmSync(folder, { recursive: true });
}, 90_000);
