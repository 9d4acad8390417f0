/**
 * Operators and the audit log: the list of the log over a reading connection, writes over the writer's.
 *
 * Promises what `people.ts` above promises; a purge removes at most `limit` rows a step.
 */
import type { Database } from 'bun:sqlite';
import type { AuditEntry, AuditRow, PeopleStore } from '../people.ts';
import { stringsOf } from '../json-columns.ts';
import type { Writes } from './verbs.ts';

const AUDIT =
  'SELECT seq, at, via, who, action, target, account_id AS accountId, address FROM audit' +
  ' WHERE seq < ?1 AND (?2 IS NULL OR who = ?2) ORDER BY seq DESC LIMIT ?3';

/** The list of the audit log: a name that is rare in it may lie far back. */
export function auditLists(db: Database): Pick<PeopleStore, 'audit'> {
  const audit = db.prepare<AuditRow, [number, string | null, number]>(AUDIT);
  return {
    audit: async ({ before, who, limit }) =>
      audit.all(before ?? Number.MAX_SAFE_INTEGER, who, limit),
  };
}

type PeopleWrites =
  | 'createOperator'
  | 'removeOperator'
  | 'setOperatorPassword'
  | 'setOperatorTotp'
  | 'noteSignIn'
  | 'takeTotpStep'
  | 'takeRecoveryHash'
  | 'addAudit'
  | 'purgeAuditStep';

/** The verbs over the writer's connection. */
export function peopleWrites(db: Database): Pick<Writes, PeopleWrites> {
  return { ...operatorWrites(db), ...auditWrites(db) };
}

function operatorWrites(
  db: Database,
): Omit<Pick<Writes, PeopleWrites>, 'addAudit' | 'purgeAuditStep'> {
  const count = db.prepare<{ count: number }, []>('SELECT count(*) AS count FROM operators');
  const insert = db.prepare(
    'INSERT INTO operators VALUES (?, ?, ?, ?, ?, NULL, 0, ?, ?, NULL) ON CONFLICT (name) DO NOTHING',
  );
  const remove = db.prepare('DELETE FROM operators WHERE id = ?');
  const password = db.prepare('UPDATE operators SET password_hash = ? WHERE id = ?');
  const totp = db.prepare('UPDATE operators SET sealed_totp = ?, recovery_hashes = ? WHERE id = ?');
  const signedIn = db.prepare('UPDATE operators SET signed_in_at = ? WHERE id = ?');
  const step = db.prepare('UPDATE operators SET totp_step = ?1 WHERE id = ?2 AND totp_step < ?1');
  const codes = db.prepare<{ hashes: string }, [string]>(
    'SELECT recovery_hashes AS hashes FROM operators WHERE id = ?',
  );
  const keepCodes = db.prepare('UPDATE operators SET recovery_hashes = ? WHERE id = ?');
  return {
    createOperator({ id, name, role, accountId, passwordHash, createdAt }, max) {
      if ((count.get()?.count ?? 0) >= max) return 'too_many';
      const made = insert.run(id, name, role, accountId, passwordHash, '[]', createdAt);
      return made.changes === 0 ? 'exists' : 'created';
    },
    removeOperator: (id) => remove.run(id).changes > 0,
    setOperatorPassword: (id, hash) => void password.run(hash, id),
    setOperatorTotp: (id, sealed, hashes) => void totp.run(sealed, JSON.stringify(hashes), id),
    noteSignIn: (id, at) => void signedIn.run(at, id),
    takeTotpStep: (id, used) => step.run(used, id).changes > 0,
    takeRecoveryHash(id, hash) {
      const hashes = stringsOf(codes.get(id)?.hashes ?? '[]');
      if (!hashes.includes(hash)) return false;
      keepCodes.run(JSON.stringify(hashes.filter((one) => one !== hash)), id);
      return true;
    },
  };
}

function auditWrites(db: Database): Pick<Writes, 'addAudit' | 'purgeAuditStep'> {
  const add = db.prepare(
    'INSERT INTO audit (at, via, who, action, target, account_id, address) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const drop = db.prepare(
    'DELETE FROM audit WHERE seq IN (SELECT seq FROM audit' +
      ' WHERE at < ?1 OR seq <= (SELECT max(seq) FROM audit) - ?2 ORDER BY seq LIMIT ?3)',
  );
  return {
    addAudit({ at, via, who, action, target, accountId, address }: AuditEntry) {
      add.run(at, via, who, action, target, accountId, address);
    },
    purgeAuditStep: (before, max, limit) => drop.run(before, max, limit).changes,
  };
}
