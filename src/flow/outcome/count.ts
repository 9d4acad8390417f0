/**
 * Counts ended attempts for the appliance's numbers.
 *
 * Promises labels from closed lists only: outcome, class, and the kind of destination. Cannot fail.
 */
import type { Metrics } from '../../base/metrics.ts';
import type { Message, Recipient } from '../../store/rows.ts';
import type { FinishAttempt } from '../../store/journey.ts';
import { destinationKind } from '../../base/destination-kind.ts';

/** Counts the attempt of `end`; nothing when there was none. */
export function countAttempt(
  metrics: Metrics,
  ended: {
    message: Pick<Message, 'createdAt'>;
    recipient: Pick<Recipient, 'domain'>;
    beganAt: number;
    endedAt: number;
  },
  { attempt }: Pick<FinishAttempt, 'attempt'>,
): void {
  if (attempt === null) return;
  const { outcome } = attempt;
  const destination = destinationKind(ended.recipient.domain);
  metrics.attempts.inc({ outcome, class: attempt.class ?? 'none', destination });
  metrics.attemptSeconds.observe({ outcome }, seconds(ended.endedAt - ended.beganAt));
  if (outcome === 'delivered') {
    metrics.deliverySeconds.observe(seconds(ended.endedAt - ended.message.createdAt));
  }
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}
