/** What a host check is told of the key in a data directory: beside no database, one without a fingerprint, its own, and another's. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SecretBox } from '../../../src/base/secret-box.ts';
import {
  FINGERPRINT_SETTING,
  foreignKey,
  masterKey,
  missingKey,
} from '../../../src/store/key-file.ts';
import { inspectKey } from '../../../src/store/sqlite/key-inspection.ts';
import { withDir } from '../test-store.ts';

test('a key is compared with what the database says of it, and nothing is made where there is none', () =>
  withDir((dir) => {
    expect([inspectKey(dir), readdirSync(dir)]).toEqual(['unknown', []]);
    const key = masterKey(dir);
    expect(inspectKey(dir)).toBe('unknown');
    const db = new Database(join(dir, 'mail.db'));
    db.run('CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)');
    const set = db.prepare('INSERT OR REPLACE INTO settings VALUES (?, ?)');
    set.run('another', new SecretBox(key).fingerprint);
    expect(inspectKey(dir)).toBe('unknown');
    set.run(FINGERPRINT_SETTING, new SecretBox(key).fingerprint);
    expect(inspectKey(dir)).toBe('right');
    const path = join(dir, 'secret.key');
    writeFileSync(path, Buffer.alloc(key.length, 1));
    expect(inspectKey(dir)).toEqual(foreignKey(dir));
    rmSync(path);
    expect(inspectKey(dir)).toEqual(missingKey(dir));
    expect(readdirSync(dir)).toEqual(['mail.db']);
    db.close();
  }));
