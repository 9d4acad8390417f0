/**
 * A server that gives canned results to commands, and the transcript of what each asks for and shows: a block a case,
 * the request first, then what is printed for people, then what is printed under --json.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createLog } from '../../src/base/log.ts';
import { COMMANDS } from '../../src/commands/list.ts';
import type { Output } from '../../src/commands/output.ts';
import { runProgram } from '../../src/commands/program.ts';
import type { OperationName, ResultOf } from '../../src/control/operations.ts';
import { ControlServer } from '../../src/control/server.ts';

export interface Case {
  /** The words of the command; FILE stands for a file in the test's folder. */
  line: string;
  /** One for each request, in their order. `says` and `chunks` come before the result. */
  replies: Reply[];
}

export type Reply = {
  [Name in OperationName]: {
    operation: Name;
    result: ResultOf<Name>;
    says?: string[];
    chunks?: string[];
  };
}[OperationName];

/** A reply to `operation`. */
export function reply<Name extends OperationName>(
  operation: Name,
  result: ResultOf<Name>,
  more: { says?: string[]; chunks?: string[] } = {},
): Reply {
  return { operation, result, ...more } as unknown as Reply;
}

const MAIN = join(import.meta.dir, '../../src/main.ts');

export const TRANSCRIPT_FILE = join(import.meta.dir, 'shown.txt');

export class CannedServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'canned-'));
  readonly config = join(this.folder, 'postrider.toml');
  /** What was asked for since the last `run`. */
  #asked: unknown[] = [];
  #replies: Reply[] = [];
  readonly #server: ControlServer;

  private constructor() {
    const text = `hostname = "mail.example.com"\ndata_dir = ${JSON.stringify(this.folder)}\n`;
    writeFileSync(this.config, text);
    writeFileSync(join(this.folder, 'file'), 'Grüße');
    this.#server = new ControlServer(
      this.folder,
      async (operation, args, { sink, by }) => {
        this.#asked.push({ operation, args, by });
        const next = this.#replies.shift();
        if (next?.operation !== operation) throw new Error(`${operation} was not expected`);
        for (const text of next.says ?? []) sink.progress(text);
        for (const text of next.chunks ?? []) await sink.chunk(text);
        return next.result;
      },
      createLog(() => undefined, Date.now),
    );
  }

  static async start(): Promise<CannedServer> {
    const made = new CannedServer();
    await made.#server.start();
    return made;
  }

  /** `mayWrite`: whether the reader of standard output takes more, asked for each piece. */
  async run(words: string[], replies: Reply[], mayWrite: () => boolean = () => true) {
    this.#asked = [];
    this.#replies = [...replies];
    const said = { out: '', err: '' };
    const output: Output = {
      print: (text) => void (said.out += `${text}\n`),
      write: (text) => {
        const isRead = mayWrite();
        if (isRead) said.out += text;
        return isRead;
      },
      say: (text) => void (said.err += `${text}\n`),
      note: (text) => void (said.err += text),
    };
    const code = await runProgram(COMMANDS, [...words, '--config', this.config], output);
    return { code, ...said, asked: this.#asked };
  }

  /** The same in a process of its own, with `input` on its standard input. */
  async spawn(words: string[], replies: Reply[], input: string) {
    this.#asked = [];
    this.#replies = [...replies];
    const child = Bun.spawn([process.execPath, MAIN, ...words, '--config', this.config], {
      stdin: Buffer.from(input),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, out, err, asked: this.#asked };
  }

  /** The block of one case in the transcript. */
  async block({ line, replies }: Case): Promise<string> {
    const words = line.split(' ').map((word) => word.replace('FILE', join(this.folder, 'file')));
    const shown = await this.run(words, replies);
    const json = await this.run([...words, '--json'], replies);
    const requests = shown.asked.map((one) => {
      const { operation, args } = one as { operation: string; args: unknown };
      return `? ${operation} ${JSON.stringify(args)}`;
    });
    const parts = [...requests, ...streams(shown), '--json', ...streams(json)];
    return `$ postrider ${line}\n${parts.join('\n')}\n`.replaceAll(this.folder, 'DIR');
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    rmSync(this.folder, { recursive: true });
  }
}

/** Lines of standard error behind `! `, and the exit code where it is not 0. */
function streams({ code, out, err }: { code: number; out: string; err: string }): string[] {
  const linesOf = (text: string): string[] =>
    text === '' ? [] : text.replace(/\n$/, '').split('\n');
  return [
    ...linesOf(err).map((line) => `! ${line}`),
    ...linesOf(out),
    ...(code === 0 ? [] : [`= ${code}`]),
  ];
}
