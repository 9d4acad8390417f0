/**
 * Runs commands of the compiled binary as one operator does, and keeps the transcript: a block for each command with
 * what it prints for people, standard error behind `! ` and the exit code where it is not 0.
 *
 * What differs from run to run (ids, times, keys, ports, folders, sizes) stands as a word in capitals; equal ids get
 * equal numbers.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BINARY, runBinary } from './binary.ts';
import type { Run } from './binary.ts';
import { startHook } from './hook.ts';
import type { Hook } from './hook.ts';
import { startNames } from './names.ts';
import type { Names } from './names.ts';
import { PostgresServer } from './postgres.ts';
import { startReceiver } from './receiver.ts';
import type { Receiver } from './receiver.ts';

const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\bpr_(live|test)_\w+/g, 'pr_$1_KEY'],
  [/KEY…\w{4}/g, 'KEY…LAST'],
  [/\bwhsec_[\w+/=]+/g, 'whsec_SECRET'],
  [/\bp=[\w+/=]{20,}/g, 'p=PUBLIC'],
  [/^(dashboard password +)\S+$/gm, '$1PASSWORD'],
  [/^[\w-]{24}$/gm, 'PASSWORD'],
  [/\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, 'TIME'],
  [/\b20\d\d-\d\d-\d\d\b/g, 'DAY'],
  [/before-restore-\w+/g, 'before-restore-TIME'],
  [/postrider-dev-\w+/g, 'postrider-dev-RANDOM'],
  [/\bsha256 [0-9a-f]{16}\b/g, 'sha256 DIGEST'],
  [/postgres:\/\/\w\S*?(?=[\s"])/g, 'postgres://DATABASE'],
  [/\b127\.0\.0\.1:\d+/g, '127.0.0.1:PORT'],
  [/\bhook\.rig\.test:\d+/g, 'hook.rig.test:PORT'],
  [/\bport_\d+/g, 'port_PORT'],
  [/\bpid \d+/g, 'pid NUMBER'],
  [/\b\d+ bytes/g, 'NUMBER bytes'],
  [/"bun":"[^"]+","commit":"[^"]+"/g, '"bun":"VERSION","commit":"COMMIT"'],
  [/\(Bun [^)]*\)/g, '(Bun VERSION, COMMIT)'],
  // Who runs the tests.
  [/^WHEN \(UTC\) +WHO +BY/gm, 'WHEN (UTC)  WHO  BY'],
  [/^TIME {2}\S+ +command/gm, 'TIME  USER  command'],
  // Rows of an hour or a day: the session may last into the next one.
  [/^((?:outcome|harm)_hours|(?:usage|status)_days)( +)\d+ rows?/gm, '$1$2SOME rows'],
  [/^\d+ rows are there/gm, 'SOME rows are there'],
];
const ID = /\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|pr[0-9a-f]{8,})\b/g;
/** What `doctor` says of the machine under test, not of Postrider; and how often each level was said. */
const OF_MACHINE = /^ {2}\S+ +(?:disk|descriptors): .*\n|^Checks: .*\n/gm;
/** How far `migrate` is: said every two seconds, so only where the machine is slow (test/commands/migrate.test.ts). */
const PROGRESS = /^(?:Copying|Comparing) \w+: [\d,]+ of [\d,]+ rows\n/gm;
/** The id of nothing. */
export const NOBODY = '01900000-0000-7000-8000-000000000000';

type Server = Bun.Subprocess<'ignore', 'pipe', 'ignore'>;

export class OperatorTerminal {
  readonly folder = mkdtempSync(join(tmpdir(), 'session-'));
  readonly config = join(this.folder, 'postrider.toml');
  readonly names: Names;
  readonly receiver: Receiver;
  readonly database: PostgresServer;
  readonly hook: Hook;
  readonly #env = { POSTRIDER_CONFIG: this.config, TMPDIR: this.folder };
  readonly #ids = new Map<string, string>();
  readonly #blocks: string[] = [];
  #server: Server | null = null;
  /** The first key of the first account. */
  #key = '';
  /** Of the API of what `begin` started last. */
  #url = '';

