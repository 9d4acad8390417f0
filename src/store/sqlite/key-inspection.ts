/**
 * Whether the secret key of a data directory is the one of the database beside it, for the host check.
 *
 * Reads only, beside a running server too. Knows what `data-key.ts` of the flow has written: a database without a
 * fingerprint tells nothing. Throws what SQLite throws where the file cannot be read.
 */
import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { OperatorError } from '../../base/errors.ts';
import { SecretBox } from '../../base/secret-box.ts';
import { FINGERPRINT_SETTING, foreignKey, keyIn, missingKey } from '../key-file.ts';

/** `unknown`: there is no database yet, or one that no server of this release has opened. */
export function inspectKey(dataDir: string): 'right' | 'unknown' | OperatorError {
  const file = join(dataDir, 'mail.db');
  if (!existsSync(file)) return 'unknown';
  const db = new Database(file, { readonly: true });
  try {
    const row = db
      .prepare<{ value: string }, [string]>('SELECT value FROM settings WHERE name = ?')
      .get(FINGERPRINT_SETTING);
    if (row === null) return 'unknown';
    const key = keyIn(dataDir);
    if (key === null) return missingKey(dataDir);
    return new SecretBox(key).fingerprint === row.value ? 'right' : foreignKey(dataDir);
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  } finally {
    db.close();
  }
}
