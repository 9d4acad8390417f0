/** The executable as `scripts/try` uses it: built when it is older than its sources, run for a command, and as a server. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { build } from './build.ts';

const ROOT = join(import.meta.dir, '..');
export const BINARY = join(ROOT, 'dist/postrider');

export interface Server {
  child: Bun.Subprocess;
  /** Its address, as it says it. */
  http: string;
}

/** What `init` says of a first server. */
export interface Made {
  data_dir: string;
  admin_password: string;
  key: string;
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Builds dist/postrider, unless it is younger than everything it is made of. */
export async function ensureBuilt(): Promise<void> {
  if (isBuilt()) return;
  say('Building dist/postrider ...');
  await build(BINARY, null);
}

function isBuilt(): boolean {
  if (!existsSync(BINARY)) return false;
  const builtAt = statSync(BINARY).mtimeMs;
  const sources = Array.from(new Bun.Glob('{src,migrations}/**/*').scanSync(ROOT));
  return [...sources, 'package.json', 'bun.lock', 'scripts/build.ts'].every(
    (file) => statSync(join(ROOT, file)).mtimeMs < builtAt,
  );
}

/** Runs a command with `--json` and gives what it prints. Throws with what it said when it fails. */
export async function command(
  configFile: string,
  ...args: string[]
): Promise<Record<string, unknown>> {
  const child = Bun.spawn([BINARY, ...args, '--json', '--config', configFile], { stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`postrider ${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Starts the server; its log goes to a file, its addresses come back. */
export async function serve(configFile: string, logFile: string): Promise<Server> {
  const child = Bun.spawn([BINARY, 'serve', '--json', '--config', configFile], {
    stdout: 'pipe',
    stderr: Bun.file(logFile),
  });
  for await (const chunk of child.stdout) {
    const { http } = JSON.parse(new TextDecoder().decode(chunk)) as { http: string };
    return { child, http };
  }
  throw new Error(`the server did not start: ${await Bun.file(logFile).text()}`);
}
