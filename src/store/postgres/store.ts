/**
 * The store on PostgreSQL: the same verbs as on SQLite, over a few connections to the primary.
 *
 * Writes that come many at a time are gathered into groups (`group.ts`), one kind of write each, and every group is one
 * transaction with one statement that writes. What a verb decides is decided by the same functions as on SQLite, over rows
 * that the transaction has locked; the rare verbs are small transactions of their own.
 *
 * What is owned by the session of this server (`nodes.ts`) is written behind its fence (`fence.ts`).
 *
 * Promises what `store.ts` above promises, for every node that has the database open: a commit is on disk before it is
 * answered, a commit whose answer was lost is looked up and not guessed (`database.ts`). Does not end the process when the
 * database cannot be reached: the verb fails with `StoreAwayError`. Opening brings the schema up to date. Fails with
 * `OperatorError`.
 */
import { OperatorError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { OperatorStore } from '../operator.ts';
import type { JourneyStore } from '../journey.ts';
import type { Nodes } from '../nodes.ts';
import type { RequestLogStore } from '../request-logs.ts';
import type { OnSchemaStep } from '../schema-step.ts';
import type { Store } from '../store.ts';
import type { WebhookStore } from '../webhooks.ts';
import { accountDeletionVerbs } from './account-deletion.ts';
import { accountVerbs } from './accounts.ts';
import { databaseAddress } from './address.ts';
import { decodeHere } from './content.ts';
import type { DecodeText } from './content.ts';
import { counterVerbs } from './counters.ts';
import { Database, inOrder } from './database.ts';
import type { Access } from './database.ts';
import { domainVerbs } from './domains.ts';
import { DueFloor } from './due-floor.ts';
import { endpointVerbs } from './endpoints.ts';
import { erasureVerbs } from './erasure.ts';
import { forOperator } from './failures.ts';
import { fenced } from './fence.ts';
import type { Membership } from './fence.ts';
import { Group } from './group.ts';
import { jobVerbs } from './jobs.ts';
import { withKeptPlans } from './kept-plans.ts';
import { appendAllLogs, logVerbs } from './logs.ts';
import { messageVerbs } from './messages.ts';
import { nodesOn } from './nodes.ts';
import { makePartitions } from './partitions.ts';
import { peopleVerbs } from './people.ts';
import { queueVerbs } from './queue.ts';
import { retentionVerbs } from './retention.ts';
import { rateVerbs } from './rates.ts';
import { revisionVerbs } from './revision.ts';
import { migrate, refuseHalfTransfer } from './schema.ts';
import { StandbyWatch } from './standby.ts';
import { SumPeriods, addUpPeriod } from './sum-slots.ts';
import { suppressionVerbs } from './suppressions.ts';
import { timeVerbs } from './time.ts';
import { acceptAll, groupBytesOf } from './write-accept.ts';
import { beginAll, finishAll, noteAllSent } from './write-attempts.ts';
import { beginAllCalls, callWrites, finishAllCalls } from './write-calls.ts';

/** Hears of every commit of a group: how long it took, and how many writes shared it. */
export type OnCommit = (commitMs: number, writes: number) => void;

export interface PostgresOptions {
  /** As `databaseAddress` reads it. */
  url: string;
  /** Empty: none. */
  passwordFile: string;
  /** Epoch milliseconds: when a step of the schema's history is recorded as applied. */
  now: number;
  onCommit?: OnCommit;
  onSchemaStep?: OnSchemaStep;
  /** Acceptances are answered when a synchronous standby has them; absent: when the primary has. */
  requireStandby?: { log: Log };
  /** How long a verb waits for a primary; default: some seconds. */
  patienceMs?: number;
  /** Decodes long texts elsewhere than on the thread that asks; default: there. */
  decodeText?: DecodeText;
}

/** The store, and the sessions of those that share it. */
export interface PostgresStore extends Store {
  nodes: Nodes;
}

/** Opens the store. Throws `OperatorError` for what the operator can repair. */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const { url, passwordFile, now, requireStandby, patienceMs, decodeText = decodeHere } = options;
  const database = new Database(databaseAddress(url, passwordFile), patienceMs);
  let standby: StandbyWatch | null = null;
  try {
    await migrate(database, now, options.onSchemaStep);
    await refuseHalfTransfer((statement) => database.all(statement));
    await makePartitions(database, now);
    if (requireStandby !== undefined) {
      standby = await StandbyWatch.start(database, requireStandby.log);
    }
  } catch (error) {
    await database.close();
    throw forOperator(error);
  }
  const membership = newMembership(database);
  const fence = (of: Access): Access => fenced(of, membership);
  const floor = new DueFloor();
  const { nodes, close: closeNodes } = nodesOn(database, membership, () => floor.forget());
  const ordered = inOrder(database);
  const { drained, ...writes } = groupedWrites(database, fence, standby, options.onCommit);
  return {
    ...accountVerbs(ordered),
    ...domainVerbs(ordered),
    ...endpointVerbs(ordered),
    ...callWrites(ordered),
    ...suppressionVerbs(ordered),
    ...peopleVerbs(ordered),
    // These wait for their own steps, and nobody for them.
    ...accountDeletionVerbs(database),
    ...erasureVerbs(database),
    ...retentionVerbs(database),
    ...queueVerbs(fence(database), floor),
    ...counterVerbs(database),
    ...messageVerbs(database, decodeText),
    ...logVerbs(database),
    ...revisionVerbs(database),
    ...jobVerbs(database),
    ...rateVerbs(database),
    ...timeVerbs(database),
    ...noBackup(),
    databaseState: () =>
      Promise.resolve({ ...database.state(), hasStandby: standby?.isThere ?? null }),
    ...writes,
    nodes,
    async close() {
      await standby?.stop();
      await Promise.all([drained(), ordered.drained()]);
      await closeNodes();
      await database.close();
    },
  };
}

