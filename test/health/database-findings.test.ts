/** What the host check makes of what a database says of itself: every finding whole, and each limit at its last good value. */
import { afterEach, expect, mock, spyOn, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { examineDatabase } from '../../src/health/database.ts';
import type { Finding } from '../../src/health/finding.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { TestClock } from '../rig/clock.ts';

afterEach(() => mock.restore());

const SOUND = {
  version: '15.18',
  versionNumber: 150_000,
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousCommit: 'on',
  mostConnections: 97,
  otherConnections: 0,
  bytes: 2 ** 20 + 1,
  hasSchema: true,
};
const STANDBYS = { names: '', connected: 0, synchronous: 0, hidden: 0 };

interface Said {
  facts?: Partial<typeof SOUND>;
  standbys?: Partial<typeof STANDBYS>;
  aheadMs?: number;
  nodes?: number;
  isRequired?: boolean;
}

/** The findings over a database that says so. */
async function found(said: Said = {}): Promise<Finding[]> {
  const clock = new TestClock();
  // The database tells the time of day too.
  clock.jump(3_600_000);
  spyOn(Database.prototype, 'first').mockImplementation((({ text }: { text: string }) => {
    if (text.includes('pg_stat_replication')) return { ...STANDBYS, ...said.standbys };
    if (text.includes('max_connections')) return { ...SOUND, ...said.facts };
    if (text.includes('clock_timestamp')) return { at: clock.now() + (said.aheadMs ?? 0) };
    return null;
  }) as never);
  const report = { taken: 0, inDelivery: 0, clockAheadMs: 0 };
  const node = { addresses: '[]', beganAt: 0, heardMsAgo: 0, isDrainAsked: false, ...report };
  spyOn(Database.prototype, 'all').mockImplementation((() =>
    Array.from({ length: said.nodes ?? 0 }, (_, at) => {
      return { ...node, id: `${at}`, name: `n${at}`, version: '1' };
    })) as never);
  const required = said.isRequired === true ? '\nrequire_standby = true' : '';
  const text = `hostname = "mail.example.com"\n[store]\nurl = "postgres://u@db/mail"${required}`;
  const config = parseConfig(text, 'c');
  return examineDatabase({ config, clock, resolver: undefined as never });
}

/** One finding as text. */
async function one(check: string, said: Said): Promise<string> {
  const all = (await found(said)).filter((each) => each.check === check);
  return all.map(({ level, summary, advice }) => `${level}: ${summary} | ${advice}`).join('\n');
}

test('a sound database, question by question', async () => {
  const ok = (check: string, summary: string) => ({ check, level: 'ok', summary, advice: null });
  const findings = await found({ standbys: { connected: 2, synchronous: 1, hidden: 1 }, nodes: 1 });
  expect(findings as unknown[]).toEqual([
    ok('database', 'The database is PostgreSQL 15.18.'),
    ok('database_durability', 'What the database has committed survives a loss of power.'),
    ok('database_standby', 'A synchronous standby has what the database commits.'),
    ok('database_connections', 'The database can take 97 connections of nodes.'),
    ok('database_clock', 'The clock of the database agrees with this one.'),
    ok(
      'database_disk',
      'The database has 2 MiB. Its free space cannot be seen from here: watch it on its server.',
    ),
    ok('secret_key', 'No secret is stored yet.'),
    ok('node_versions', 'One node takes part, with version 1.'),
    ok('node_names', 'Every node has a name of its own.'),
    ok('node_clocks', 'The clocks of the nodes agree with the database.'),
  ]);
  expect(await found({ facts: { hasSchema: false }, nodes: 1 })).toHaveLength(7);
});

test('a server that is too old, and one that can lose what it has committed', async () => {
  expect(await one('database', { facts: { version: '14.9', versionNumber: 149_999 } })).toBe(
    'error: The database is PostgreSQL 14.9. | Use PostgreSQL 15 or newer.',
  );
  const durability = (facts: Said['facts'] = {}) => one('database_durability', { facts });
  expect(await durability({ synchronousCommit: 'remote_apply' })).toStartWith('ok: ');
  const can = 'error: The database can lose accepted mail with the power:';
  const set =
    'Set each to on in postgresql.conf, and let no connection pooler drop the settings of a session.';
  for (const [facts, wrong] of [
    [{ fsync: 'off' }, 'fsync = off'],
    [{ fullPageWrites: 'off' }, 'full_page_writes = off'],
    [{ synchronousCommit: 'local' }, 'synchronous_commit = local'],
    [{ synchronousCommit: 'remote_write' }, 'synchronous_commit = remote_write'],
    [
      { fsync: 'off', fullPageWrites: 'off', synchronousCommit: 'off' },
      'fsync = off, full_page_writes = off, synchronous_commit = off',
    ],
  ] as const) {
    expect(await durability(facts)).toBe(`${can} ${wrong}. | ${set}`);
  }
});

test('standbys: none, hidden, asynchronous, each with what to do, wanted or required', async () => {
  const name =
    'Set synchronous_standby_names on the primary (Patroni: synchronous_mode), so that COMMIT waits for a standby.';
  const grant = 'Grant the role of [store] url the role pg_monitor: it may not see the standbys.';
  const none = 'The database has no standby.';
  const unseen = 'Whether the standbys of the database are synchronous cannot be seen.';
  const asynchronous =
    'The database has asynchronous standbys only: emails that were answered with an id can be lost with a failover.';
  for (const [standbys, summary, advice] of [
    [{}, none, name],
    [{ names: 's' }, none, 'Start a standby of the primary, or see why it cannot connect.'],
    [{ names: 's', connected: 1, hidden: 1 }, unseen, grant],
    [{ names: 's', connected: 2, hidden: 1 }, unseen, grant],
    [{ connected: 1 }, asynchronous, name],
    [
      { names: 's', connected: 1 },
      asynchronous,
      'Name a connected standby in synchronous_standby_names: those that are connected are asynchronous.',
    ],
  ] as const) {
    expect(await one('database_standby', { standbys })).toBe(
      `warning: ${summary} | ${advice} Then set [store] require_standby = true.`,
    );
    expect(await one('database_standby', { standbys, isRequired: true })).toBe(
      `error: ${summary} Sends are refused: [store] require_standby is true. | ${advice}`,
    );
  }
});

test('connections for the nodes there are and one more, none of them below zero', async () => {
  const seen = (mostConnections: number, otherConnections: number, nodes: number) =>
    one('database_connections', { facts: { mostConnections, otherConnections }, nodes });
  const raise = (by: number): string =>
    `Raise max_connections of the server by ${by}: each node takes up to 8, and one may start while another ends.`;
  const can = (count: number): string => `The database can take ${count} connections of nodes.`;
  // Without a node one is to come.
  expect(await seen(20, 4, 0)).toBe(`ok: ${can(16)} | null`);
  expect(await seen(20, 5, 0)).toBe(`warning: ${can(15)} | ${raise(1)}`);
  expect(await seen(20, 4, 1)).toBe(`ok: ${can(16)} | null`);
  expect(await seen(32, 0, 3)).toBe(`ok: ${can(32)} | null`);
  expect(await seen(31, 0, 3)).toBe(`warning: ${can(31)} | ${raise(1)}`);
  expect(await seen(3, 5, 1)).toBe(`warning: ${can(0)} | ${raise(18)}`);
});

test('a clock that differs by two seconds may, by more it may not', async () => {
  const run = 'Let chrony or systemd-timesyncd run on both.';
  const said = (aheadMs: number) => one('database_clock', { aheadMs });
  const is = 'The clock of the database is';
  expect(await said(2_000)).toBe(`ok: ${is} 2.0 s ahead of this one. | null`);
  expect(await said(-2_000)).toBe(`ok: ${is} 2.0 s behind this one. | null`);
  expect(await said(2_001)).toBe(`error: ${is} 2.0 s ahead of this one. | ${run}`);
  expect(await said(-61_240)).toBe(`error: ${is} 61.2 s behind this one. | ${run}`);
});

test('one that cannot be used is one error, with what the failure advises', async () => {
  const failing = async (error: unknown): Promise<unknown> => {
    await found();
    spyOn(Database.prototype, 'first').mockRejectedValue(error);
    const text = 'hostname = "mail.example.com"\n[store]\nurl = "postgres://u@db/mail"';
    const config = parseConfig(text, 'c');
    const clock = new TestClock();
    return examineDatabase({ config, clock, resolver: undefined as never });
  };
  const finding = (cause: string, advice: string) => [
    {
      check: 'database',
      level: 'error',
      summary: `The database cannot be used: ${cause}.`,
      advice,
    },
  ];
  const look =
    'Check url in [store], the server and its log. Of several hosts one must be a primary.';
  expect(await failing(new Error('gone'))).toEqual(finding('gone', look));
  expect(await failing('a word')).toEqual(finding('a word', look));
  expect(await failing(new OperatorError('wrong', 'Repair it.'))).toEqual(
    finding('wrong', 'Repair it.'),
  );
});