  private constructor(names: Names, receiver: Receiver, database: PostgresServer, hook: Hook) {
    this.hook = hook;
    this.names = names;
    this.receiver = receiver;
    this.database = database;
  }

  static async start(): Promise<OperatorTerminal> {
    const names = await startNames();
    const receiver = await startReceiver({ hostname: 'mx.example.net' });
    names.set('example.net', 'MX', ['10 mx.example.net']);
    names.set('mx.example.net', 'A', [receiver.host]);
    return new OperatorTerminal(names, receiver, await PostgresServer.start(), await startHook());
  }

  get transcript(): string {
    return this.#blocks.join('\n');
  }

  /** Runs one command to its end. Gives standard output as it was. */
  async run(words: readonly string[], stdin = ''): Promise<string> {
    const ran = await this.#spawn(words, stdin);
    this.#key ||= /pr_live_\w+/.exec(ran.stdout)?.[0] ?? '';
    this.#say(words, [
      ...linesOf(ran.stderr.replaceAll(PROGRESS, '')).map((line) => `! ${line}`),
      ...linesOf(words[0] === 'doctor' ? unfolded(ran.stdout) : ran.stdout),
      ...(ran.code === 0 ? [] : [`= ${ran.code}`]),
    ]);
    return ran.stdout;
  }

  /** Asks until `words` print `text`, for 20 s at most; not in the transcript. */
  async until(words: readonly string[], text: string): Promise<void> {
    const deadline = Date.now() + 20_000;
    while (!(await this.#spawn(words, '')).stdout.includes(text)) {
      if (Date.now() > deadline) throw new Error(`${words.join(' ')} never said "${text}"`);
    }
  }

  /** A request of an application with the first key; not in the transcript. */
  async request(method: string, path: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.#key}`, 'user-agent': 'shop/1' };
    await (await fetch(this.#url + path, { method, headers })).text();
  }

  /** Starts a command that goes on, and waits until it has printed `last`, for 20 s at most. */
  async begin(words: readonly string[], last: string): Promise<void> {
    const child = Bun.spawn([BINARY, ...words], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'] ?? '', ...this.#env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'ignore',
    });
    this.#server = child;
    const tooLate = setTimeout(() => child.kill('SIGKILL'), 20_000);
    let text = '';
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk);
      if (text.includes(last) && text.endsWith('\n')) break;
    }
    clearTimeout(tooLate);
    if (!text.includes(last)) throw new Error(`${words.join(' ')} never said "${last}":\n${text}`);
    this.#url = /http:\S+/.exec(text)?.[0] ?? '';
    this.#say(words, linesOf(text));
  }

  /** Ends what `begin` started, as the service manager does. */
  async end(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    server.kill('SIGTERM');
    this.#blocks.push(`(SIGTERM: the exit code is ${await server.exited})\n`);
  }

  async stop(): Promise<void> {
    this.#server?.kill('SIGKILL');
    await Promise.all([
      this.names.stop(),
      this.receiver.stop(),
      this.hook.stop(),
      this.database.stop(),
    ]);
    rmSync(this.folder, { recursive: true });
  }

  #spawn(words: readonly string[], stdin: string): Promise<Run> {
    return runBinary([...words], { stdin, env: this.#env, cwd: this.folder });
  }

  #say(words: readonly string[], lines: readonly string[]): void {
    const line = words.map((word) => (/[\s()]/.test(word) ? `'${word}'` : word)).join(' ');
    this.#blocks.push(`${this.#mask(`$ postrider ${line}\n${lines.join('\n')}`).trimEnd()}\n`);
  }

  #mask(text: string): string {
    const known = MASKS.reduce((shown, [pattern, word]) => shown.replaceAll(pattern, word), text);
    return known.replaceAll(this.folder, 'DIR').replaceAll(ID, (id) => {
      const name = this.#ids.get(id) ?? `ID${this.#ids.size + 1}`;
      this.#ids.set(id, name);
      return name;
    });
  }
}

/** Every id in a text, in its order. */
export const idsIn = (text: string): string[] => text.match(ID) ?? [];

/** Findings in one line each, since where a line is broken depends on paths and numbers. */
const unfolded = (text: string): string =>
  text.replaceAll(/\n {12}/g, ' ').replaceAll(OF_MACHINE, '');

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
