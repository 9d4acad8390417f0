/**
 * A data directory as the source and as the target of a transfer: what is carried is what the store then answers, the
 * files are those of a store, and what cannot be carried is refused with what to do.
 */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { EXIT_CONFIG, OperatorError } from '../../../src/base/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import { FilesReading, openFilesSource } from '../../../src/store/sqlite/transfer-reading.ts';
import { openFilesTarget, refuseHalfTransfer } from '../../../src/store/sqlite/transfer-writing.ts';
import type { TransferProgress } from '../../../src/store/transfer-run.ts';
import { POSITION } from '../../../src/store/sqlite/positions.ts';
import { accepted, newAccount, newMessage } from '../samples.ts';
import * as account from '../story-account.ts';
import * as end from '../story-end.ts';
import * as hooks from '../story-hooks.ts';
import { askMail } from '../story-lists.ts';
import { tellBeginning } from '../story-beginning.ts';
import { at, Story } from '../story.ts';
import { openTestStore, withDir } from '../test-store.ts';
import { carry, linesOf } from './carried-files.ts';
import { rowsIn } from './writer-told.ts';

/** Every object of a file's schema. */
function schemaOf(path: string): unknown[] {
  const db = new Database(path, { readonly: true });
  const rows = db
    .query('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name')
    .all();
  const [mode] = db.query('PRAGMA journal_mode').values();
  db.close();
  return [mode, ...rows];
}

async function refusal(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    if (error instanceof OperatorError) return [error.message, error.hint, error.exitCode];
    throw error;
  }
  throw new Error('it was not refused');
}

/** A directory with the story in it, and what its store answered to every question. */
async function told(dataDir: string) {
  let store: Store = await openTestStore(dataDir);
  const current = new Proxy({} as Store, {
    get: (_, verb: keyof Store) => (store[verb] as CallableFunction).bind(store),
  });
  const story = new Story(current);
  const messages = await tellBeginning(story);
  // The second one is younger in the order of commits, and older by its id.
  for (const seconds of [60, 50]) {
    const id = story.id(`early ${seconds}`, seconds);
    const createdAt = at(seconds);
    await accepted(store, newMessage(story.id('empty'), { id, createdAt }));
  }
  await hooks.tellCalls(story);
  const askAll = async (): Promise<string[]> => {
    const from = story.blocks.length;
    await account.askAccounts(story);
    await account.askDomains(story);
    await hooks.askSuppressions(story);
    await askMail(story, messages);
    await hooks.askEndpoints(story);
    await end.askPeople(story);
    return story.blocks.slice(from);
  };
  // The first round replays a call, which changes what the others answer.
  await askAll();
  const answers = await askAll();
  await store.close();
  return {
    answers,
    again: async (other: string): Promise<string[]> => {
      store = await openTestStore(other);
      const found = await askAll();
      await store.close();
      return found;
    },
  };
}

const WAITING_DOMAINS = [
  'b.example',
  'e.example',
  'cc.example',
  'bcc.example',
  'example.org',
  'example.org',
];

