/**
 * The README's way from nothing to the first mail, word for word, with the compiled binary: its commands by one shell in
 * an empty directory, its example by Bun with the `resend` package.
 *
 * Only what the README tells its reader to put in is put in: the key that `init` showed, the id that the API answered,
 * and for the example key and base address. DNS and the receiver are the rig's; where they are is written into the config
 * that `init` made. What the README shows as output must be what came, line by line; `…` stands for anything in its line.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { BINARY } from '../rig/binary.ts';
import { verifyWithDkimpy } from '../rig/dkim-verifier.ts';
import { startNames } from '../rig/names.ts';
import type { Names } from '../rig/names.ts';
import { describeWith } from '../rig/programs.ts';
import { startReceiver } from '../rig/receiver.ts';
import type { ReceivedMessage, Receiver } from '../rig/receiver.ts';
import type { PublishedRecord } from '../rig/world.ts';

const ROOT = join(import.meta.dir, '../..');
const API = 'http://127.0.0.1:8025';

interface Block {
  language: string;
  text: string;
}

/** The fenced blocks below a heading, in their order. */
function blocksBelow(heading: string): Block[] {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [, below = ''] = readme.split(`\n## ${heading}\n`);
  const [section = ''] = below.split('\n## ');
  const found = section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return Array.from(found, ([, language = '', text = '']) => ({ language, text }));
}

/** Fails unless the README's lines stand in `output` as they are, one below the other. */
function expectShown(output: string, shown: string): void {
  const lines = shown
    .trimEnd()
    .split('…')
    .map((text) => RegExp.escape(text));
  expect(`\n${output}`).toMatch(new RegExp(`\n${lines.join('.+')}\n`));
}

/** One shell for all commands, as a reader has one. */
class Shell {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'pipe'>;
  readonly #output: AsyncIterator<string>;
  #pending = '';

  constructor(folder: string) {
    this.#child = Bun.spawn(['bash'], {
      cwd: folder,
      env: { PATH: `${dirname(BINARY)}:${process.env['PATH'] ?? ''}` },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      // A process group of its own, so that nothing outlives a test that failed.
      detached: true,
    });
    void this.#child.stdin.write('failed=0; trap "failed=\\$?" ERR\n');
    this.#output = textOf(this.#child.stdout);
  }

  /** What the commands printed. Throws with it when one of them failed. */
  async run(commands: string): Promise<string> {
    const mark = `--- done ${crypto.randomUUID()} `;
    void this.#child.stdin.write(`${commands}\necho "${mark}$failed"\n`);
    await this.#child.stdin.flush();
    const end = new RegExp(`${mark}(\\d+)\n`);
    for (;;) {
      const found = end.exec(this.#pending);
      if (found !== null) {
        const printed = this.#pending.slice(0, found.index);
        this.#pending = this.#pending.slice(found.index + found[0].length);
        if (found[1] === '0') return printed;
        throw new Error(`${commands}\nended with ${found[1]}:\n${printed}`);
      }
      const next = await this.#output.next();
      if (next.done === true) throw new Error(`the shell ended at:\n${commands}`);
      this.#pending += next.value;
    }
  }

  /** Kills it and what it started, where anything of it is left. */
  kill(): void {
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Ends the shell; what it and the commands wrote to standard error. */
  async end(): Promise<string> {
    await this.#child.stdin.end();
    return await new Response(this.#child.stderr).text();
  }
}

async function* textOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) yield decoder.decode(chunk, { stream: true });
}

/** The records that `domain add` printed: type and name, and the value in the line below. */
function printedRecords(output: string): PublishedRecord[] {
  const found = output.matchAll(/^ {2}(TXT|CNAME) (\S+)\n {2}(.+)$/gm);
  return Array.from(found, ([, type, name = '', value = '']) => ({
    type: type === 'CNAME' ? type : 'TXT',
    name,
    value,
  }));
}

