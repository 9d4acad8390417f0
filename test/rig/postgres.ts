/**
 * A PostgreSQL server for tests: started when the first test asks for it, ended with the process, however that ends.
 *
 * Each test gets a database of its own, copied from a template that has the schema already. Data is not synced, unless a
 * test asks for a server of its own.
 */
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';

import { databaseAddress } from '../../src/store/postgres/address.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { makePartitions } from '../../src/store/postgres/partitions.ts';
import { migrate } from '../../src/store/postgres/schema.ts';

const TEMPLATE = 'template_postrider';
const USER = 'postrider';
const DEFAULT_PORT = 5432;

/** Where Debian and others put the programs. */
function programs(): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).map(Number) : [];
  const newest = Math.max(...versions.filter((version) => version >= 15), 0);
  if (newest > 0) return join(debian, String(newest), 'bin');
  const found = Bun.which('postgres');
  if (found === null)
    throw new Error('PostgreSQL 15 or newer is not installed: apt-get install postgresql');
  return found.slice(0, found.lastIndexOf('/'));
}

/** The server refuses to run as root. */
const AS_USER =
  process.getuid?.() === 0
    ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups']
    : [];

type Keeper = Bun.Subprocess<'pipe', 'ignore', 'pipe'>;

export interface ServerOptions {
  /** Listens there on loopback too. */
  port?: number | null;
  /** Further settings, such as `fsync=on`. */
  settings?: string[];
  /** Files that the server must own to read them. */
  ownFiles?: string[];
  /** It is a standby. */
  follows?: Following;
}

/** Whom a standby follows. */
interface Following {
  primary: PostgresServer;
  /** What it is called in `synchronous_standby_names`. */
  name: string;
}

export class PostgresServer {
  readonly directory: string;
  readonly #port: number;
  readonly #settings: readonly string[];
  #keeper: Keeper;
  #databases = 0;
  #template: Promise<void> | null = null;

  private constructor(directory: string, port: number, settings: readonly string[]) {
    this.directory = directory;
    this.#port = port;
    this.#settings = settings;
    this.#keeper = this.#run();
  }

  static async start({
    settings = [],
    port = null,
    ownFiles = [],
    follows,
  }: ServerOptions = {}): Promise<PostgresServer> {
    const directory = mkdtempSync(join(tmpdir(), 'postrider-pg-'));
    chmodSync(directory, 0o777);
    if (follows === undefined) await makeData(directory);
    else await copyData(directory, follows);
    const { uid, gid } = statSync(join(directory, 'data'));
    for (const file of [directory, ...ownFiles]) chownSync(file, uid, gid);
    const server = new PostgresServer(directory, port ?? DEFAULT_PORT, [
      'fsync=off',
      `listen_addresses=${port === null ? '' : '127.0.0.1'}`,
      `port=${port ?? DEFAULT_PORT}`,
      `unix_socket_directories=${directory}`,
      'shared_buffers=32MB',
      'max_connections=60',
      ...settings,
    ]);
    await isReady(server.#keeper.stderr);
    return server;
  }

  #run(): Keeper {
    const settings = this.#settings.map((one) => `-c '${one}'`).join(' ');
    // Ends the server, and removes what it has written, as soon as the process that started it is gone. A test runner
    // that has several workers sends SIGTERM to all that a worker has started: this one goes on until it has removed.
    const script = `trap : TERM; setpriv --pdeathsig QUIT "$1/postgres" -D "$2/data" ${settings} & pid=$!
      word=$(cat); exec 2>/dev/null; kill -QUIT $pid; while kill -0 $pid; do wait $pid; done; [ "$word" = keep ] || rm -rf "$2"`;
    const program = [...AS_USER, 'sh', '-c', script, 'sh', programs(), this.directory];
    return Bun.spawn(program, { stdin: 'pipe', stdout: 'ignore', stderr: 'pipe' });
  }

  /** Ends the server at once, as a crash would; its data stays. */
  async pause(): Promise<void> {
    await this.#end('keep');
  }

  /** Starts it anew as a standby, which follows nobody and takes no writes. */
  async makeStandby(): Promise<void> {
    await this.pause();
    writeFileSync(join(this.directory, 'data', 'standby.signal'), '');
    await this.resume();
  }

  /** Makes a primary of a standby. */
  async promote(): Promise<void> {
    const admin = this.admin();
    await admin.unsafe('SELECT pg_promote(true)');
    await admin.close();
  }

