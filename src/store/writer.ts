/**
 * The writer: a thread of its own that alone writes both files.
 *
 * What arrives while a commit runs waits and goes into the next one together. Answers leave only after
 * COMMIT. A failure that no item caused is reported as fatal and nothing more is answered: the main
 * thread ends the process then. Request logs are written when no mail waits.
 */
import { join } from 'node:path';
import { Packer, Unpacker } from '../base/packing.ts';
import type { Packed } from '../base/packing.ts';
import { openForWriting } from './database.ts';
import type { GroupHooks, ItemResult } from './group-commit.ts';
import { Lane } from './lane.ts';
import type { Waiting } from './lane.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from './migrations.ts';
import { Places } from './places.ts';
import { StatusCounts } from './status-counts.ts';
import { textOf } from './threads.ts';
import type { Writes } from './verbs.ts';
import { acceptWrites } from './write-accept.ts';
import { accountWrites } from './write-accounts.ts';
import { attemptWrites } from './write-attempts.ts';
import { callWrites } from './write-calls.ts';
import { EventWriter } from './write-events.ts';
import { logWrites } from './write-logs.ts';
import { retentionWrites } from './write-retention.ts';
import { SuppressionWriter, suppressionWrites } from './write-suppressions.ts';
import type { FromWriter, ToWriter } from './writer-messages.ts';

declare const self: Worker;

/** Requests in one commit at most; log rows come many in a request, and mail shall not wait behind them. */
const LARGEST_GROUP = { mail: 256, log: 8 };

class Writer {
  readonly #mail: Lane;
  readonly #log: Lane;
  #isScheduled = false;

  constructor(dataDir: string, now: number) {
    const mail = openForWriting(join(dataDir, 'mail.db'), 'full');
    const log = openForWriting(join(dataDir, 'log.db'), 'normal');
    migrate(mail, MAIL_MIGRATIONS, now);
    migrate(log, LOG_MIGRATIONS, now);
    const counts = new StatusCounts(mail);
    const events = new EventWriter(mail);
    const places = new Places(mail);
    const suppressions = new SuppressionWriter(mail);
    const verbs: Writes = {
      ...accountWrites(mail),
      ...acceptWrites(mail, events, counts, places),
      ...attemptWrites(mail, events, suppressions, counts),
      ...callWrites(mail, events),
      ...suppressionWrites(suppressions),
      ...retentionWrites(mail),
    };
    const hooks = mailHooks(counts, [events, places]);
    this.#mail = new Lane({ db: mail, verbs, hooks, largestGroup: LARGEST_GROUP.mail });
    this.#log = new Lane({
      db: log,
      verbs: logWrites(log),
      hooks: NO_HOOKS,
      largestGroup: LARGEST_GROUP.log,
    });
  }

  take(waiting: Waiting): void {
    (this.#log.has(waiting.request.name) ? this.#log : this.#mail).take(waiting);
    this.#schedule();
  }

  /** Writes what waits, then closes both files. */
  close(): void {
    while (this.#hasWork()) this.#step();
    this.#mail.close();
    this.#log.close();
  }

  #hasWork(): boolean {
    return !this.#mail.isIdle || !this.#log.isIdle;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the messages that have arrived by now, so that they share this commit.
    setImmediate(() => {
      this.#isScheduled = false;
      guard(() => this.#step());
      if (this.#hasWork()) this.#schedule();
    });
  }

  /** Log rows have their turn after every group of mail: under steady load there is always mail. */
  #step(): void {
    if (!this.#mail.isIdle) {
      const frames = this.#mail.step(answer);
      if (frames !== null) send({ kind: 'held_up', frames });
    }
    if (!this.#log.isIdle) this.#log.step((group, results) => answer(group, results, null));
  }
}

/** `remembered`: what was read from the file and may have been undone in it. */
function mailHooks(counts: StatusCounts, remembered: readonly { forget(): void }[]): GroupHooks {
  return {
    itemKept: () => counts.keep(),
    itemUndone(): void {
      counts.drop();
      for (const each of remembered) each.forget();
    },
    beforeCommit: () => counts.flush(),
    groupUndone(): void {
      counts.forget();
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

function answer(
  group: readonly Waiting[],
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

const packer = new Packer();
const unpacker = new Unpacker();

function send(message: FromWriter): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
  self.postMessage(packer.pack(message));
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

self.addEventListener('message', ({ data }: MessageEvent<Packed>) => {
  for (const message of unpacker.unpack(data) as ToWriter[]) guard(() => receive(message));
});

function receive(message: ToWriter): void {
  switch (message.kind) {
    case 'open':
      writer = new Writer(message.dataDir, message.now);
      send({ kind: 'ready' });
      break;
    case 'write':
      writer?.take({ ticket: message.ticket, request: message.request });
      break;
    case 'close':
      writer?.close();
      writer = null;
      send({ kind: 'closed' });
      // Ends this thread alone: what it had open is closed, and the main thread only waits for the word.
      process.exit(0);
  }
}
