/**
 * What the store adds to its parts: which writes the search index hears of, from when on counters are computed, what a
 * refused opening gives back, and in which order it closes.
 */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { chmodSync, readdirSync, statSync } from 'node:fs';

import { idBound } from '../../../src/base/ids.ts';
import { lockDirectory } from '../../../src/store/directory-lock.ts';
import { BackgroundClient } from '../../../src/store/sqlite/background-client.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import { WriterClient } from '../../../src/store/sqlite/writer-client.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import {
  accepted,
  finishOf,
  newAccount,
  newEvent,
  newLogRecord,
  newMessage,
  newSuppression,
  recipientOf,
} from '../samples.ts';
import { openTestStore, withDir, withStore } from '../test-store.ts';
import { openIn } from './open-files.ts';
import { rowsIn, runIn } from './writer-told.ts';

const DAY_MS = 86_400_000;

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

test('the index hears of what can be searched once it is written, and of nothing else', () =>
  withStore(async (store, { id }) => {
    const noted = spyOn(BackgroundClient.prototype, 'noteRows');
    spies.push(noted);
    const heard = async (write: Promise<unknown>): Promise<number> => {
      await write;
      const { length } = noted.mock.calls;
      noted.mockClear();
      return length;
    };
    const [first, second] = [newMessage(id), newMessage(id)];
    expect(await heard(accepted(store, first))).toBe(1);
    await accepted(store, second);
    noted.mockClear();
    expect(await heard(store.finish(finishOf(first, recipientOf(first))))).toBe(0);
    const suppress = newSuppression(id, 'ann@example.org', { reason: 'hard_bounce' });
    const bounced = finishOf(second, recipientOf(second), { status: 'bounced', suppress });
    expect(await heard(store.finish(bounced))).toBe(1);
    expect(await heard(store.addSuppression(newSuppression(id, 'bob@example.org')))).toBe(1);
    expect(await heard(store.addSuppressions([newSuppression(id, 'cy@example.org')]))).toBe(1);
    expect(await heard(store.appendLogs([newLogRecord(id)]))).toBe(1);
    expect(await heard(store.removeSuppression(id, 'cy@example.org', 1))).toBe(0);
    expect(await heard(store.setSetting('name', 'value'))).toBe(0);
  }));

test('the index hears of nothing before it is written, and of nothing that was refused', () =>
  withStore(async (store, { id }) => {
    const noted = spyOn(BackgroundClient.prototype, 'noteRows');
    const answers: PromiseWithResolvers<never>[] = [];
    const ask = (): Promise<never> => {
      const answer = Promise.withResolvers<never>();
      answers.push(answer);
      return answer.promise;
    };
    const write = spyOn(WriterClient.prototype, 'write').mockImplementation(ask);
    const writeLog = spyOn(WriterClient.prototype, 'writeLog').mockImplementation(ask);
    const message = newMessage(id);
    const suppress = newSuppression(id, 'ann@example.org');
    const end = finishOf(message, recipientOf(message), { status: 'bounced', suppress });
    const writes = (): Promise<unknown>[] => [
      accepted(store, message),
      store.finish(end),
      store.addSuppression(suppress),
      store.addSuppressions([suppress]),
      store.appendLogs([newLogRecord(id)]),
    ];
    const settle = async (end: (answer: PromiseWithResolvers<never>) => void) => {
      const done = Promise.allSettled(writes());
      await new Promise((resolve) => setImmediate(resolve));
      const before = noted.mock.calls.length;
      for (const answer of answers.splice(0)) end(answer);
      await done;
      return [before, noted.mock.calls.length];
    };
    const refused = await settle(({ reject }) => reject(new Error('the disk is full')));
    const written = await settle(({ resolve }) => resolve({ kind: 'accepted' } as never));
    for (const spy of [noted, write, writeLog]) spy.mockRestore();
    expect([refused, written]).toEqual([
      [0, 0],
      [0, 5],
    ]);
  }));

test('who opens it hears of each durable commit, with how many writes shared it, and of none of the request log', () =>
  withDir(async (dataDir) => {
    const heard: unknown[] = [];
    const log = { info() {}, warn() {}, error() {} };
    const onCommit = (commitMs: number, writes: number): void => {
      heard.push([commitMs > 0, writes]);
    };
    const store = await openStore({ dataDir, now: Date.now(), log, onCommit });
    const account = newAccount('default');
    await store.createAccount(account);
    await store.appendLogs([newLogRecord(account.id)]);
    await Promise.all([store.setSetting('a', 'one'), store.setSetting('b', 'two')]);
    await store.close();
    expect(heard).toEqual([
      [true, 1],
      [true, 2],
    ]);
  }));

