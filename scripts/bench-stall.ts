/**
 * How long the server answers nobody while it does what grows with its data.
 *
 * `scripts/bench stall [--rows 1000000] [--queued 0] [--csv 300000] [--binary dist/postrider] [--keep DIR]`: fills a data
 * directory, starts the binary on it and asks GET /health every few milliseconds while the minute after the start passes
 * (brake, retention), suppressions are imported and exported, lists, searches, usage, overview and /metrics are read and
 * a backup is taken. Prints one row a phase and one JSON line. Search finds what the index holds; it is being made
 * meanwhile. `--keep` leaves the directory for a second run with the same `--keep`.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fillDirectory } from '../test/rig/filled-directory.ts';
import type { PhaseTimes } from './bench-stall-probe.ts';
import { scriptOptions } from './options.ts';

interface Made {
  config: string;
  data_dir: string;
  account_id: string;
  admin_password: string;
  key: string;
}

const { values } = scriptOptions({
  options: {
    rows: { type: 'string', default: '1000000' },
    queued: { type: 'string', default: '0' },
    csv: { type: 'string', default: '300000' },
    binary: { type: 'string', default: 'dist/postrider' },
    keep: { type: 'string' },
  },
});

/** The brake and retention begin a minute after the start. */
const START_MS = 90_000;
const SEARCHES = ['order', '42', 'parcel left', 'user99999@', 'z', 'no such words', '.example.n'];

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function run(args: string[]): Promise<string> {
  const child = Bun.spawn([values.binary, ...args], { stdout: 'pipe', stderr: 'pipe' });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
  return text;
}

/** A filled data directory in `folder`, with its config; made once. */
async function directory(folder: string): Promise<Made> {
  const note = join(folder, 'made.json');
  if (existsSync(note)) return JSON.parse(readFileSync(note, 'utf8')) as Made;
  const config = join(folder, 'postrider.toml');
  const paths = ['--config', config, '--data-dir', join(folder, 'data')];
  const made = JSON.parse(
    await run(['init', '--json', '--hostname', 'mail.bench.test', ...paths]),
  ) as Made;
  writeFileSync(
    config,
    `hostname = "mail.bench.test"\ndata_dir = "${made.data_dir}"\n[http]\nlisten = "127.0.0.1:0"\n` +
      '[dns]\nservers = ["127.0.0.1:1"]\n',
  );
  const began = performance.now();
  fillDirectory({
    dataDir: made.data_dir,
    accountId: made.account_id,
    now: Date.now(),
    days: 35,
    rows: Number(values.rows),
    queued: Number(values.queued),
  });
  say(`filled in ${Math.round((performance.now() - began) / 1000)} s`);
  writeFileSync(note, JSON.stringify(made));
  return made;
}

interface Server {
  url: string;
  pid: number;
  readyMs: number;
  stop(): Promise<void>;
}

