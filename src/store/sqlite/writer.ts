/**
 * The writer: a thread of its own, the only one that writes the mail and the log file.
 *
 * What arrives while a commit runs waits and goes into the next one together. Results leave only after COMMIT. A
 * failure that no item caused is reported as fatal and nothing more is answered: the main thread ends the process then.
 * Request logs are written between groups of mail. Has no clock of its own: `setImmediate` only gathers a group.
 */
import { join } from 'node:path';
import type { Database } from 'bun:sqlite';
import { Packer, Unpacker } from '../../base/packing.ts';
import type { Packed } from '../../base/packing.ts';
import { DiskReserve } from '../disk-reserve.ts';
import { openForWriting } from './database.ts';
import type { Durability } from './database.ts';
import { dkimKeyWrites } from './dkim-keys.ts';
import { erasureWrites } from './write-erasure.ts';
import type { GroupHooks, ItemResult } from './group-commit.ts';
import type { GroupSum } from './group-sums.ts';
import { HarmCounts } from './harm-counts.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from './migrations.ts';
import type { Migration } from './migrations.ts';
import { OutcomeCounts } from './outcome-counts.ts';
import { peopleWrites } from './people.ts';
import { Positions } from './positions.ts';
import { OutcomeRecount } from './recounts.ts';
import { ReserveGate } from './reserve-gate.ts';
import { secretWrites } from './secrets.ts';
import { settingWrites } from './settings.ts';
import { StatusCounts } from './status-counts.ts';
import { StoredBytes } from './stored-bytes.ts';
import { textOf } from './threads.ts';
import type { LogWrites, Writes } from './verbs.ts';
import { MessageSeqs } from './message-seqs.ts';
import { accountDeletionWrites } from './write-account-deletion.ts';
import { acceptWrites } from './write-accept.ts';
import { accountWrites } from './write-accounts.ts';
import { attemptWrites } from './write-attempts.ts';
import { callWrites } from './write-calls.ts';
import { domainWrites } from './write-domains.ts';
import { endpointWrites } from './write-endpoints.ts';
import { EventWriter } from './write-events.ts';
import { leaseWrites } from './write-leases.ts';
import { logWrites } from './write-logs.ts';
import { WriteQueue } from './write-queue.ts';
import type { QueuedWrite } from './write-queue.ts';
import { retentionWrites } from './write-retention.ts';
import { SuppressionWriter, suppressionWrites } from './write-suppressions.ts';
import type { FromWriter, ToWriter } from './writer-messages.ts';

declare const self: Worker;

/** Requests in one commit at most; log rows come many in a request, and mail shall not wait behind them. */
const LARGEST_GROUP = { mail: 256, log: 8 };

/**
 * What may use the disk reserve: the ends of what was begun, and settings, of which the kill switch is one. They are few
 * and small.
 */
const OUTCOMES: ReadonlySet<keyof Writes | keyof LogWrites> = new Set([
  'finish',
  'finishCall',
  'releaseLeases',
  'setSetting',
]);

/** Sends to the main thread. */
type Send = (message: FromWriter) => void;

/** The two files with their queues, and the loop that empties them. */
class Writer {
  readonly #mail: WriteQueue;
  readonly #log: WriteQueue;
  readonly #send: Send;
  #isScheduled = false;
  #isBroken = false;

