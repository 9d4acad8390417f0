/**
 * What became of an email, in one sentence with the number of its recipients.
 *
 * Promises that no recipient is forgotten: the sentence never says "delivered" alone while one still waits, was refused
 * or was left out.
 */
import { isFinal, type MessageStatus } from '../../base/status.ts';
import type { Recipient } from '../../store/rows.ts';
import { count, type Tone } from '../frame/values.ts';

export interface Headline {
  words: string;
  tone: Tone;
}

type Fate = 'delivered' | 'sent' | 'waiting' | 'bounced' | 'complained' | 'failed' | 'suppressed';

/** Worst first: what needs the reader most begins the sentence. */
const FATES: readonly Fate[] = [
  'complained',
  'bounced',
  'failed',
  'suppressed',
  'waiting',
  'sent',
  'delivered',
];

/** One recipient or all of them, and some of several. */
const WORDS: Readonly<Record<Fate, readonly [one: string, all: string, some: string]>> = {
  delivered: ['Delivered', 'Delivered to all', 'delivered'],
  sent: ['Handed to the smarthost', 'Handed to the smarthost for all', 'handed to the smarthost'],
  waiting: [
    'Not delivered yet: still being tried',
    'Not delivered yet: still being tried for all',
    'still being tried',
  ],
  bounced: ['Bounced: refused for good', 'Bounced: refused for good for all', 'bounced'],
  complained: [
    'Delivered, then marked as spam',
    'Delivered, then marked as spam by all',
    'marked it as spam',
  ],
  failed: [
    'Failed: nothing more is tried',
    'Failed for all: nothing more is tried for the',
    'failed',
  ],
  suppressed: [
    'Not sent: the recipient is suppressed',
    'Not sent: suppressed are all',
    'suppressed and not sent',
  ],
};

const TONES: Readonly<Record<Fate, Tone>> = {
  delivered: 'good',
  sent: 'good',
  waiting: 'fair',
  suppressed: 'fair',
  bounced: 'bad',
  complained: 'bad',
  failed: 'bad',
};

/** The sentence for a message's recipients. */
export function headlineOf(
  recipients: readonly Pick<Recipient, 'status' | 'nextAttemptAt'>[],
): Headline {
  const counts = new Map<Fate, number>();
  for (const recipient of recipients) {
    const fate = fateOf(recipient);
    counts.set(fate, (counts.get(fate) ?? 0) + 1);
  }
  const present = FATES.filter((fate) => counts.has(fate));
  const [worst] = present;
  if (worst === undefined) return { words: 'No recipients', tone: 'neutral' };
  const total = recipients.length;
  const tone = TONES[worst];
  if (present.length > 1) {
    const parts = present.map((fate) => `${counts.get(fate) ?? 0} ${WORDS[fate][2]}`);
    return { words: `Of ${count(total, 'recipient')}: ${parts.join(', ')}`, tone };
  }
  const [one, all] = WORDS[worst];
  return { words: total === 1 ? one : `${all} ${count(total, 'recipient')}`, tone };
}

/** Whether the appliance still tries this recipient. */
export function isWaiting({
  status,
  nextAttemptAt,
}: Pick<Recipient, 'status' | 'nextAttemptAt'>): boolean {
  return !isFinal(status) && nextAttemptAt !== null;
}

function fateOf(recipient: Pick<Recipient, 'status' | 'nextAttemptAt'>): Fate {
  if (isWaiting(recipient)) return 'waiting';
  return ENDED[recipient.status];
}

const ENDED: Readonly<Record<MessageStatus, Fate>> = {
  queued: 'waiting',
  delivery_delayed: 'waiting',
  sent: 'sent',
  delivered: 'delivered',
  bounced: 'bounced',
  complained: 'complained',
  failed: 'failed',
  suppressed: 'suppressed',
};