describe('a data directory', () => {
  test('is carried whole: the files have what a store has, and every question is answered as before', () =>
    withDir(async (dir) => {
      const [from, to, back] = [join(dir, 'from'), join(dir, 'to'), join(dir, 'back')];
      const { answers, again } = await told(from);
      for (const made of [to, back]) mkdirSync(made);
      const steps: TransferProgress[] = [];
      const carried = await carry(from, to, (progress) => steps.push(progress));
      // The same again from what was written, and nothing is left beside the files.
      expect(await carry(to, back)).toEqual(carried);
      expect(readdirSync(to).toSorted()).toEqual(['log.db', 'mail.db']);
      for (const name of ['mail.db', 'log.db']) {
        expect(statSync(join(to, name)).mode & 0o777).toBe(0o600);
        expect(schemaOf(join(to, name))).toEqual(schemaOf(join(from, name)));
        // At the time of the transfer.
        expect(rowsIn(to, 'SELECT DISTINCT applied_at FROM migrations', name)).toEqual([
          { applied_at: 7 },
        ]);
      }
      const rows = new Map(carried.map((each) => [each.table, each.rows]));
      const full = [...rows].filter(([, count]) => count > 0).map(([table]) => table);
      expect(full).toHaveLength(rows.size);
      expect(steps.filter(({ step }) => step === 'copy')).toEqual(
        carried.map((each) => ({
          step: 'copy',
          table: each.table,
          rows: each.rows,
          of: each.rows,
        })),
      );
      const file = new Database(join(to, 'mail.db'), { readonly: true });
      const order = file
        .query('SELECT seq, account_id, ' + POSITION + ', id FROM messages ORDER BY seq')
        .values() as [number, string, number, string][];
      file.close();
      expect(order.map(([seq]) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(order.map(([, , , id]) => id)).toEqual(order.map(([, , , id]) => id).toSorted());
      for (const [at, [, owner, position]] of order.entries()) {
        const before = order.slice(0, at).filter(([, each]) => each === owner);
        expect(position).toBe(before.length + 1);
      }
      expect(await again(to)).toEqual(answers);
      expect(answers.length).toBeGreaterThan(100);
    }));

  test('as a source lists rows in the order of their keys, and leaves no file behind', () =>
    withDir(async (dir) => {
      await told(dir);
      const before = readdirSync(dir).toSorted();
      const waiting = await linesOf(dir, 'queue');
      // Account, attempts, domain, message, due time, recipient, time of the last change: as PostgreSQL has them.
      for (const fields of waiting) expect(fields).toHaveLength(7);
      // In the order of ids, which carry their time.
      expect(waiting.map(([, , domain]) => domain)).toEqual(WAITING_DOMAINS);
      const attachments = await linesOf(dir, 'attachments');
      const ids = attachments.map((fields) => fields[4] ?? '');
      expect(ids).toEqual(ids.toSorted());
      expect(attachments.slice(-2).map((fields) => fields.toSpliced(4, 1))).toEqual([
        ['\\\\x616263', '\\N', 'text/plain', 'a.txt', '0'],
        ['\\\\x00ff01', 'logo', 'image/png', 'b.png', '1'],
      ]);
      const bodies = await linesOf(dir, 'bodies');
      const owners = bodies.map((fields) => fields[3] ?? '');
      expect(owners).toEqual(owners.toSorted());
      // Text and HTML of the story's first message, as bytes.
      const hex = (text: string): string => '\\\\x' + Buffer.from(text).toString('hex');
      expect(bodies.filter((fields) => fields[5] === hex('m1')).map(([, , html]) => html)).toEqual([
        hex('<p>m1</p>'),
      ]);
      const audit = await linesOf(dir, 'audit');
      expect(audit.map((fields) => fields.at(-4))).toEqual(['1', '2', '3', '4']);
      const sums = await linesOf(dir, 'outcome_hours');
      expect(sums.filter(([account]) => account === '\\N').length).toBeGreaterThan(0);
      expect(sums.filter(([account]) => account === '')).toEqual([]);
      expect(readdirSync(dir).toSorted()).toEqual(before);
    }));
});

test('what has to be sorted for a transfer may be larger than the memory: it is sorted in files', () => {
  const files = { mail: new Database(':memory:'), log: new Database(':memory:') };
  const reading = new FilesReading(files);
  for (const db of Object.values(reading.files)) {
    // https://www.sqlite.org/pragma.html#pragma_temp_store: 1 is FILE.
    expect(db.query('PRAGMA temp_store').values()).toEqual([[1]]);
    db.close();
  }
});

describe('a data directory whose log is not empty', () => {
  const namesIn = async (dir: string): Promise<(string | undefined)[]> =>
    (await linesOf(dir, 'accounts')).map((fields) => fields[2]);
  const sizeOf = (path: string): number | undefined =>
    statSync(path, { throwIfNoEntry: false })?.size;

  test('is carried with what stands in the log alone, which stays as it is', () =>
    withDir(async (root) => {
      const [dir, killed] = [join(root, 'data'), join(root, 'killed')];
      const store = await openTestStore(dir);
      await store.createAccount({ ...newAccount('in the log'), id: 'a' });
      mkdirSync(killed);
      for (const name of ['mail.db', 'mail.db-wal', 'mail.db-shm', 'log.db', 'log.db-wal'])
        copyFileSync(join(dir, name), join(killed, name));
      await store.close();
      const log = readFileSync(join(killed, 'mail.db-wal'));
      expect(log.length).toBeGreaterThan(0);
      expect(await namesIn(killed)).toEqual(['in the log']);
      // What SQLite made to read it has gone again; the log has not.
      expect(readdirSync(killed).toSorted()).toEqual([
        'log.db',
        'log.db-wal',
        'mail.db',
        'mail.db-shm',
        'mail.db-wal',
      ]);
      expect(readFileSync(join(killed, 'mail.db-wal')).equals(log)).toBe(true);
      expect(await namesIn(killed)).toEqual(['in the log']);
    }));

  test('keeps a log that another program has begun meanwhile', () =>
    withDir(async (dir) => {
      await (await openTestStore(dir)).close();
      const log = join(dir, 'mail.db-wal');
      const source = openFilesSource(dir);
      expect([await source.setting('a'), sizeOf(log)]).toEqual([null, 0]);
      const other = new Database(join(dir, 'mail.db'), { readwrite: true });
      other.run("INSERT INTO settings VALUES ('a', 'one')");
      expect(await source.setting('a')).toBe('one');
      await source.close();
      expect(sizeOf(log)).toBeGreaterThan(0);
      other.close();
    }));
});

/** Runs one statement on a file that nobody has open. */
function change(path: string, sql: string): void {
  const db = new Database(path, { readwrite: true });
  db.run(sql);
  db.close();
}

describe('refused with what to do', () => {
  const once = 'Start the server of this release on it once, wait for';

  test('a source that no server of this release has opened, or whose counters are not computed', () =>
    withDir(async (dir) => {
      const [mail, log] = [join(dir, 'mail.db'), join(dir, 'log.db')];
      expect(await refusal(() => openFilesSource(dir))).toEqual([
        `${mail} does not exist: there is nothing to migrate`,
        'Check data_dir.',
        1,
      ]);
      await (await openTestStore(dir)).close();
      const before = readdirSync(dir).toSorted();
      renameSync(log, `${log}.away`);
      expect(await refusal(() => openFilesSource(dir))).toEqual([
        `${log} does not exist: there is nothing to migrate`,
        'Check data_dir.',
        1,
      ]);
      renameSync(`${log}.away`, log);
      const refused = async (path: string, sql: string, back: string): Promise<unknown> => {
        change(path, sql);
        const found = await refusal(() => openFilesSource(dir));
        change(path, back);
        expect(readdirSync(dir).toSorted()).toEqual(before);
        return found;
      };
      const counters = "INSERT INTO recounts VALUES ('harm', 3)";
      expect(await refused(mail, counters, 'DELETE FROM recounts')).toEqual([
        `${mail}: counters for mail from before the last upgrade are still being computed`,
        `${once} counters_computed in its log, stop it, then migrate.`,
        1,
      ]);
      for (const path of [mail, log]) {
        const [away, back] = ['migrations RENAME TO away', 'away RENAME TO migrations'];
        const found = await refused(path, `ALTER TABLE ${away}`, `ALTER TABLE ${back}`);
        expect(found).toEqual([
          `${path} was written by an earlier release`,
          `${once} its first line that it listens, stop it, then migrate.`,
          1,
        ]);
      }
      await openFilesSource(dir).close();
      // All steps of its schema but the last one: the release before this one has opened it.
      for (const path of [log, mail]) {
        change(
          path,
          'DELETE FROM migrations WHERE version = (SELECT max(version) FROM migrations)',
        );
        expect(await refusal(() => openFilesSource(dir))).toEqual([
          `${path} was written by an earlier release`,
          `${once} its first line that it listens, stop it, then migrate.`,
          1,
        ]);
      }
    }));

  test('a target with data in it, and a directory in which a transfer was cut off', () =>
    withDir(async (dir) => {
      refuseHalfTransfer(dir);
      writeFileSync(join(dir, 'log.db'), '');
      expect(await refusal(() => openFilesTarget(dir, 0))).toEqual([
        `${join(dir, 'log.db')} exists already: the target of a migration must be empty`,
        'Move mail.db, log.db and search.db of that directory to another directory, or name one.',
        1,
      ]);
      const draft = join(dir, 'mail.db.migrating');
      writeFileSync(draft, '');
      expect(await refusal(() => openTestStore(dir))).toEqual([
        `A migration into ${dir} was interrupted`,
        `Run postrider migrate again, with the config that it was run with. To give it up, remove ${draft}.`,
        EXIT_CONFIG,
      ]);
    }));

  test('a migration that was given up by removing the draft of mail.db can be begun anew', () =>
    withDir(async (dir) => {
      writeFileSync(join(dir, 'log.db.migrating'), 'half');
      const target = openFilesTarget(dir, 0);
      await target.begin([]);
      await target.complete();
      await target.settle();
      expect(readdirSync(dir).toSorted()).toEqual(['log.db', 'mail.db']);
    }));

  test('content of a message that is not there; what was begun is begun anew', () =>
    withDir(async (dir) => {
      for (const end of ['', '-journal', '-wal', '-shm']) {
        writeFileSync(join(dir, `mail.db.migrating${end}`), 'half');
      }
      const target = openFilesTarget(dir, 0);
      const table = {
        name: 'attachments',
        key: ['message_id', 'position'],
        columns: ['message_id', 'position', 'filename', 'content_type', 'content'].map((name) => ({
          name,
          kind: 'text' as const,
        })),
      };
      const rows = (async function* () {
        yield { bytes: Buffer.from('m1\t0\ta.txt\ttext/plain\tx\n'), rows: 1 };
      })();
      expect(await refusal(() => target.write(table, rows))).toEqual([
        'The table attachments has content of the message m1, which does not exist',
        'Look at the row; when nobody needs it, delete it from attachments in the database and run it again.',
        1,
      ]);
      await target.close();
      expect(readdirSync(dir).toSorted()).toEqual(['log.db.migrating', 'mail.db.migrating']);
    }));
});
