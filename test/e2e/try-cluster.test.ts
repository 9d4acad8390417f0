/** `scripts/try --cluster --once`, as a reader of docs/cluster.md runs it: what it prints, how it ends, what it leaves. */
import { expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

test('three nodes of which one is killed: all arrives, the killed one comes back, nothing is left', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-try-cluster-'));
  // PostgreSQL runs as another user below it.
  chmodSync(folder, 0o755);
  try {
    const child = Bun.spawn([join(ROOT, 'scripts/try'), '--cluster', '--once'], {
      env: { ...process.env, TMPDIR: folder },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [said, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect({ code: await child.exited, errors }).toEqual({ code: 0, errors: '' });
    const lines = said.trimEnd().split('\n');
    expect(lines).toContain('Killing node2 (kill -9) after 150 answers');
    expect(lines).toContain('300 emails were answered with an id');
    const [arrived, back, empty, dashboard] = lines.slice(-4);
    expect(arrived).toMatch(/^All 300 have arrived, \d+ of them twice$/);
    expect([back, empty]).toEqual(['node2 is back', '']);
    expect(dashboard).toMatch(
      /^Dashboard {2}http:\/\/127\.0\.0\.1:\d+\/dashboard {2}password \S+$/,
    );
    const left = readdirSync(folder).filter((name) => /^postrider-(?:cluster|pg)-/.test(name));
    expect(left).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 240_000);
