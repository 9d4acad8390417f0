/**
 * Sessions of servers on PostgreSQL, and the freeing of what ended ones owned.
 *
 * Promises that a session ends in one transaction with the freeing of its rows, alone with the lock of `fence.ts`: none of
 * its own transactions commits beside it or later, so that no row is left to an owner who is gone. Times are the
 * database's. Beats have a connection of their own, so that they wait for no other work.
 */
import { stringsOf } from '../json-columns.ts';
import { LEASE_SECONDS, REVIVAL_SECONDS } from '../nodes.ts';
import type { Beat, ListedSession, NewSession, NodeReport, Nodes } from '../nodes.ts';
import type { Connection } from './connection.ts';
import type { Access, Database, Session } from './database.ts';
import { keepOut } from './fence.ts';
import type { Membership } from './fence.ts';
import { part } from './statement.ts';

/** A beat that gets no answer for so long is given up with its connection, and the next one asks on another. */
const BEAT_ANSWER_MS = 4_000;
/** Who numbers a new session waits for the others that do. Any number that nothing else locks. */
const NUMBERING_LOCK = 7_867_480;

const FREE = 'SET owner = NULL, lease_until = NULL';

/** The port, and what closes its connection. */
export function nodesOn(
  database: Database,
  membership: Membership,
  onEnding: () => void = () => undefined,
): { nodes: Nodes; close: () => Promise<void> } {
  const beats = new Beats(database);
  let endings = '';
  return {
    nodes: {
      async begin(session) {
        const number = await begin(database, session);
        Object.assign(membership, { session: session.id, number });
      },
      async beat(report = null) {
        const beat = await beats.beat(membership.session, report);
        if (beat.endings !== endings) onEnding();
        endings = beat.endings;
        return beat;
      },
      async endLost() {
        const lost = await database.all<{ session: string }>(
          part(
            `SELECT session FROM sessions WHERE ended_at IS NULL AND ${IS_LOST} AND session <> $1`,
            membership.session,
          ),
        );
        const ended: string[] = [];
        for (const { session } of lost) {
          if (await endSession(database, session, IS_LOST)) ended.push(session);
        }
        return ended;
      },
      list: () => listSessions(database),
      async askToDrain(nameOrId) {
        const asked = await database.transaction((session) =>
          session.all<{ session: string }>(part(ASK_TO_DRAIN, nameOrId)),
        );
        return asked.map(({ session }) => session);
      },
      async end() {
        if (membership.session !== null) await endSession(database, membership.session, 'true');
      },
    },
    close: () => beats.close(),
  };
}

/** `clock_timestamp()`: the transaction may have waited long for a lock. */
const IS_LOST = `lease_until < clock_timestamp() - interval '${REVIVAL_SECONDS} s'`;
const NEXT_LEASE = `clock_timestamp() + interval '${LEASE_SECONDS} s'`;

/** Returns the session's number: the lowest that no live one has. */
async function begin(database: Access, session: NewSession): Promise<number> {
  const { id, name, directory, addresses, version } = session;
  const former = await database.all<{ session: string }>(
    part(
      'SELECT session FROM sessions WHERE ended_at IS NULL AND directory = $1 AND name = $2 AND session <> $3',
      directory,
      name,
      id,
    ),
  );
  // Its process is gone, since this one has the directory.
  for (const one of former) await endSession(database, one.session, 'true');
  return database.transaction(async (transaction) => {
    await transaction.all(part('SELECT pg_advisory_xact_lock($1)', NUMBERING_LOCK));
    const row = await transaction.first<{ number: number }>(
      part(
        'INSERT INTO sessions (session, number, name, directory, addresses, version, lease_until)' +
          ' SELECT $1::uuid, min(n), $2::text, $3::text, $4::text, $5::text, ' +
          NEXT_LEASE +
          ' FROM generate_series(0, (SELECT count(*)::int4 FROM sessions WHERE ended_at IS NULL)) AS n' +
          ' WHERE n NOT IN (SELECT number FROM sessions WHERE ended_at IS NULL) RETURNING number',
        id,
        name,
        directory,
        JSON.stringify(addresses),
        version,
      ),
    );
    if (row === null) throw new Error('a session got no number');
    return row.number;
  });
}

