/**
 * Suppressions as the interface shows them, with the words that client libraries use beside its own.
 */
import { Type, type Static } from '@sinclair/typebox';
import { isId } from '../../base/ids.ts';
import type { SuppressionReason } from '../../base/status.ts';
import type { Suppression as Row } from '../../store/rows.ts';
import { Id, iso, nullable, Time, words } from './common.ts';

export const REASONS = ['hard_bounce', 'complaint', 'unsubscribe', 'manual'] as const;

export const Suppression = Type.Object(
  {
    object: Type.Literal('suppression'),
    id: Id,
    email: Type.String(),
    reason: words(REASONS),
    origin: words(['bounce', 'complaint', 'unsubscribe', 'manual']),
    source: nullable(Type.String()),
    source_id: nullable(Id),
    created_at: Time,
  },
  { title: 'Suppression' },
);

/** What the libraries call the reason. */
const ORIGINS: Record<SuppressionReason, Static<typeof Suppression>['origin']> = {
  hard_bounce: 'bounce',
  complaint: 'complaint',
  unsubscribe: 'unsubscribe',
  manual: 'manual',
};

/** A row of the list. */
export function suppression(row: Row): Static<typeof Suppression> {
  return {
    object: 'suppression',
    id: row.id,
    email: row.email,
    reason: row.reason,
    origin: ORIGINS[row.reason],
    source: row.source,
    source_id: row.source !== null && isId(row.source) ? row.source : null,
    created_at: iso(row.createdAt),
  };
}
