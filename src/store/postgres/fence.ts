/**
 * The fence of a session: no transaction of an ended session commits.
 *
 * Each transaction that writes an owner takes the session's lock with others of the same session, then looks whether it
 * is live (`require_session`); who ends the session takes the lock alone. So what was under way has ended before the
 * session does, and what comes later, also from a process that is dead already, finds it ended and is rolled back. The
 * lock is one in memory: a row's lock would be written for every group. The question travels with the first statement,
 * and costs no round trip.
 */
import { SessionEndedError } from '../nodes.ts';
import type { Access, Session } from './database.ts';
import { transactingBy } from './database.ts';
import { sqlState } from './failures.ts';
import { part } from './statement.ts';
import type { SumPeriods } from './sum-slots.ts';

/** What `require_session` fails with. */
const ENDED = 'PR002';

/** Whose transactions these are. */
export interface Membership {
  /** Null until a session has begun: commands have none, and own nothing. */
  session: string | null;
  /** Of the live sessions each has its own. */
  number: number;
  readonly periods: SumPeriods;
}

/** The same database for what a session writes: a transaction fails with `SessionEndedError` once the session has ended. */
export function fenced(database: Access, membership: Membership): Access {
  const transaction: Access['transaction'] = async (work) => {
    const { session: id, number } = membership;
    if (id === null) return database.transaction(work);
    const period = membership.periods.next(id);
    try {
      return await database.transaction((session) => {
        // Without waiting for it: it fails what follows.
        session.send(part('SELECT require_session($1)', id));
        return work({ ...session, node: number, period });
      });
    } catch (error) {
      throw sqlState(error) === ENDED
        ? new SessionEndedError('the session of this server was ended')
        : error;
    }
  };
  return transactingBy(database, transaction);
}

/** Waits for every transaction of the session `id`, and keeps further ones waiting until the commit. */
export async function keepOut(session: Session, id: string): Promise<void> {
  await session.all(part('SELECT pg_advisory_xact_lock(session_lock($1))', id));
}