/** No session has begun yet. */
function newMembership(database: Access): Membership {
  const periods = new SumPeriods((period) => {
    // What this leaves is added up by retention.
    addUpPeriod(database, membership.number, period).catch(() => undefined);
  });
  const membership: Membership = { session: null, number: 0, periods };
  return membership;
}

type Grouped = Pick<JourneyStore, 'accept' | 'begin' | 'noteSent' | 'finish'> &
  Pick<WebhookStore, 'beginCalls' | 'finishCall'> &
  Pick<RequestLogStore, 'appendLogs'>;

function groupedWrites(
  database: Database,
  fence: (of: Access) => Access,
  standby: StandbyWatch | null,
  onCommit?: OnCommit,
): Grouped & { drained: () => Promise<unknown> } {
  const groups: { drained(): Promise<void> }[] = [];
  /** Writes what is asked as groups. */
  const grouped = <Item, Result>(
    write: (of: Access, items: readonly Item[]) => Promise<readonly Result[]>,
    bytesOf?: (item: Item) => number,
    through: Access = fence(withKeptPlans(database)),
  ): ((item: Item) => Promise<Exclude<Result, Error>>) => {
    const group = new Group<Item, Result>((items) => write(through, items), onCommit, bytesOf);
    groups.push(group);
    return (item) => group.add(item);
  };
  const accept = grouped(
    acceptAll,
    groupBytesOf,
    fence(withKeptPlans(standby === null ? database : database.replicated())),
  );
  const begin = grouped(beginAll);
  const beginCalls = grouped(beginAllCalls);
  return {
    accept: standby === null ? accept : (batch) => standby.guarded(() => accept(batch)),
    begin: (attempts, now, revision = null) => begin({ attempts, now, revision }),
    noteSent: grouped(noteAllSent),
    finish: grouped(finishAll),
    beginCalls: (calls, now) => beginCalls({ calls, now }),
    finishCall: grouped(finishAllCalls),
    appendLogs: grouped(appendAllLogs, undefined, withKeptPlans(database)),
    drained: () => Promise.all(groups.map((group) => group.drained())),
  };
}

/** A database on a server of its own is backed up there. */
function noBackup(): Pick<OperatorStore, 'backUpTo'> {
  return {
    backUpTo: () =>
      Promise.reject(
        new OperatorError(
          'This store is on PostgreSQL, which Postrider does not back up',
          'Back up the database with pgBackRest or pg_basebackup, and the file secret.key.',
        ),
      ),
  };
}
