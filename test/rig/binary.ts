/**
 * The compiled binary as an operator uses it: `init`, `serve`, commands, signals.
 *
 * Promises a data directory and config of its own below the system's temporary folder and free ports, and that `stop`
 * leaves no process behind. Everything goes through the executable: nothing of src/ runs in the test's process. Build
 * it first (`scripts/build`).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Arrivals } from './arrivals.ts';

/** Another executable can be tried with POSTRIDER_BINARY. */
export const BINARY =
  process.env['POSTRIDER_BINARY'] ?? join(import.meta.dir, '../../dist/postrider');
/** The name of this machine's kind in the file names of a release. */
export const PLATFORM = process.arch === 'arm64' ? 'linux-arm64' : 'linux-x64';

export interface Run {
  code: number;
  stdout: string;
  stderr: string;
  /** Standard output as JSON; throws with everything that was written when it is none. */
  json(): unknown;
}

/** What `init --json` prints. */
export interface Made {
  config: string;
  data_dir: string;
  account_id: string;
  admin_password: string;
  key: string;
}

export interface LogLine extends Record<string, unknown> {
  event: string;
  level: string;
}

export interface BinaryOptions {
  /** URL of the PostgreSQL database; default: files. */
  store?: string;
  /** TOML inside `[store]`. */
  storeSettings?: string;
  /** Joins this node, on the database in `store`. */
  joins?: BinaryAppliance;
  hostname?: string;
  /** Host and port of the API; default: a port that is free at each start. */
  listen?: string;
  /** TOML after `hostname`, `data_dir` and `[http]` with `listen`, in which it may go on. */
  config?: string;
  env?: Record<string, string>;
  /** Where its folder is made; default: the system's temporary folder. */
  folder?: string;
}

/** Runs the executable once, to its end. */
export async function runBinary(
  args: string[],
  options: { env?: Record<string, string>; cwd?: string; stdin?: string } = {},
): Promise<Run> {
  const child = Bun.spawn([BINARY, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: Buffer.from(options.stdin ?? ''),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return {
    code,
    stdout,
    stderr,
    json() {
      try {
        return JSON.parse(stdout) as unknown;
      } catch {
        throw new Error(
          `${args.join(' ')} ended with ${code}:\n${stdout.slice(0, 500)}\n${stderr}`,
        );
      }
    },
  };
}

export class BinaryAppliance {
  readonly folder: string;
  readonly made: Made;
  /** Lines of the log, of every process this appliance has had. */
  readonly log = new Arrivals<LogLine>('log lines');
  /** Base URL of the API; changes with each start. */
  url = '';
  #child: Bun.Subprocess<'ignore', 'pipe', 'pipe'> | null = null;
  readonly #env: Record<string, string>;
  readonly #store: string;
  readonly #listen: string;

  private constructor(folder: string, made: Made, options: BinaryOptions) {
    this.folder = folder;
    this.made = made;
    const { env = {}, store, storeSettings = '', listen } = options;
    this.#env = env;
    this.#listen = listen ?? '127.0.0.1:0';
    this.#store = store === undefined ? '' : `[store]\nurl = "${store}"\n${storeSettings}\n`;
  }

  /** `init` and the test's config; not started yet. */
  static async create(options: BinaryOptions = {}): Promise<BinaryAppliance> {
    const folder = mkdtempSync(join(options.folder ?? tmpdir(), 'postrider-rig-'));
    const hostname = options.hostname ?? 'mail.rig.test';
    const [config, dataDir] = [join(folder, 'postrider.toml'), join(folder, 'data')];
    const paths = ['--config', config, '--data-dir', dataDir];
    const store = options.store === undefined ? [] : ['--store', options.store];
    const { joins } = options;
    const key =
      joins === undefined ? [] : ['--secret-key', join(joins.made.data_dir, 'secret.key')];
    const init = ['init', '--json', '--hostname', hostname, ...paths, ...store, ...key];
    // Of a node that joins the account and its key are those of the first one.
    const made = { ...joins?.made, ...((await runBinary(init)).json() as Made) };
    const appliance = new BinaryAppliance(folder, made, options);
    appliance.writeConfig(hostname, options.config ?? '');
    return appliance;
  }

  /** Creates and starts one. */
  static async start(options: BinaryOptions = {}): Promise<BinaryAppliance> {
    const appliance = await BinaryAppliance.create(options);
    await appliance.start();
    return appliance;
  }

  writeConfig(hostname: string, rest: string): void {
    const head = `hostname = "${hostname}"\ndata_dir = "${this.made.data_dir}"\n`;
    writeFileSync(
      this.made.config,
      `${head}${this.#store}[http]\nlisten = "${this.#listen}"\n${rest}\n`,
    );
  }

  get pid(): number {
    if (this.#child === null) throw new Error('the appliance does not run');
    return this.#child.pid;
  }

  /** Starts `serve` and waits until it is ready. Throws with its log when it ends instead. */
  async start(): Promise<void> {
    const child = Bun.spawn([BINARY, 'serve', '--json', '--config', this.made.config], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'] ?? '', ...this.#env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    this.#child = child;
    void this.#readLog(child.stderr);
    const ready = await firstLine(child.stdout);
    if (ready === null) {
      const lines = this.log.items.map((line) => JSON.stringify(line)).join('\n');
      throw new Error(`serve ended with ${await child.exited}:\n${lines}`);
    }
    this.url = (JSON.parse(ready) as { http: string }).http;
  }

  /** Runs a command against this appliance. */
  run(args: string[], stdin = ''): Promise<Run> {
    return runBinary([...args, '--config', this.made.config], { env: this.#env, stdin });
  }

  /** Runs a command with --json and gives what it printed. Throws when it fails. */
  async json(args: string[]): Promise<Record<string, unknown>> {
    const run = await this.run([...args, '--json']);
    if (run.code !== 0) throw new Error(`${args.join(' ')} ended with ${run.code}: ${run.stderr}`);
    return run.json() as Record<string, unknown>;
  }

  /** Sends a request with the first key unless `headers` brings another. */
  api(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(this.url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.made.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Stops the process where it is, until `goOn`. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  goOn(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Waits until it ends by itself; its exit code. */
  async ended(): Promise<number | null> {
    const child = this.#child;
    const code = (await child?.exited) ?? null;
    this.#child = null;
    return code;
  }

  /** Sends a signal and waits for the end; gives the exit code, null when the signal ended it. */
  async signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): Promise<number | null> {
    const child = this.#child;
    if (child === null) return null;
    child.kill(name);
    await child.exited;
    this.#child = null;
    return child.signalCode === null ? child.exitCode : null;
  }

  /** Asks for a reload; the log says when it is done. */
  hangUp(): void {
    process.kill(this.pid, 'SIGHUP');
  }

  /** Ends the process, however it is, and removes its folder. */
  async stop(): Promise<void> {
    await this.signal('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #readLog(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const line of linesOf(stream)) {
      try {
        this.log.push(JSON.parse(line) as LogLine);
      } catch {
        // Not a log line: a crash of the runtime writes plain text.
        this.log.push({ event: 'plain text', level: 'error', text: line });
      }
    }
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | null> {
  for await (const line of linesOf(stream)) return line;
  return null;
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const chunk of stream) {
    const lines = (pending + decoder.decode(chunk, { stream: true })).split('\n');
    pending = lines.pop() ?? '';
    yield* lines;
  }
  if (pending !== '') yield pending;
}
