/**
 * Operators, the audit log, settings, and sealed secrets of all rows.
 *
 * Promises that a code is taken once, also when two nodes are given it at the same moment, and that `replaceSecrets` is one
 * transaction. Moves sealed bytes only; never opens one.
 */
import { stringsOf } from '../json-columns.ts';
import type { AuditRow, PeopleStore } from '../people.ts';
import type { SealedSecret, SecretStore } from '../secrets.ts';
import { SEALED } from '../settings.ts';
import type { SettingStore } from '../settings.ts';
import { operatorReads } from '../sql/people.ts';
import { settingReads } from '../sql/settings.ts';
import type { Access, Session } from './database.ts';
import { sqlReader } from './reader.ts';
import { raising } from './revision.ts';
import { part } from './statement.ts';
import type { Part } from './statement.ts';

/** The verbs over the database. */
export function peopleVerbs(database: Access): PeopleStore & SettingStore & SecretStore {
  return {
    ...operatorReads(sqlReader(database)),
    ...operatorWrites(database),
    ...auditLog(database),
    ...settings(database),
    ...secrets(database),
  };
}

/** Locked while operators are counted. */
const OPERATORS_LOCK = 7_867_479;

type OperatorReads = Pick<PeopleStore, 'operators' | 'operator' | 'operatorNamed'>;
type AuditVerbs = Pick<PeopleStore, 'addAudit' | 'audit' | 'purgeAudit'>;

function operatorWrites(
  database: Access,
): Omit<PeopleStore, keyof OperatorReads | keyof AuditVerbs> {
  const change = async (...statement: Parameters<typeof part>): Promise<boolean> =>
    (await database.run(part(...statement))) > 0;
  return {
    createOperator: ({ id, name, role, accountId, passwordHash, createdAt }, max) =>
      database.transaction(async (session) => {
        await session.run(part('SELECT pg_advisory_xact_lock($1)', OPERATORS_LOCK));
        const counted = await session.first<{ count: number }>(
          part('SELECT count(*) AS count FROM operators'),
        );
        if ((counted?.count ?? 0) >= max) return 'too_many';
        const made = await session.run(
          part(
            'INSERT INTO operators (id, name, role, account_id, password_hash, totp_step, recovery_hashes, created_at)' +
              " VALUES ($1, $2, $3, $4, $5, 0, '[]', $6) ON CONFLICT (name) DO NOTHING",
            id,
            name,
            role,
            accountId,
            passwordHash,
            createdAt,
          ),
        );
        return made === 0 ? 'exists' : 'created';
      }),
    removeOperator: (id) => change('DELETE FROM operators WHERE id = $1', id),
    async setOperatorPassword(id, hash) {
      await change('UPDATE operators SET password_hash = $1 WHERE id = $2', hash, id);
    },
    async setOperatorTotp(id, sealed, hashes) {
      const set = 'UPDATE operators SET sealed_totp = $1, recovery_hashes = $2 WHERE id = $3';
      await change(set, sealed, JSON.stringify(hashes), id);
    },
    async noteSignIn(id, at) {
      await change('UPDATE operators SET signed_in_at = $1 WHERE id = $2', at, id);
    },
    takeTotpStep: (id, step) =>
      change('UPDATE operators SET totp_step = $1 WHERE id = $2 AND totp_step < $1', step, id),
    takeRecoveryHash: (id, hash) =>
      database.transaction(async (session) => {
        const row = await session.first<{ hashes: string }>(
          part('SELECT recovery_hashes AS hashes FROM operators WHERE id = $1 FOR UPDATE', id),
        );
        const hashes = stringsOf(row?.hashes ?? '[]');
        if (!hashes.includes(hash)) return false;
        const left = JSON.stringify(hashes.filter((one) => one !== hash));
        await session.run(
          part('UPDATE operators SET recovery_hashes = $1 WHERE id = $2', left, id),
        );
        return true;
      }),
  };
}

function auditLog(database: Access): AuditVerbs {
  return {
    async addAudit({ at, via, who, action, target, accountId, address }) {
      await database.run(
        part(
          'INSERT INTO audit (at, via, who, action, target, account_id, address) VALUES ($1, $2, $3, $4, $5, $6, $7)',
          at,
          via,
          who,
          action,
          target,
          accountId,
          address,
        ),
      );
    },
    audit: ({ before, who, limit }) =>
      database.all<AuditRow>(
        part(
          'SELECT seq, at, via, who, action, target, account_id AS "accountId", address FROM audit' +
            ' WHERE seq < $1 AND ($2::text IS NULL OR who = $2) ORDER BY seq DESC LIMIT $3',
          before ?? Number.MAX_SAFE_INTEGER,
          who,
          limit,
        ),
      ),
    purgeAudit: (before, max) =>
      database.run(
        part(
          'DELETE FROM audit WHERE at < $1 OR seq <= (SELECT seq FROM audit ORDER BY seq DESC OFFSET $2 LIMIT 1)',
          before,
          max,
        ),
      ),
  };
}

function settings(database: Access): SettingStore {
  return {
    setting: settingReads(sqlReader(database)).setting,
    async setSetting(name, value, { isRemembered } = { isRemembered: false }) {
      const change = (session: Session): Promise<number> => session.run(settingPart(name, value));
      await (isRemembered ? raising(database, change) : change(database));
    },
  };
}

function settingPart(name: string, value: string | null): Part {
  if (value === null) return part('DELETE FROM settings WHERE name = $1', name);
  return part(
    'INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    name,
    value,
  );
}

/** By kind: where a secret stands. */
const PUT: Record<SealedSecret['kind'], string> = {
  dkim: 'UPDATE domains SET sealed_dkim_key = $1 WHERE id = $2',
  next_dkim: "UPDATE dkim_keys SET sealed_dkim_key = $1 WHERE domain_id = $2 AND state = 'next'",
  webhook: 'UPDATE endpoints SET sealed_secret = $1 WHERE id = $2',
  previous_webhook: 'UPDATE endpoints SET sealed_previous_secret = $1 WHERE id = $2',
  totp: 'UPDATE operators SET sealed_totp = $1 WHERE id = $2',
  setting: "UPDATE settings SET value = encode($1, 'hex') WHERE name = $2",
};

function secrets(database: Access): SecretStore {
  return {
    sealedSecrets: () =>
      database.all<SealedSecret>(
        part(
          "SELECT 'dkim' AS kind, id::text, sealed_dkim_key AS sealed FROM domains" +
            " UNION ALL SELECT 'next_dkim', domain_id::text, sealed_dkim_key FROM dkim_keys WHERE state = 'next'" +
            " UNION ALL SELECT 'webhook', id::text, sealed_secret FROM endpoints" +
            " UNION ALL SELECT 'previous_webhook', id::text, sealed_previous_secret FROM endpoints" +
            ' WHERE sealed_previous_secret IS NOT NULL' +
            " UNION ALL SELECT 'totp', id, sealed_totp FROM operators WHERE sealed_totp IS NOT NULL" +
            " UNION ALL SELECT 'setting', name, decode(value, 'hex') FROM settings" +
            ' WHERE starts_with(name, $1)',
          SEALED,
        ),
      ),
    replaceSecrets: (all, changed) =>
      database.transaction(async (session) => {
        for (const { kind, id, sealed } of all) await session.run(part(PUT[kind], sealed, id));
        for (const [name, value] of Object.entries(changed)) {
          await session.run(settingPart(name, value));
        }
      }),
  };
}
