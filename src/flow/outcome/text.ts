/**
 * An outcome in one sentence, for `queue show`, `failure_reason` and the note of a suppression.
 *
 * Promises one line of printable text of bounded length, which says who answered what at which stage. Cannot fail.
 */
import { formatReply } from '../../wire/smtp/reply.ts';
import type { Outcome } from './kinds.ts';
import type { Verdict } from './verdict.ts';

const MAX_CHARACTERS = 1000;

/** The stages in words for people, behind "at". */
export const STAGE_WORDS: Readonly<Record<Outcome['stage'], string>> = {
  throttled: 'waiting for the receiver to recover',
  route: 'choosing the route',
  dns: 'looking up the domain',
  policy: 'checking the TLS policy',
  compose: 'writing the message',
  sign: 'signing the message',
  connect: 'connecting',
  banner: 'the greeting',
  ehlo: 'EHLO',
  starttls: 'STARTTLS',
  handshake: 'the TLS handshake',
  ehlo2: 'EHLO after STARTTLS',
  auth: 'AUTH',
  mail: 'MAIL FROM',
  rcpt: 'RCPT TO',
  data: 'DATA',
  body: 'sending the message',
  dot: 'the end of the message',
  rset: 'RSET',
  quit: 'QUIT',
};

/** `mx.example.com (192.0.2.1)`, or what there is of it. */
function whereOf(outcome: Pick<Outcome, 'host' | 'address'>): string {
  if (outcome.host === null) return outcome.address ?? 'no host';
  return outcome.address === null || outcome.address === outcome.host
    ? outcome.host
    : `${outcome.host} (${outcome.address})`;
}

/** One sentence: who answered or did what, and at which stage. */
export function describeOutcome(outcome: Outcome, verdict: Pick<Verdict, 'hint'>): string {
  const stage = STAGE_WORDS[outcome.stage];
  let text: string;
  if (outcome.reply !== null) {
    text = `${whereOf(outcome)} replied ${formatReply(outcome.reply)} at ${stage}`;
  } else if (outcome.host !== null) {
    text = `${whereOf(outcome)} at ${stage}: ${outcome.cause ?? 'no answer'}`;
  } else {
    text = outcome.cause ?? `stopped at ${stage}`;
  }
  if (verdict.hint !== null) text += ` (${verdict.hint})`;
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
}