/** Waits for a line of the log. */
async function logged(
  file: string,
  accepts: (line: Record<string, unknown>) => boolean,
): Promise<void> {
  const isThere = (): boolean =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .some((line) => accepts(JSON.parse(line) as Record<string, unknown>));
  await new Promise<void>((resolve) => {
    const watcher = watch(file, () => look());
    const look = (): void => {
      if (!isThere()) return;
      watcher.close();
      resolve();
    };
    look();
  });
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

describeWith(['curl', 'openssl', 'python3-dkim'], 'the README', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-readme-'));
  const config = join(folder, 'postrider.toml');
  let names: Names;
  let receiver: Receiver;
  let shell: Shell;
  let key = '';
  let records: PublishedRecord[] = [];

  beforeAll(async () => {
    await portIsFree();
    names = await startNames();
    receiver = await startReceiver({ hostname: 'mx.example.net' });
    names.set('example.net', 'MX', ['10 mx.example.net']);
    names.set('mx.example.net', 'A', [receiver.host]);
    shell = new Shell(folder);
  }, 90_000);

  afterAll(async () => {
    shell.kill();
    await Promise.all([names.stop(), receiver.stop()]);
    rmSync(folder, { recursive: true });
  });

  /** The environment of this test, instead of the internet: the lines as `init` wrote them. */
  function useRig(): void {
    let toml = readFileSync(config, 'utf8');
    const { host, port } = names.listen;
    for (const [line, ours] of [
      ['servers = []', `servers = ["${host}:${port}"]`],
      ['port = 25', `port = ${receiver.port}`],
      ['allow_networks = []', 'allow_networks = ["127.0.0.0/8"]'],
    ] as const) {
      expect(toml).toContain(`\n${line}\n`);
      toml = toml.replace(`\n${line}\n`, `\n${ours}\n`);
    }
    writeFileSync(config, toml);
  }

  async function expectSigned(received: ReceivedMessage): Promise<void> {
    expect(received.bytes.toString()).toContain('d=example.com;');
    expect(await verifyWithDkimpy(received.bytes, records)).toBe(true);
  }

  test('from an empty directory to a first mail with curl', async () => {
    const blocks = blocksBelow('From nothing to the first mail');
    expect(blocks.map(({ language }) => language).join(' ')).toBe(
      'sh text sh text sh text sh text sh text',
    );
    const [init, made, serve, added, verify, verified, send, sent, show, shown] = blocks.map(
      ({ text }) => text,
    );

    const printed = await shell.run(init ?? '');
    expectShown(printed, made ?? '');
    key = /pr_live_\w+/.exec(printed)?.[0] ?? '';
    useRig();

    const toPublish = await shell.run(serve ?? '');
    expectShown(toPublish, added ?? '');
    records = printedRecords(toPublish);
    expect(records.map(({ type }) => type)).toEqual(['TXT', 'CNAME', 'TXT']);
    for (const { type, name, value } of records) names.set(name, type, [value]);

    const seen = await shell.run(verify ?? '');
    expectShown(seen, verified ?? '');
    expect(seen.match(/, verified$/gm)).toHaveLength(3);

    const answer = await shell.run((send ?? '').replace('pr_live_…', key));
    expectShown(`${answer}\n`, sent ?? '');
    const { id } = JSON.parse(answer) as { id: string };
    const received = await receiver.messages.first(({ to }) => to.includes('someone@example.net'));
    expect(received.bytes.toString()).toContain('\r\nSubject: Hello\r\n');
    expect(received.from).toEndWith('@send.example.com');
    await expectSigned(received);

    await logged(
      join(folder, 'serve.log'),
      (line) => line['event'] === 'attempt' && line['message_id'] === id,
    );
    expectShown(await shell.run((show ?? '').replace('01…', id)), shown ?? '');
    expect(receiver.messages.items).toHaveLength(1);
  }, 60_000);

  test('the example with the client library', async () => {
    const [example] = blocksBelow('From an application');
    expect(example?.language).toBe('ts');
    const text = (example?.text ?? '')
      .replace('pr_live_…', key)
      .replace('https://mail.example.com', API);
    expect([text.includes(key), text.includes(API)]).toEqual([true, true]);
    writeFileSync(join(folder, 'example.ts'), text);
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const run = Bun.spawn([process.execPath, 'example.ts'], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '' },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, err] = [new Response(run.stdout), new Response(run.stderr)];
    expect([await run.exited, await err.text()]).toEqual([0, '']);
    expect(await out.text()).toMatch(/^01[0-9a-f-]{34}\n$/);
    const received = await receiver.messages.first(({ bytes }) =>
      bytes.includes('\r\nSubject: Your order\r\n'),
    );
    await expectSigned(received);
    expect(received.bytes.toString()).toContain('<p>On its way.</p>');
  }, 60_000);

  test('SIGTERM ends the server, and its log has no error', async () => {
    await shell.run('kill -TERM %1 && wait %1');
    expect(await shell.end()).toBe('');
    // A minute after its start it also says what is wrong with its host.
    const lines = readFileSync(join(folder, 'serve.log'), 'utf8').split('\n');
    const errors = lines.filter(
      (line) => line.includes('"level":"error"') && !line.includes('"host_problem_found"'),
    );
    expect(errors).toEqual([]);
  }, 60_000);
});
