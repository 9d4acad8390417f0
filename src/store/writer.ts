/**
 * The writer: a thread of its own that alone writes both files.
 *
 * What arrives while a commit runs waits and goes into the next one together. Answers leave only after
 * COMMIT. A failure that no item caused is reported as fatal and nothing more is answered: the main
 * thread ends the process then. Request logs are written when no mail waits.
 */
import { join } from 'node:path';
import type { Database } from 'bun:sqlite';
import { openForWriting } from './database.ts';
import { GroupCommit } from './group-commit.ts';
import type { GroupHooks, ItemResult } from './group-commit.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from './migrations.ts';
import type { LogRecord } from './rows.ts';
import { StatusCounts } from './status-counts.ts';
import { textOf } from './threads.ts';
import type { Request, Writes } from './verbs.ts';
import { acceptWrites } from './write-accept.ts';
import { accountWrites } from './write-accounts.ts';
import { attemptWrites } from './write-attempts.ts';
import { callWrites } from './write-calls.ts';
import { EventWriter } from './write-events.ts';
import { logWriter } from './write-logs.ts';
import { SuppressionWriter, suppressionWrites } from './write-suppressions.ts';
import type { FromWriter, ToWriter } from './writer-messages.ts';

declare const self: Worker;

/** Log rows in one commit at most, so that mail never waits long behind them. */
const LOGS_PER_COMMIT = 256;

interface Waiting {
  ticket: number;
  request: Request;
}

class Writer {
  readonly #mail: Database;
  readonly #log: Database;
  readonly #writes: Writes;
  readonly #commit: GroupCommit;
  readonly #logCommit: GroupCommit;
  readonly #appendLog: (record: LogRecord) => void;
  #waiting: Waiting[] = [];
  #logs: { ticket: number; records: LogRecord[] }[] = [];
  #isScheduled = false;

  constructor(dataDir: string, now: number) {
    this.#mail = openForWriting(join(dataDir, 'mail.db'), 'full');
    this.#log = openForWriting(join(dataDir, 'log.db'), 'normal');
    migrate(this.#mail, MAIL_MIGRATIONS, now);
    migrate(this.#log, LOG_MIGRATIONS, now);
    const counts = new StatusCounts(this.#mail);
    const events = new EventWriter(this.#mail);
    const suppressions = new SuppressionWriter(this.#mail);
    this.#writes = {
      ...accountWrites(this.#mail),
      ...acceptWrites(this.#mail, events, counts),
      ...attemptWrites(this.#mail, events, suppressions, counts),
      ...callWrites(this.#mail, events),
      ...suppressionWrites(suppressions),
    };
    this.#commit = new GroupCommit(this.#mail, mailHooks(counts, events));
    this.#logCommit = new GroupCommit(this.#log, NO_HOOKS);
    this.#appendLog = logWriter(this.#log);
  }

  take(ticket: number, request: Request): void {
    this.#waiting.push({ ticket, request });
    this.#schedule();
  }

  takeLogs(ticket: number, records: LogRecord[]): void {
    this.#logs.push({ ticket, records });
    this.#schedule();
  }

  /** Writes what waits, then closes both files. */
  close(): void {
    while (this.#waiting.length > 0 || this.#logs.length > 0) this.#step();
    for (const db of [this.#mail, this.#log]) {
      db.run('PRAGMA wal_checkpoint(TRUNCATE)');
      db.close();
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the messages that have arrived by now, so that they share this commit.
    setImmediate(() => {
      this.#isScheduled = false;
      guard(() => this.#step());
      if (this.#waiting.length > 0 || this.#logs.length > 0) this.#schedule();
    });
  }

  #step(): void {
    // Log rows have their turn after every group of mail: under steady load there is always mail.
    if (this.#waiting.length > 0) this.#commitMail();
    if (this.#logs.length > 0) this.#commitLogs();
  }

  #commitMail(): void {
    const group = this.#waiting;
    this.#waiting = [];
    const beganAt = performance.now();
    const results = this.#commit.run(
      group.map(
        ({ request }) =>
          () =>
            this.#perform(request),
      ),
    );
    answer(group, results, performance.now() - beganAt);
  }

  #perform({ name, args }: Request): unknown {
    const verb = this.#writes[name] as (...args: unknown[]) => unknown;
    return verb(...args);
  }

  #commitLogs(): void {
    const group: { ticket: number; records: LogRecord[] }[] = [];
    let rows = 0;
    while (rows < LOGS_PER_COMMIT) {
      const next = this.#logs.shift();
      if (next === undefined) break;
      rows += next.records.length;
      group.push(next);
    }
    const results = this.#logCommit.run(
      group.map(
        ({ records }) =>
          () =>
            records.forEach(this.#appendLog),
      ),
    );
    answer(group, results, null);
  }
}

function mailHooks(counts: StatusCounts, events: EventWriter): GroupHooks {
  return {
    itemKept: () => counts.keep(),
    itemUndone(): void {
      counts.drop();
      events.forget();
    },
    beforeCommit: () => counts.flush(),
    groupUndone(): void {
      counts.forget();
      events.forget();
    },
  };
}

const NO_HOOKS: GroupHooks = {
  itemKept() {},
  itemUndone() {},
  beforeCommit() {},
  groupUndone() {},
};

function answer(
  group: readonly { ticket: number }[],
  results: readonly ItemResult[],
  commitMs: number | null,
): void {
  send({
    kind: 'done',
    commitMs,
    answers: group.map(({ ticket }, place) => {
      const result = results[place];
      if (result === undefined) throw new Error('a commit lost an item');
      return 'error' in result
        ? { ticket, error: textOf(result.error) }
        : { ticket, value: result.value };
    }),
  });
}

function send(message: FromWriter): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
  self.postMessage(message);
}

let writer: Writer | null = null;

/** Reports what `work` throws as fatal; the thread answers nothing after that. */
function guard(work: () => void): void {
  try {
    work();
  } catch (error) {
    writer = null;
    send({ kind: 'fatal', error: textOf(error as Error) });
  }
}

self.addEventListener('message', ({ data }: MessageEvent<ToWriter[]>) => {
  for (const message of data) guard(() => receive(message));
});

function receive(message: ToWriter): void {
  switch (message.kind) {
    case 'open':
      writer = new Writer(message.dataDir, message.now);
      send({ kind: 'ready' });
      break;
    case 'write':
      writer?.take(message.ticket, message.request);
      break;
    case 'log':
      writer?.takeLogs(message.ticket, message.records);
      break;
    case 'close':
      writer?.close();
      writer = null;
      send({ kind: 'closed' });
      break;
  }
}
