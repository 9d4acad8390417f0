/**
 * Whether the secret key of a data directory is the one of the database beside it, for the host check.
 *
 * Reads only, beside a running server too. Knows what `data-key.ts` of the flow has written: a database without a
 * fingerprint tells nothing. Throws what SQLite throws where the file cannot be read.
 */
import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { FINGERPRINT_SETTING, keyState } from '../key-file.ts';
import type { KeyState } from '../key-file.ts';

/** `unknown`: there is no database yet, or one that no server of this release has opened. */
export function inspectKey(dataDir: string): KeyState {
  const file = join(dataDir, 'mail.db');
  if (!existsSync(file)) return 'unknown';
  const db = new Database(file, { readonly: true });
  try {
    const row = db
      .prepare<{ value: string }, [string]>('SELECT value FROM settings WHERE name = ?')
      .get(FINGERPRINT_SETTING);
    return keyState(dataDir, row?.value ?? null);
  } finally {
    db.close();
  }
}
