/**
 * Suppressions as the API returns them, with the words of client libraries beside its own.
 */
import { Type, type Static } from '@sinclair/typebox';
import { isId } from '../../base/ids.ts';
import type { SuppressionReason } from '../../base/status.ts';
import type { Suppression as Row } from '../../store/rows.ts';
import { Id, iso, nullable, Time, words } from './common.ts';

export const REASONS = ['hard_bounce', 'complaint', 'unsubscribe', 'manual'] as const;

/** `reason` in the words of client libraries. */
export const ORIGIN_WORDS = ['bounce', 'complaint', 'unsubscribe', 'manual'] as const;

export const Suppression = Type.Object(
  {
    object: Type.Literal('suppression'),
    id: Id,
    email: Type.String(),
    reason: words(REASONS),
    origin: words(ORIGIN_WORDS),
    source: nullable(Type.String()),
    source_id: nullable(Id),
    created_at: Time,
  },
  { title: 'Suppression' },
);

type Origin = (typeof ORIGIN_WORDS)[number];

/** The reason in the words of client libraries. */
const ORIGINS: Record<SuppressionReason, Origin> = {
  hard_bounce: 'bounce',
  complaint: 'complaint',
  unsubscribe: 'unsubscribe',
  manual: 'manual',
};

/** The reason that `origin` stands for. */
export function reasonOf(origin: Origin): SuppressionReason {
  return origin === 'bounce' ? 'hard_bounce' : origin;
}

/** One suppression. */
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
