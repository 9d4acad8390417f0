/** Commands run in this process on a data directory of their own, without a server. */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { closeContext, openContext } from '../../src/appliance/context.ts';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { COMMANDS } from '../../src/commands/list.ts';
import type { Output } from '../../src/commands/output.ts';
import { runProgram } from '../../src/commands/program.ts';
import type { Context } from '../../src/flow/context.ts';

interface Ended {
  code: number;
  out: string;
  err: string;
}

export class Console {
  readonly folder = mkdtempSync(join(tmpdir(), 'console-'));
  readonly config = join(this.folder, 'etc', 'postrider.toml');
  readonly dataDir = join(this.folder, 'data');

  /** After `init`, with `extra` at the end of the config file. */
  static async make(extra = ''): Promise<Console> {
    const made = new Console();
    const { code, err } = await made.init();
    if (code !== 0) throw new Error(err);
    appendFileSync(made.config, extra);
    return made;
  }

  async init(...words: string[]): Promise<Ended> {
    return await this.run(
      'init',
      '--hostname',
      'mail.shop.example',
      '--data-dir',
      this.dataDir,
      ...words,
    );
  }

  async run(...words: string[]): Promise<Ended> {
    const said = { out: '', err: '' };
    const output: Output = {
      print: (text) => void (said.out += `${text}\n`),
      write: (text) => {
        said.out += text;
        return true;
      },
      say: (text) => void (said.err += `${text}\n`),
      note: (text) => void (said.err += text),
    };
    const code = await runProgram(COMMANDS, [...words, '--config', this.config], output);
    return { code, ...said };
  }

  /** What it prints under --json, and its exit code. */
  async json(...words: string[]): Promise<[code: number, value: unknown]> {
    const { code, out } = await this.run(...words, '--json');
    return [code, out === '' ? null : JSON.parse(out)];
  }

  /** `work` on the store, which no command has open then. */
  async open<T>(work: (ctx: Context) => Promise<T>): Promise<T> {
    const log = createLog(() => undefined, Date.now);
    const ctx = await openContext(loadConfig(this.config), { clock: systemClock, log });
    try {
      return await work(ctx);
    } finally {
      await closeContext(ctx);
    }
  }

  close(): void {
    rmSync(this.folder, { recursive: true });
  }
}
