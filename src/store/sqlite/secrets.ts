/**
 * Replacing the sealed secrets of all rows together.
 *
 * Promises that `replaceSecrets` is one item of one commit. Moves bytes only; never opens one.
 */
import type { Database } from 'bun:sqlite';
import type { Writes } from './verbs.ts';

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
    setting: db.prepare('UPDATE settings SET value = lower(hex(?)) WHERE name = ?'),
    previous_webhook: db.prepare('UPDATE endpoints SET sealed_previous_secret = ? WHERE id = ?'),
  };
  return {
    replaceSecrets(secrets, settings) {
      for (const { kind, id, sealed } of secrets) put[kind].run(sealed, id);
      for (const [name, value] of Object.entries(settings)) setSetting(name, value);
    },
  };
}
