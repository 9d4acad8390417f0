/**
 * Writes of settings of the whole appliance, one row a name.
 *
 * Promises nothing about the text: whoever owns a setting writes and reads it.
 */
import type { Database } from 'bun:sqlite';
import type { Writes } from './verbs.ts';

/** The verb over the writer's connection. */
export function settingWrites(db: Database): Pick<Writes, 'setSetting'> {
  const drop = db.prepare('DELETE FROM settings WHERE name = ?');
  const put = db.prepare(
    'INSERT INTO settings (name, value) VALUES (?, ?)' +
      ' ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  return {
    setSetting(name, value) {
      if (value === null) drop.run(name);
      else put.run(name, value);
    },
  };
}
