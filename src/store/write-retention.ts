/**
 * What retention takes from the mail file, a small step at a time.
 *
 * Promises that a step removes at most `limit` rows, oldest first, and that the content of a message that
 * still waits for delivery stays. Never decides how long anything is kept: the caller gives the bound.
 */
import type { Database } from 'bun:sqlite';
import type { AgingRows, Writes } from './verbs.ts';

/** Every UUIDv7 made before `timeMs` sorts before this text. */
export function idBound(timeMs: number): string {
  const time = Math.max(timeMs, 0).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

interface BodyRow {
  seq: number;
  createdAt: number;
  isOpen: number;
}

/** The verbs over the writer's connection; statements are prepared once, here. */
export function retentionWrites(
  db: Database,
): Pick<Writes, 'purgeBodiesStep' | 'purgeCallAttemptsStep' | 'purgeStep'> {
  const bodies = db.prepare<BodyRow, [number, number]>(
    'SELECT message_seq AS seq, created_at AS createdAt, EXISTS (SELECT 1 FROM recipients' +
      ' WHERE recipients.message_id = messages.id AND next_attempt_at IS NOT NULL) AS isOpen' +
      ' FROM bodies JOIN messages ON messages.seq = bodies.message_seq' +
      ' WHERE message_seq > ? ORDER BY message_seq LIMIT ?',
  );
  const dropAttachments = db.prepare('DELETE FROM attachments WHERE message_seq = ?');
  const dropBody = db.prepare('DELETE FROM bodies WHERE message_seq = ?');
  const endpoints = db.prepare<{ id: string }, []>('SELECT id FROM endpoints');
  const dropCallAttempts = db.prepare(
    'DELETE FROM call_attempts WHERE endpoint_id = ?1 AND id IN' +
      ' (SELECT id FROM call_attempts WHERE endpoint_id = ?1 AND id < ?2 ORDER BY id LIMIT ?3)',
  );
  const drops: Record<AgingRows, (before: number, limit: number) => number> = {
    events: byMessageId('events'),
    attempts: byMessageId('attempts'),
    calls: byId(
      'DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE id < ? ORDER BY id LIMIT ?)',
    ),
    idempotency: byTime(
      'DELETE FROM idempotency WHERE (account_id, key) IN (SELECT account_id, key FROM idempotency' +
        ' WHERE expires_at < ? ORDER BY expires_at LIMIT ?)',
    ),
    suppressions: byTime(
      'DELETE FROM suppressions WHERE seq IN (SELECT seq FROM suppressions' +
        ' WHERE removed_at IS NOT NULL AND removed_at < ? ORDER BY removed_at LIMIT ?)',
    ),
  };

  function byMessageId(table: 'events' | 'attempts') {
    return byId(
      'DELETE FROM ' +
        table +
        ' WHERE (message_id, id) IN (SELECT message_id, id FROM ' +
        table +
        ' WHERE message_id < ? ORDER BY message_id, id LIMIT ?)',
    );
  }

  function byId(sql: string): (before: number, limit: number) => number {
    const drop = db.prepare(sql);
    return (before, limit) => drop.run(idBound(before), limit).changes;
  }

  function byTime(sql: string): (before: number, limit: number) => number {
    const drop = db.prepare(sql);
    return (before, limit) => drop.run(before, limit).changes;
  }

  return {
    purgeBodiesStep(before, after, limit) {
      const rows = bodies.all(after, limit);
      let removed = 0;
      for (const { seq, createdAt, isOpen } of rows) {
        if (createdAt >= before) return { removed, next: null };
        if (isOpen === 1) continue;
        dropAttachments.run(seq);
        removed += dropBody.run(seq).changes;
      }
      return { removed, next: rows.length < limit ? null : (rows.at(-1)?.seq ?? null) };
    },
    purgeCallAttemptsStep(before, limit) {
      let removed = 0;
      for (const { id } of endpoints.all()) {
        if (removed >= limit) break;
        removed += dropCallAttempts.run(id, idBound(before), limit - removed).changes;
      }
      return removed;
    },
    purgeStep: (rows, before, limit) => drops[rows](before, limit),
  };
}
