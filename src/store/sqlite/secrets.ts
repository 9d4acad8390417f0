/**
 * Sealed secrets of all rows: read together, replaced together.
 *
 * Promises that `replaceSecrets` is one item of one commit. Moves bytes only; never opens one.
 */
import type { Database } from 'bun:sqlite';
import type { SealedSecret, SecretStore } from '../secrets.ts';
import type { Writes } from './verbs.ts';

/** The verb over a reading connection. */
export function secretReads(db: Database): Pick<SecretStore, 'sealedSecrets'> {
  const all = db.prepare<SealedSecret, []>(
    "SELECT 'dkim' AS kind, id, sealed_dkim_key AS sealed FROM domains" +
      " UNION ALL SELECT 'next_dkim', domain_id, sealed_dkim_key FROM dkim_keys WHERE state = 'next'" +
      " UNION ALL SELECT 'webhook', id, sealed_secret FROM endpoints" +
      " UNION ALL SELECT 'previous_webhook', id, sealed_previous_secret FROM endpoints" +
      ' WHERE sealed_previous_secret IS NOT NULL' +
      " UNION ALL SELECT 'totp', id, sealed_totp FROM operators WHERE sealed_totp IS NOT NULL",
  );
  return { sealedSecrets: async () => all.all() };
}

/** The verb over the writer's connection; `setSetting` is the writer's own. */
export function secretWrites(
  db: Database,
  setSetting: Writes['setSetting'],
): Pick<Writes, 'replaceSecrets'> {
  const put = {
    dkim: db.prepare('UPDATE domains SET sealed_dkim_key = ? WHERE id = ?'),
    next_dkim: db.prepare(
      "UPDATE dkim_keys SET sealed_dkim_key = ? WHERE domain_id = ? AND state = 'next'",
    ),
    webhook: db.prepare('UPDATE endpoints SET sealed_secret = ? WHERE id = ?'),
    totp: db.prepare('UPDATE operators SET sealed_totp = ? WHERE id = ?'),
    previous_webhook: db.prepare('UPDATE endpoints SET sealed_previous_secret = ? WHERE id = ?'),
  };
  return {
    replaceSecrets(secrets, settings) {
      for (const { kind, id, sealed } of secrets) put[kind].run(sealed, id);
      for (const [name, value] of Object.entries(settings)) setSetting(name, value);
    },
  };
}
