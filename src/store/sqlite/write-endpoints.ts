/**
 * Writes about webhook endpoints.
 *
 * Promises that the limit on endpoints is checked inside the commit that adds one, and that the endpoints which
 * `EventWriter` remembers are forgotten with every change of one. Never touches another account's rows.
 */
import type { Database } from 'bun:sqlite';
import { changedEndpoint } from '../endpoint-health.ts';
import { SELECT_ENDPOINT, endpointOf } from '../sql/columns.ts';
import type { EndpointRow } from '../sql/columns.ts';
import { listText } from '../json-columns.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';

type EndpointWrites = Pick<
  Writes,
  'createEndpoint' | 'updateEndpoint' | 'rotateEndpointSecret' | 'deleteEndpoint'
>;

/** The verbs over the writer's connection; statements are prepared once, here. */
export function endpointWrites(db: Database, events: EventWriter): EndpointWrites {
  const rotate = db.prepare(
    'UPDATE endpoints SET sealed_previous_secret = sealed_secret, sealed_secret = ?,' +
      ' previous_until = ? WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const remove = db.prepare(
    "UPDATE endpoints SET deleted_at = ?, status = 'disabled'" +
      ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  return {
    ...creation(db, events),
    ...change(db, events),
    rotateEndpointSecret(accountId, id, sealedSecret, previousUntil) {
      return rotate.run(sealedSecret, previousUntil, accountId, id).changes === 1;
    },
    deleteEndpoint(accountId, id, now) {
      events.forget();
      return remove.run(now, accountId, id).changes === 1;
    },
  };
}

function creation(db: Database, events: EventWriter): Pick<Writes, 'createEndpoint'> {
  const countOf = db.prepare<{ count: number }, [string]>(
    'SELECT count(*) AS count FROM endpoints WHERE account_id = ? AND deleted_at IS NULL',
  );
  const add = db.prepare(
    'INSERT INTO endpoints (id, account_id, url, events, status, sealed_secret,' +
      ' sealed_previous_secret, previous_until, failure_count, last_failure_at, created_at, deleted_at)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  return {
    createEndpoint(row, maxEndpoints) {
      if ((countOf.get(row.accountId)?.count ?? 0) >= maxEndpoints) return 'too_many';
      add.run(
        row.id,
        row.accountId,
        row.url,
        listText(row.events),
        row.status,
        row.sealedSecret,
        row.sealedPreviousSecret,
        row.previousUntil,
        row.failureCount,
        row.lastFailureAt,
        row.createdAt,
        row.deletedAt,
      );
      events.forget();
      return 'created';
    },
  };
}

function change(db: Database, events: EventWriter): Pick<Writes, 'updateEndpoint'> {
  const get = db.prepare<EndpointRow, [string, string]>(
    SELECT_ENDPOINT + ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const set = db.prepare(
    'UPDATE endpoints SET url = ?, events = ?, status = ?, failure_count = ? WHERE id = ?',
  );
  return {
    updateEndpoint(accountId, id, change) {
      const stored = get.get(accountId, id);
      if (stored === null) return null;
      const endpoint = changedEndpoint(endpointOf(stored), change);
      const { url, status, failureCount } = endpoint;
      set.run(url, listText(endpoint.events), status, failureCount, id);
      events.forget();
      return endpoint;
    },
  };
}