/** False when it had ended before, or `is` not any more. */
function endSession(database: Access, id: string, is: string): Promise<boolean> {
  return database.transaction(async (session) => {
    await keepOut(session, id);
    const ended = await session.run(
      part(
        `UPDATE sessions SET ended_at = clock_timestamp() WHERE session = $1 AND ended_at IS NULL AND ${is}`,
        id,
      ),
    );
    if (ended === 0) return false;
    await freeRowsOf(session, [id]);
    return true;
  });
}

/** Frees what the owners have taken or begun. */
export async function freeRowsOf(session: Session, owners: readonly string[]): Promise<void> {
  await session.run(
    part(
      `UPDATE queue ${FREE} WHERE recipient_id IN` +
        ' (SELECT recipient_id FROM queue WHERE owner = ANY($1::text[]) ORDER BY recipient_id FOR UPDATE)',
      owners,
    ),
  );
  await session.run(
    part(
      `UPDATE calls ${FREE} WHERE id IN` +
        " (SELECT id FROM calls WHERE status = 'open' AND owner = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE)",
      owners,
    ),
  );
}

const ASK_TO_DRAIN =
  'UPDATE sessions SET drain_asked = true WHERE ended_at IS NULL AND (name = $1 OR session::text = $1) RETURNING session';

const LIST =
  'SELECT session AS id, name, version, addresses, (extract(epoch FROM began_at) * 1000)::int8 AS "beganAt",' +
  ` (extract(epoch FROM clock_timestamp() - lease_until + interval '${LEASE_SECONDS} s') * 1000)::int8 AS "heardMsAgo",` +
  ' drain_asked AS "isDrainAsked", taken, in_delivery AS "inDelivery", clock_ahead_ms AS "clockAheadMs"' +
  ' FROM sessions WHERE ended_at IS NULL ORDER BY name, session';

type Listed = Omit<ListedSession, 'addresses' | 'report'> & {
  addresses: string;
} & { [name in keyof NodeReport]: number | null };

/** Sessions that have not ended, by name. */
export async function listSessions(database: Pick<Access, 'all'>): Promise<ListedSession[]> {
  const rows = await database.all<Listed>(part(LIST));
  return rows.map(({ taken, inDelivery, clockAheadMs, addresses, ...row }) => ({
    ...row,
    addresses: stringsOf(addresses),
    report:
      taken === null || inDelivery === null || clockAheadMs === null
        ? null
        : { taken, inDelivery, clockAheadMs },
  }));
}

/** Beats on a connection of their own, which is replaced when it is lost. */
class Beats {
  readonly #database: Database;
  #connection: Connection | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Fails when there is no answer. */
  async beat(session: string | null, report: NodeReport | null): Promise<Beat> {
    this.#connection ??= await this.#database.connect();
    const connection = this.#connection;
    const timer = setTimeout(() => connection.abandon(), BEAT_ANSWER_MS);
    try {
      const { taken = null, inDelivery = null, clockAheadMs = null } = report ?? {};
      const said = [taken, inDelivery, clockAheadMs];
      const { rows } = await connection.ask<Beat>(BEAT, [session, ...said]);
      const [beat] = rows;
      if (beat === undefined) throw new Error('the server answered a beat with nothing');
      return beat;
    } catch (error) {
      connection.abandon();
      throw error;
    } finally {
      clearTimeout(timer);
      if (connection.isLost) this.#connection = null;
    }
  }

  async close(): Promise<void> {
    await this.#connection?.close();
    this.#connection = null;
  }
}

const BEAT =
  `WITH live AS (UPDATE sessions SET lease_until = ${NEXT_LEASE}, taken = $2::int4, in_delivery = $3::int4,` +
  ' clock_ahead_ms = $4::int8 WHERE session = $1 AND ended_at IS NULL RETURNING drain_asked)' +
  ' SELECT EXISTS (SELECT 1 FROM live) AS "isLive", COALESCE((SELECT drain_asked FROM live), false) AS "isDrainAsked",' +
  ' 1 + (SELECT count(*)::int4 FROM sessions WHERE ended_at IS NULL AND lease_until > clock_timestamp()' +
  ' AND session IS DISTINCT FROM $1::uuid) AS live,' +
  " COALESCE((SELECT max(ended_at) FROM sessions)::text, '') AS endings," +
  ' (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at';