test('counters of older rows reach back 92 days for outcomes and 9 for harm', () =>
  withDir(async (dir) => {
    const now = Date.UTC(2026, 5, 1, 12);
    const account = newAccount('default');
    const first = await openTestStore(dir);
    await first.createAccount(account);
    const idAt = (at: number, n: number): string => `${idBound(at)}-7000-8000-00000000000${n}`;
    for (const [n, daysAgo] of [92.5, 91.5].entries()) {
      const id = idAt(now - daysAgo * DAY_MS, n);
      const message = await accepted(first, newMessage(account.id, { id }));
      const recipient = recipientOf(message);
      const event = newEvent(message.message, recipient.id, 'email.delivered');
      const end = { events: [{ ...event, occurredAt: n * DAY_MS }] };
      await first.finish(finishOf(message, recipient, end));
    }
    const source = idAt(now - 91.5 * DAY_MS, 1);
    for (const [n, daysAgo] of [9.5, 8.5].entries()) {
      const change = { id: idAt(now - daysAgo * DAY_MS, n), createdAt: n * DAY_MS, source };
      const row = newSuppression(account.id, `${n}@x.example`, change);
      await first.addSuppression({ ...row, reason: 'complaint' });
    }
    await first.close();
    for (const sql of [
      'DELETE FROM outcome_hours',
      'DELETE FROM harm_hours',
      "INSERT INTO recounts VALUES ('outcomes', 99), ('harm', 99)",
    ]) {
      runIn(dir, sql);
    }
    const events = new Arrivals<string>('log lines');
    const log = { info: (event: string) => events.push(event), warn() {}, error() {} };
    const store = await openStore({ dataDir: dir, now, log });
    await events.atLeast(2);
    await store.close();
    expect(events.items).toEqual(['counters_computed', 'counters_computed']);
    expect(rowsIn(dir, "SELECT hour FROM outcome_hours WHERE account_id = ''")).toEqual([
      { hour: 24 },
    ]);
    expect(rowsIn(dir, 'SELECT hour FROM harm_hours')).toEqual([{ hour: 24 }]);
  }));

test('closing waits for the counters’ step under way before anything is closed', () =>
  withDir(async (dir) => {
    await (await openTestStore(dir)).close();
    runIn(dir, "INSERT INTO recounts VALUES ('harm', 99)");
    const step = Promise.withResolvers<number>();
    const write = spyOn(WriterClient.prototype, 'write').mockReturnValue(step.promise);
    const close = spyOn(BackgroundClient.prototype, 'close');
    spies.push(write, close);
    const store = await openTestStore(dir);
    expect(write.mock.calls.map(([name]) => name)).toEqual(['recountStep']);
    const closing = store.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(close).toHaveBeenCalledTimes(0);
    step.resolve(0);
    await closing;
    expect(close).toHaveBeenCalledTimes(1);
  }));

test('a backup hears of its progress where somebody asks for it, and works where nobody does', () =>
  withStore(async (store, _, dir) => {
    const report = { file: '/one', bytes: 1, rows: {} };
    const told: unknown[] = [];
    const backUp = spyOn(BackgroundClient.prototype, 'backUp').mockImplementation(
      async (from, file, tell) => {
        tell(from === dir && file === '/one' ? 7 : 'checking');
        return report;
      },
    );
    spies.push(backUp);
    expect(await store.backUpTo('/one', (progress) => told.push(progress))).toBe(report);
    expect(await store.backUpTo('/one')).toBe(report);
    expect(told).toEqual([7]);
  }));

test('a closed store has no file of its directory open, on any of its threads', () =>
  withDir(async (dir) => {
    const store = await openTestStore(dir);
    const { id } = newAccount('default');
    await store.appendLogs([newLogRecord(id)]);
    await store.suppressions(id, 'ann', { limit: 1, after: null, before: null });
    expect(openIn(dir).length).toBeGreaterThan(5);
    await store.close();
    expect(openIn(dir)).toEqual([]);
    expect(readdirSync(dir).filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
  }));

test('readers end first, then the writer, and then the directory is given back', () =>
  withDir(async (dir) => {
    const store = await openTestStore(dir);
    const isFree = (): boolean => {
      try {
        lockDirectory(dir).release();
        return true;
      } catch {
        return false;
      }
    };
    const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const seen: unknown[] = [];
    for (const Client of [BackgroundClient, WriterClient]) {
      const { prototype } = Client as { prototype: { close(): Promise<void> } };
      // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
      const { close } = prototype;
      const ending = spyOn(prototype, 'close').mockImplementation(async function (
        this: typeof prototype,
      ) {
        seen.push(`${Client.name} begins`);
        // Whatever does not wait would come in between.
        for (let turn = 0; turn < 5; turn += 1) await tick();
        seen.push(isFree());
        await close.call(this);
        seen.push(`${Client.name} has ended`);
      });
      spies.push(ending);
    }
    await store.close();
    seen.push(isFree());
    expect(seen).toEqual([
      'BackgroundClient begins',
      false,
      'BackgroundClient has ended',
      'WriterClient begins',
      false,
      'WriterClient has ended',
      true,
    ]);
  }));

test('what could not be opened gives the directory back, and lets the process end without its threads', () =>
  withDir(async (dir) => {
    await (await openTestStore(dir)).close();
    runIn(dir, "INSERT INTO migrations VALUES (9999, 'future', 'x', 0)");
    const left = [WriterClient, BackgroundClient].map(({ prototype }) =>
      spyOn(prototype as WriterClient, 'abandon'),
    );
    spies.push(...left);
    const refused = await openTestStore(dir).catch((error: Error) => error.message);
    expect(refused).toContain('schema version 9999, newer');
    expect(left.map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    // Nor has the writer the file open any more, or its log would be there.
    expect(readdirSync(dir).filter((name) => name.startsWith('mail'))).toEqual(['mail.db']);
    runIn(dir, 'DELETE FROM migrations WHERE version = 9999');
    chmodSync(dir, 0o755);
    await (await openTestStore(dir)).close();
    // It is its owner's alone, whoever has made it.
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  }));
