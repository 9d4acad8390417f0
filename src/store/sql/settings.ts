/**
 * Reads of what the whole appliance has: its settings, and the sealed secrets of all rows together.
 *
 * Promises nothing about a setting's text: whoever owns it writes and reads it. Never opens a secret.
 */
import type { SealedSecret, SecretStore } from '../secrets.ts';
import { SEALED } from '../settings.ts';
import type { SettingStore } from '../settings.ts';
import type { SqlReader } from './reader.ts';

const SETTING = 'SELECT value FROM settings WHERE name = ?';
const SECRETS =
  "SELECT 'dkim' AS kind, id, sealed_dkim_key AS sealed FROM domains" +
  " UNION ALL SELECT 'next_dkim', domain_id, sealed_dkim_key FROM dkim_keys WHERE state = 'next'" +
  " UNION ALL SELECT 'webhook', id, sealed_secret FROM endpoints" +
  " UNION ALL SELECT 'previous_webhook', id, sealed_previous_secret FROM endpoints" +
  ' WHERE sealed_previous_secret IS NOT NULL' +
  " UNION ALL SELECT 'totp', id, sealed_totp FROM operators WHERE sealed_totp IS NOT NULL" +
  " UNION ALL SELECT 'setting', name, unhex(value) FROM settings" +
  ' WHERE substr(name, 1, length(?)) = ?';

export function settingReads(
  sql: SqlReader,
): Pick<SettingStore, 'setting'> & Pick<SecretStore, 'sealedSecrets'> {
  return {
    setting: async (name) => (await sql.one<{ value: string }>(SETTING, name))?.value ?? null,
    sealedSecrets: () => sql.all<SealedSecret>(SECRETS, SEALED, SEALED),
  };
}