  /** Ends the server with SIGKILL; its data stays, and `stop` removes it. */
  async kill(): Promise<void> {
    for (const pid of this.#processes()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        // A child ends by itself when it sees that the server's own has gone.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    await this.#end('keep');
  }

  /** Stops the process of a standby that takes what the primary has written, or lets it go on. */
  freezeReceiver(isFrozen: boolean): void {
    const receiver = this.#processes().find((pid) => commandOf(pid).includes('walreceiver'));
    if (receiver === undefined) throw new Error('it follows nobody');
    process.kill(receiver, isFrozen ? 'SIGSTOP' : 'SIGCONT');
  }

  /** The server's own first. */
  #processes(): number[] {
    const file = readFileSync(join(this.directory, 'data', 'postmaster.pid'), 'utf8');
    const [pid = ''] = file.split('\n');
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return [pid, ...children].map(Number);
  }

  /** Makes a standby follow another primary, after a failover. */
  async follow({ primary, name }: Following): Promise<void> {
    const admin = this.admin();
    await admin.unsafe(`ALTER SYSTEM SET primary_conninfo = '${whereIs(primary, name)}'`);
    await admin.unsafe('SELECT pg_reload_conf()');
    await admin.close();
  }

  /** Starts it again as a standby with a copy of the primary's data, after a failover. */
  async rejoin(follows: Following): Promise<void> {
    rmSync(join(this.directory, 'data'), { recursive: true });
    await copyData(this.directory, follows);
    await this.resume();
  }

  async resume(): Promise<void> {
    this.#keeper = this.#run();
    await isReady(this.#keeper.stderr);
  }

  async #end(word = ''): Promise<void> {
    if (word !== '') await this.#keeper.stdin.write(word);
    await this.#keeper.stdin.end();
    await this.#keeper.exited;
  }

  /** Path of the Unix socket. */
  get socket(): string {
    return join(this.directory, `.s.PGSQL.${this.#port}`);
  }

  /** The URL of one of its databases, as the config has it. */
  url(database: string): string {
    return `postgres://${USER}@${encodeURIComponent(this.directory)}:${this.#port}/${database}?sslmode=disable`;
  }

  /** A connection past the store, for what no verb does. */
  admin(database = 'postgres'): SQL {
    const path = this.socket;
    return new SQL({ adapter: 'postgres', path, username: USER, database, max: 1 });
  }

  /** A new database with the schema; returns its URL. */
  async freshDatabase(): Promise<string> {
    this.#template ??= this.#makeTemplate();
    await this.#template;
    this.#databases += 1;
    const name = `t${this.#databases}`;
    await this.#administer(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY file_copy`);
    return this.url(name);
  }

  async stop(): Promise<void> {
    await this.#end();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #makeTemplate(): Promise<void> {
    await this.#administer(`CREATE DATABASE ${TEMPLATE}`);
    const database = new Database(databaseAddress(this.url(TEMPLATE), ''));
    await migrate(database, Date.now());
    await makePartitions(database, Date.now());
    await database.close();
  }

  async #administer(text: string): Promise<void> {
    const admin = this.admin();
    await admin.unsafe(text);
    await admin.close();
  }
}

async function makeData(directory: string): Promise<void> {
  const init = ['-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  await run('initdb', ['-D', join(directory, 'data'), ...init]);
}

async function copyData(directory: string, { primary, name }: Following): Promise<void> {
  const data = join(directory, 'data');
  const from = ['-h', primary.directory, '-U', USER, '-D', data];
  await run('pg_basebackup', [...from, '--checkpoint=fast', '--no-sync', '-X', 'stream']);
  const lines = `primary_conninfo = '${whereIs(primary, name)}'\nwal_retrieve_retry_interval = 100ms\n`;
  appendFileSync(join(data, 'postgresql.auto.conf'), lines);
  writeFileSync(join(data, 'standby.signal'), '');
}

const whereIs = ({ directory }: PostgresServer, name: string): string =>
  `host=${directory} user=${USER} application_name=${name}`;

async function run(program: string, args: readonly string[]): Promise<void> {
  const made = Bun.spawn([...AS_USER, join(programs(), program), ...args], {
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await new Response(made.stderr).text();
  if ((await made.exited) !== 0) throw new Error(`${program} failed: ${said}`);
}

/** Resolves when the server says that it takes connections. */
async function isReady(output: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  const reader = output.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`PostgreSQL did not start: ${text}`);
    text += decoder.decode(value, { stream: true });
    if (/ready to accept (?:read-only )?connections/.test(text)) break;
  }
  // Goes on reading, so that the server never waits for a full pipe.
  void (async () => {
    while (!(await reader.read()).done);
  })();
}

let started: Promise<PostgresServer> | null = null;

/** The server of this process's tests. */
export function testServer(): Promise<PostgresServer> {
  started ??= PostgresServer.start();
  return started;
}

/** Empty when the process has just ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
