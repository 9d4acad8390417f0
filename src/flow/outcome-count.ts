/**
 * Counts ended attempts for the appliance's numbers.
 *
 * Promises labels from fixed lists only: outcome, class, and the provider's name or `other`.
 */
import type { Metrics } from '../base/metrics.ts';
import type { Message } from '../store/rows.ts';
import type { FinishAttempt } from '../store/store.ts';

/** `provider` is empty for a place that is in no table. */
export function countAttempt(
  metrics: Metrics,
  ended: { message: Pick<Message, 'createdAt'>; beganAt: number; endedAt: number },
  { attempt }: Pick<FinishAttempt, 'attempt'>,
  provider: string,
): void {
  if (attempt === null) return;
  const { outcome } = attempt;
  const destination = provider === '' ? 'other' : provider;
  metrics.attempts.add({ outcome, class: attempt.class ?? 'none', destination });
  metrics.attemptSeconds.observe(seconds(ended.endedAt - ended.beganAt), { outcome });
  if (outcome === 'delivered') {
    metrics.deliverySeconds.observe(seconds(ended.endedAt - ended.message.createdAt));
  }
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}
