/** Which host a connection goes to, what the server is told of it, and what is asked after a COMMIT whose answer was lost. */
import { afterEach, describe, expect, mock, spyOn, test } from 'bun:test';

import type { HostAddress } from '../../../src/store/postgres/address.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Connection } from '../../../src/store/postgres/connection.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { failureOf } from '../../../src/store/postgres/failures.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { StoreAwayError, StoreUnconfirmedError } from '../../../src/store/store.ts';

afterEach(() => mock.restore());

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

/** What the client says first (PostgreSQL's protocol 3.0, StartupMessage): names and values. */
async function startupOf(url: (port: number) => string): Promise<Record<string, string>> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        resolve(Buffer.from(bytes));
        // As a server that is starting: ErrorResponse with severity, state and words.
        const fields = Buffer.from('SFATAL\0C57P03\0Mnot yet\0\0');
        const head = Buffer.alloc(5, 'E');
        head.writeInt32BE(fields.length + 4, 1);
        socket.end(Buffer.concat([head, fields]));
      },
    },
  });
  const address = databaseAddress(url(server.port), '');
  const [host] = address.hosts;
  if (host === undefined) throw new Error('no host');
  expect(failureOf(await errorOf(Connection.open(address, host)))).toBe('away');
  server.stop(true);
  const words = (await promise).subarray(8).toString().split('\0');
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < words.length && words[at] !== ''; at += 2)
    pairs.push([words[at] ?? '', words[at + 1] ?? '']);
  return Object.fromEntries(pairs);
}

test('a session begins as whom, where, and with every setting that its promises rest on', async () => {
  const said = await startupOf(
    (port) => `postgres://mail%40us@127.0.0.1:${port}/post%2Frider?sslmode=disable`,
  );
  // What the client adds is its own.
  const { client_encoding: _encoding, DateStyle: _style, ...ours } = said;
  expect(ours).toEqual({
    user: 'mail@us',
    database: 'post/rider',
    application_name: 'postrider',
    synchronous_commit: 'on',
    idle_in_transaction_session_timeout: '30s',
    client_connection_check_interval: '5s',
    tcp_keepalives_idle: '10',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '3',
    jit: 'off',
    plan_cache_mode: 'force_custom_plan',
    default_transaction_isolation: 'read committed',
    TimeZone: 'UTC',
  });
});

/** Hosts by name: `primary`, `standby`, or what opening fails with. Notes what is opened and given up. */
function hostsAre(states: Record<string, 'primary' | 'standby' | Error>): string[] {
  const said: string[] = [];
  spyOn(Connection, 'open').mockImplementation((async (_: unknown, host: HostAddress) => {
    const name = 'hostname' in host ? host.hostname : host.path;
    said.push(name);
    const state = states[name];
    if (state instanceof Error) throw state;
    return {
      isPrimary: state === 'primary',
      isLost: false,
      abandon: () => said.push(`${name} is abandoned`),
    };
  }) as never);
  return said;
}
const THREE = databaseAddress('postgres://u@a,b,c/mail?sslmode=disable', '');

describe('of several hosts', () => {
  test('each is asked once, from the one on that was the primary last; who takes no writes is left', async () => {
    const states: Parameters<typeof hostsAre>[0] = { a: 'standby', b: 'primary', c: 'standby' };
    const said = hostsAre(states);
    const database = new Database(THREE);
    await database.connect();
    expect(said.splice(0)).toEqual(['a', 'a is abandoned', 'b']);
    await database.connect();
    expect(said.splice(0)).toEqual(['b']);
    Object.assign(states, { a: 'primary', b: new Error('b is down') });
    await database.connect();
    expect(said.splice(0)).toEqual(['b', 'c', 'c is abandoned', 'a']);
    await database.connect();
    expect(said).toEqual(['a']);
  });

  test('where none is a primary the last failure is told, or that there is none', async () => {
    const states: Parameters<typeof hostsAre>[0] = {
      a: new RangeError('a is down'),
      b: new RangeError('b is down'),
      c: 'standby',
    };
    const said = hostsAre(states);
    expect(await errorOf(new Database(THREE).connect())).toEqual(new RangeError('b is down'));
    expect(said).toEqual(['a', 'b', 'c', 'c is abandoned']);
    Object.assign(states, { a: 'standby', b: 'standby' });
    expect(await errorOf(new Database(THREE).connect())).toEqual(
      new StoreAwayError('no host of the database is a primary'),
    );
  });
});

/** Connections that lose the first COMMIT; `isThere`: it was written all the same; standbys have it as `flushed` says. */
function losing(isThere: boolean, flushed: readonly boolean[]) {
  const said: string[] = [];
  const answers = [...flushed];
  let opened = 0;
  spyOn(Database.prototype, 'connect').mockImplementation((async () => {
    const number = (opened += 1);
    const connection = {
      isLost: false,
      nextNumber: () => ({ session: `s${number}`, number: 7 }),
      abandon: () => undefined,
      close: async () => undefined,
      ask: async (text: string, params: unknown[] = []) => {
        if (text === 'COMMIT' && number === 1) {
          connection.isLost = true;
          throw new StoreAwayError('gone');
        }
        if (text.includes('is_lost')) {
          said.push(`${number} asks after ${params.join(' ')}`);
          return { rows: [{ isLost: !isThere }], changes: 1, command: 'INSERT' };
        }
        if (text.includes('pg_stat_replication') && number === 1) throw new StoreAwayError('gone');
        if (text.includes('pg_stat_replication')) {
          said.push(`${number} asks for ${params.join(' ') || 'now'}`);
          return { rows: [{ lsn: 'x', isFlushed: answers.shift() ?? false }] };
        }
        if (text === 'COMMIT') said.push(`${number} commits`);
        return { rows: [], changes: 0, command: text };
      },
    };
    return connection;
  }) as never);
  return said;
}

describe('a COMMIT whose answer was lost', () => {
  const change = part('UPDATE');

  test('is not run again where it was written, and is an answer only when a standby has it, where one must', async () => {
    const plain = losing(true, []);
    const clock = spyOn(performance, 'now').mockReturnValue(1_000);
    const database = new Database(THREE);
    clock.mockReturnValue(2_000);
    expect(await database.transaction(async () => 'written')).toBe('written');
    expect(plain).toEqual(['2 asks after s1 7']);
    // It is a commit like any other.
    expect(database.state().sinceCommitMs).toBe(0);
    mock.restore();

    const replicated = losing(true, [false, false, true]);
    await new Database(THREE).replicated().transaction((session) => session.run(change));
    expect(replicated).toEqual([
      '2 asks after s1 7',
      '2 asks for now',
      '2 asks for x',
      '2 asks for x',
    ]);
    mock.restore();

    losing(true, []);
    const late = new Database(THREE, 20).replicated().transaction((session) => session.run(change));
    expect(await errorOf(late)).toBeInstanceOf(StoreUnconfirmedError);
  });

  test('counts as the last commit where it was written', async () => {
    losing(true, []);
    let now = 1_000;
    spyOn(performance, 'now').mockImplementation(() => (now += 1));
    const database = new Database(THREE);
    now += 60_000;
    expect(database.state().sinceCommitMs).toBeGreaterThan(60_000);
    await database.transaction(async () => 'written');
    const { sinceCommitMs } = database.state();
    mock.restore();
    expect(sinceCommitMs).toBe(1);
  });

  test('is run again where it was not written', async () => {
    const said = losing(false, []);
    let runs = 0;
    expect(await new Database(THREE).transaction(async () => (runs += 1))).toBe(2);
    expect(said).toEqual(['2 asks after s1 7', '2 commits']);
  });
});
