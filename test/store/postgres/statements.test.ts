/** What keeps the database's share of a message small: one question for many, content as one value, plans that are kept. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database, transactingBy } from '../../../src/store/postgres/database.ts';
import { withKeptPlans } from '../../../src/store/postgres/kept-plans.ts';
import { insertInto, part, table } from '../../../src/store/postgres/statement.ts';
import type { Part } from '../../../src/store/postgres/statement.ts';
import { suppressionVerbs } from '../../../src/store/postgres/suppressions.ts';
import { groupBytesOf } from '../../../src/store/postgres/write-accept.ts';
import { newId } from '../../rig/ids.ts';
import { testServer } from '../../rig/postgres.ts';
import { batchOf, newMessage } from '../samples.ts';

const NOW = 1_795_000_000_000;

let database: Database;

interface PieceRow {
  id: number;
  first: Buffer | null;
  name: string;
  second: Buffer | null;
  third: Buffer | null;
}

beforeAll(async () => {
  database = new Database(databaseAddress(await (await testServer()).freshDatabase(), ''));
}, 60_000);

afterAll(async () => {
  await database.close();
});

test('bytes come back as they were given, none of them and no bytes apart, whatever stands before them', async () => {
  await database.run(
    part('CREATE TABLE pieces (id int4, first bytea, name text, second bytea, third bytea)'),
  );
  const pieces = table('pieces', {
    id: 'int4',
    first: 'bytea',
    name: 'text',
    second: 'bytea',
    third: 'bytea',
  });
  const rows: PieceRow[] = [
    { id: 1, first: Buffer.from('a\0b\\,"{}'), name: 'x', second: null, third: Buffer.alloc(0) },
    { id: 2, first: null, name: '\\x00', second: Buffer.from([0, 255, 128]), third: null },
    { id: 3, first: Buffer.alloc(70_000, 7), name: '', second: null, third: Buffer.from('end') },
  ];
  await database.run(insertInto(pieces, rows));
  await database.run(
    insertInto(pieces, [{ id: 4, first: null, name: 'none', second: null, third: null }]),
  );
  const found = await database.all<PieceRow>(part('SELECT * FROM pieces ORDER BY id'));
  expect(found.slice(0, 3)).toEqual(rows);
  expect(found[3]).toEqual({ id: 4, first: null, name: 'none', second: null, third: null });
});

test('messages that ask at once which addresses are suppressed ask with one statement, and each gets its own answer', async () => {
  const asked: Part[] = [];
  const counted = transactingBy(
    {
      all: (statement) => {
        asked.push(statement);
        return database.all(statement);
      },
      first: (statement) => database.first(statement),
    },
    (work) => database.transaction(work),
  );
  const [mine, other] = [newId(NOW), newId(NOW)];
  const account =
    'INSERT INTO accounts (id, name, plan, status, created_at) VALUES ($1, $2, $3, $4, 0)';
  for (const id of [mine, other]) {
    await database.run(part(account, id, id, 'default', 'active'));
  }
  const verbs = suppressionVerbs(counted);
  for (const [accountId, email] of [
    [mine, 'a@example.net'],
    [other, 'b@example.net'],
  ] as const) {
    const row = { id: newId(NOW), accountId, email, reason: 'manual', source: null, note: null };
    await verbs.addSuppression({ ...row, reason: 'manual', createdAt: 1 });
  }
  const answers = await Promise.all([
    verbs.suppressed(mine, ['a@example.net', 'b@example.net']),
    verbs.suppressed(other, ['a@example.net', 'b@example.net', 'c@example.net']),
    verbs.suppressed(mine, ['c@example.net']),
    verbs.suppressed('no id', ['a@example.net']),
    verbs.suppressed(mine, []),
  ]);
  expect(answers.map((found) => [...found.keys()])).toEqual([
    ['a@example.net'],
    ['b@example.net'],
    [],
    [],
    [],
  ]);
  expect(answers[0]?.get('a@example.net')).toMatchObject({ accountId: mine, createdAt: 1 });
  expect(asked).toHaveLength(1);
});

test('who asks for very many addresses does not make one statement of them', async () => {
  const sizes: number[] = [];
  const counted = transactingBy(
    {
      all: (statement) => {
        sizes.push((statement.params[2] as readonly string[]).length);
        return database.all(statement);
      },
      first: (statement) => database.first(statement),
    },
    (work) => database.transaction(work),
  );
  const verbs = suppressionVerbs(counted);
  const question = Array.from({ length: 1_500 }, (_, at) => `user${at}@example.net`);
  await Promise.all(Array.from({ length: 6 }, () => verbs.suppressed(newId(NOW), question)));
  expect(sizes).toEqual([3_000, 3_000, 3_000]);
});

test('a batch to very many recipients fills a group by itself, however little it says', () => {
  const to = Array.from({ length: 50 }, (_, at) => `user${at}@example.net`);
  const [one, many] = [[to[0] ?? ''], to].map((addresses) =>
    groupBytesOf(batchOf('a', newMessage('a', {}, addresses))),
  );
  expect((many ?? 0) - (one ?? 0)).toBe(49 * 1_024);
});

test('plans are kept within the transactions that say so, and walk over no table that has an index', async () => {
  const kept = withKeptPlans(database);
  const modes = part(
    `SELECT current_setting('plan_cache_mode') AS mode, current_setting('enable_seqscan') AS walks`,
  );
  const inside = await kept.transaction(async (session) => {
    const join = await session.all<Record<string, string>>(
      part(
        'EXPLAIN UPDATE recipients SET status = v.status FROM unnest($1::uuid[], $2::text[]) AS v (id, status) WHERE recipients.id = v.id',
        [newId(NOW)],
        ['sent'],
      ),
    );
    return { settings: await session.first(modes), join };
  });
  expect(inside.settings).toEqual({ mode: 'force_generic_plan', walks: 'off' });
  expect(JSON.stringify(inside.join)).not.toContain('Seq Scan');
  expect(JSON.stringify(inside.join)).toContain('recipients_pkey');
  expect(await database.first(modes)).toEqual({ mode: 'force_custom_plan', walks: 'on' });
});

test('content of every day is compressed by LZ4 where the server has it', async () => {
  const [row] = await database.all<{ methods: string }>(
    part(
      `SELECT string_agg(DISTINCT attcompression::text, ',') AS methods FROM pg_attribute
       JOIN pg_inherits ON attrelid = inhrelid
       WHERE inhparent IN ('bodies'::regclass, 'attachments'::regclass)
         AND attname IN ('html', 'text', 'raw', 'content') AND atttypid = 'bytea'::regtype`,
    ),
  );
  // Debian's server has it.
  expect(row?.methods).toBe('l');
});