  constructor(dataDir: string, now: number, send: Send) {
    this.#send = send;
    const gate = new ReserveGate(new DiskReserve(dataDir));
    const open = (name: string, durability: Durability, history: readonly Migration[]): Database =>
      gate.whileFull(() => openMigrated(join(dataDir, name), durability, { history, now, send }));
    const mail = open('mail.db', 'full', MAIL_MIGRATIONS);
    const log = open('log.db', 'normal', LOG_MIGRATIONS);
    const counts = new StatusCounts(mail);
    const stored = new StoredBytes(mail);
    const outcomes = new OutcomeCounts(mail);
    const recount = new OutcomeRecount(mail, outcomes);
    const events = new EventWriter(mail);
    const positions = new Positions(mail);
    const seqs = new MessageSeqs(mail);
    const harm = new HarmCounts(mail);
    const suppressions = new SuppressionWriter(mail, harm);
    const settings = settingWrites(mail);
    const verbs: Omit<Writes, 'scrubMail'> = {
      ...accountWrites(mail),
      ...domainWrites(mail),
      ...dkimKeyWrites(mail),
      ...acceptWrites(mail, events, counts, positions, stored, seqs),
      ...attemptWrites(mail, events, suppressions, counts, recount),
      ...leaseWrites(mail),
      ...endpointWrites(mail, events),
      ...callWrites(mail, events),
      ...suppressionWrites(suppressions),
      ...retentionWrites(mail, stored),
      ...erasureWrites(mail, stored),
      ...accountDeletionWrites({ db: mail, events, stored, seqs }),
      ...settings,
      ...peopleWrites(mail),
      recountStep: (name, oldest, limit) => (name === 'harm' ? harm : recount).step(oldest, limit),
      ...secretWrites(mail, settings.setSetting),
    };
    const hooks = mailHooks([counts, stored, outcomes, harm], [events, positions, recount]);
    this.#mail = new WriteQueue({
      db: mail,
      verbs,
      hooks,
      largestGroup: LARGEST_GROUP.mail,
      scrubVerb: 'scrubMail',
      outcomes: OUTCOMES,
      gate,
    });
    this.#log = new WriteQueue({
      db: log,
      verbs: logWrites(log),
      hooks: NO_HOOKS,
      largestGroup: LARGEST_GROUP.log,
      scrubVerb: 'scrubLog',
      outcomes: OUTCOMES,
      gate,
    });
  }

  take(write: QueuedWrite): void {
    if (this.#isBroken) return;
    (this.#log.has(write.request.name) ? this.#log : this.#mail).add(write);
    this.#schedule();
  }

  /** Writes what is queued, then closes both files. */
  close(): void {
    while (this.#hasWork()) this.#step();
    this.#mail.close();
    this.#log.close();
  }

  #hasWork(): boolean {
    return !this.#isBroken && !(this.#mail.isEmpty && this.#log.isEmpty);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the messages that have arrived by now, so that they share this commit.
    setImmediate(() => {
      this.#isScheduled = false;
      try {
        this.#step();
      } catch (error) {
        this.#isBroken = true;
        sendFatal(this.#send, error);
      }
      if (this.#hasWork()) this.#schedule();
    });
  }

  /** One group of mail, then one of log rows: under steady load there is always mail. */
  #step(): void {
    if (!this.#mail.isEmpty) {
      const frames = this.#mail.step((group, results, commitMs) =>
        this.#report(group, results, commitMs),
      );
      if (frames !== null) this.#send({ kind: 'checkpoint_blocked', frames });
    }
    if (!this.#log.isEmpty) {
      this.#log.step((group, results) => this.#report(group, results, null));
    }
  }

  #report(
    group: readonly QueuedWrite[],
    results: readonly ItemResult[],
    commitMs: number | null,
  ): void {
    this.#send({
      kind: 'done',
      commitMs,
      results: group.map(({ ticket }, at) => {
        const result = results[at];
        if (result === undefined) throw new Error('a commit lost an item');
        return 'error' in result
          ? { ticket, error: textOf(result.error) }
          : { ticket, value: result.value };
      }),
    });
  }
}

/** `sums`: written once for a group. `remembered`: what was read from the file and may have been undone in it. */
function mailHooks(
  sums: readonly GroupSum[],
  remembered: readonly { forget(): void }[],
): GroupHooks {
  return {
    itemKept(): void {
      for (const sum of sums) sum.keep();
    },
    itemUndone(): void {
      for (const sum of sums) sum.drop();
      for (const each of remembered) each.forget();
    },
    beforeCommit(): void {
      for (const sum of sums) sum.flush();
    },
    groupUndone(): void {
      for (const sum of sums) sum.forget();
      for (const each of remembered) each.forget();
    },
  };
}

const NO_HOOKS: GroupHooks = {
  itemKept() {},
  itemUndone() {},
  beforeCommit() {},
  groupUndone() {},
};

/** A file to write to, with the newest schema. `now` in epoch milliseconds. Leaves nothing open when it throws. */
function openMigrated(
  path: string,
  durability: Durability,
  { history, now, send }: { history: readonly Migration[]; now: number; send: Send },
): Database {
  const db = openForWriting(path, durability);
  try {
    migrate(db, history, now, (step) => send({ kind: 'schema_step', step }));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function sendFatal(send: Send, error: unknown): void {
  send({ kind: 'fatal', error: textOf(error) });
}

/** The thread: what comes from the main thread, and the way back. */
class WriterThread {
  readonly #packer = new Packer();
  readonly #unpacker = new Unpacker();
  /** Null before it is open, and after a failure. */
  #writer: Writer | null = null;

  listen(): void {
    self.addEventListener('message', ({ data }: MessageEvent<Packed>) => {
      // What `WriterClient` packed: both ends are of one build.
      for (const message of this.#unpacker.unpack(data) as ToWriter[]) this.#receive(message);
    });
  }

  readonly #send: Send = (message) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
    self.postMessage(this.#packer.pack(message));
  };

  #receive(message: ToWriter): void {
    try {
      this.#perform(message);
    } catch (error) {
      this.#writer = null;
      sendFatal(this.#send, error);
    }
  }

  #perform(message: ToWriter): void {
    switch (message.kind) {
      case 'open':
        this.#writer = new Writer(message.dataDir, message.now, this.#send);
        this.#send({ kind: 'ready' });
        break;
      case 'write':
        this.#writer?.take({ ticket: message.ticket, request: message.request });
        break;
      case 'close':
        this.#writer?.close();
        this.#writer = null;
        this.#send({ kind: 'closed' });
        // Ends this thread alone: what it had open is closed, and the main thread only waits for `closed`.
        process.exit(0);
    }
  }
}

new WriterThread().listen();