async function start({ config }: Made, folder: string): Promise<Server> {
  const began = performance.now();
  const child = Bun.spawn([values.binary, 'serve', '--json', '--config', config], {
    stdout: 'pipe',
    stderr: Bun.file(join(folder, 'serve.log')),
  });
  const { value } = await child.stdout.getReader().read();
  const { http } = JSON.parse(new TextDecoder().decode(value)) as { http: string };
  return {
    url: http,
    pid: child.pid,
    readyMs: performance.now() - began,
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

function csv(rows: number, salt: number): string {
  const lines = Array.from(
    { length: rows },
    (_, i) => `imported${i}.${salt}@list${i % 997}.example.org,manual`,
  );
  return `email,reason\n${lines.join('\n')}\n`;
}

type Ask = (path: string, cookie?: string) => Promise<void>;

async function signIn(url: string, { admin_password }: Made): Promise<string> {
  const response = await fetch(`${url}/dashboard/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: url,
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams({ password: admin_password }).toString(),
  });
  const cookie = response.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error(`no session: ${response.status}`);
  return cookie;
}

async function phases(
  server: Server,
  made: Made,
  folder: string,
  began: (name: string) => void,
): Promise<void> {
  const { url } = server;
  const headers = { authorization: `Bearer ${made.key}` };
  const ask: Ask = async (path, cookie) => {
    const response = await fetch(url + path, {
      headers: cookie === undefined ? headers : { cookie },
    });
    await response.arrayBuffer();
    // A search for rare words is refused while its index lacks many rows (docs/decisions.md D493).
    if (response.status === 503 && path.includes('?q=')) return;
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
  };
  const times = async (count: number, ...paths: string[]): Promise<void> => {
    for (let at = 0; at < count; at += 1) for (const path of paths) await ask(path);
  };
  began('the first minute and a half');
  await Bun.sleep(START_MS);
  const cookie = await signIn(url, made);
  began('/metrics');
  await times(10, '/metrics');
  began('overview');
  for (let at = 0; at < 10; at += 1) await ask('/dashboard', cookie);
  began('usage');
  await times(20, '/usage');
  began('lists');
  await times(
    20,
    '/emails?limit=100',
    '/logs?limit=100',
    '/suppressions?limit=100',
    '/email?page=50',
  );
  began('searches');
  const found = SEARCHES.map((q) => encodeURIComponent(q));
  await times(
    3,
    ...found.flatMap((q) => [`/emails?q=${q}`, `/logs?q=${q}`, `/suppressions?q=${q}`]),
  );
  const file = join(folder, 'import.csv');
  writeFileSync(file, csv(Number(values.csv), Date.now()));
  const operator = ['--config', made.config];
  began(`import of ${values.csv} suppressions`);
  await run(['suppression', 'import', file, ...operator]);
  began('export of all suppressions');
  await run(['suppression', 'export', ...operator]);
  began('queue list');
  await run(['queue', 'list', ...operator]);
  const copy = join(folder, 'copy.db');
  rmSync(copy, { force: true });
  began('backup');
  await run(['backup', copy, ...operator]);
  rmSync(copy, { force: true });
  began('rest');
  await Bun.sleep(2_000);
}

/** What the probe says of each phase, said as soon as it is over: a backup of ten million rows takes half an hour. */
async function told(output: ReadableStream<Uint8Array>): Promise<PhaseTimes[]> {
  const results: PhaseTimes[] = [];
  for await (const line of createInterface({ input: Readable.fromWeb(output) })) {
    const times = JSON.parse(line) as PhaseTimes;
    const { phase, answers, p50Ms, p95Ms, longestMs, longestOwnMs } = times;
    const cells = [p50Ms, p95Ms, longestMs, longestOwnMs].map((ms) => ms.toFixed(1).padStart(9));
    say(
      `${phase.padEnd(36)} ${String(answers).padStart(6)} answers  p50 p95 longest own${cells.join('')} ms`,
    );
    results.push(times);
  }
  return results;
}

async function measure(folder: string): Promise<PhaseTimes[]> {
  const made = await directory(folder);
  const server = await start(made, folder);
  say(`ready after ${Math.round(server.readyMs)} ms`);
  const probe = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, 'bench-stall-probe.ts'),
      server.url,
      String(server.pid),
    ],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' },
  );
  try {
    const results = told(probe.stdout);
    await phases(server, made, folder, (name) => {
      say(`… ${name}`);
      void probe.stdin.write(`${name}\n`);
      void probe.stdin.flush();
    });
    await probe.stdin.end();
    return await results;
  } finally {
    probe.kill();
    await server.stop();
  }
}

const folder = values.keep ?? `/tmp/postrider-stall-${process.pid}`;
await Bun.$`mkdir -p ${folder}`;
try {
  const results = await measure(folder);
  say(JSON.stringify({ bench: 'stall', rows: Number(values.rows), results }));
} finally {
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
}
