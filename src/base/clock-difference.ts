/**
 * By how much another machine's clock is ahead of this one's, seen from a question and its answer.
 *
 * Promises never to see a difference that the way there and back can explain, so that a slow answer is no wrong clock.
 * Pure.
 */

/** A question: when it was asked and answered by this machine's clock, and what the other one said; epoch milliseconds. */
export interface AskedTime {
  askedAt: number;
  answeredAt: number;
  said: number;
}

/** Milliseconds by which the other clock is ahead; negative: behind; 0: it may agree. */
export function aheadMs({ askedAt, answeredAt, said }: AskedTime): number {
  if (said > answeredAt) return said - answeredAt;
  return said < askedAt ? said - askedAt : 0;
}
