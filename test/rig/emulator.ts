/**
 * `postrider dev` as a developer runs it: started with options, its addresses read from what it prints.
 *
 * Promises free ports and a home for temporary folders of its own, and that `stop` leaves no process and no file.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BINARY } from './binary.ts';

/** What `dev --json` prints. */
export interface ReadyEmulator {
  http: string;
  inbox: string;
  key: string | null;
  smtp: string;
  data_dir: string;
}

export class EmulatorProcess {
  readonly at: ReadyEmulator;
  readonly #child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
  readonly #home: string;

  private constructor(
    child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>,
    home: string,
    ready: string,
  ) {
    this.#child = child;
    this.#home = home;
    this.at = JSON.parse(ready) as ReadyEmulator;
  }

  /** Starts one on free ports unless `args` name some. Throws with what it wrote when it does not get ready. */
  static async start(args: string[] = []): Promise<EmulatorProcess> {
    const home = mkdtempSync(join(tmpdir(), 'dev-test-'));
    const ports = args.includes('--port') ? [] : ['--port', '0', '--smtp-port', '0'];
    const child = Bun.spawn([BINARY, 'dev', '--json', ...ports, ...args], {
      env: { PATH: process.env['PATH'] ?? '', TMPDIR: home },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    for await (const chunk of child.stdout) {
      return new EmulatorProcess(child, home, new TextDecoder().decode(chunk));
    }
    throw new Error(
      `dev ended with ${await child.exited}: ${await new Response(child.stderr).text()}`,
    );
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Names in the folder for temporary folders. */
  temporary(): string[] {
    return readdirSync(this.#home);
  }

  /** Ends it by Ctrl-C's signal or another; the exit code and what it wrote to standard error. */
  async end(
    signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP' = 'SIGINT',
  ): Promise<{ code: number; stderr: string }> {
    this.#child.kill(signal);
    const stderr = await new Response(this.#child.stderr).text();
    return { code: await this.#child.exited, stderr };
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#child.exited;
    rmSync(this.#home, { recursive: true, force: true });
  }
}
