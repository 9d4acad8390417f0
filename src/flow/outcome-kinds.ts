/**
 * The outcome of one attempt as deliver reports it: what the network did, not yet what follows from it.
 *
 * Holds shapes only. An outcome is a value, never thrown (design, Errors).
 */
import type { Stage } from '../wire/smtp-deadlines.ts';
import type { Reply } from '../wire/smtp-reply.ts';

/** TLS of the session, as it stands in events: what was negotiated and which rule asked for it. */
export interface TlsFacts {
  version: string;
  cipher: string;
  /** Whether the certificate was checked and found right. */
  verified: boolean;
  /** `opportunistic`, `mta-sts`, `dane`, `required`. */
  policy: string;
}

/** Stages before there is a signed message on its way. */
export const EARLY_STAGES = ['held', 'route', 'dns', 'policy', 'compose', 'sign'] as const;
export type EarlyStage = (typeof EARLY_STAGES)[number];

/** Whether the message had its signature when the attempt ended at `stage`, and so counts as sent. */
export function isSentStage(stage: string): boolean {
  return !EARLY_STAGES.some((early) => early === stage);
}

export interface Outcome {
  kind:
    | 'accepted' /** The recipient's server answered 250 to the data. */
    | 'relayed' /** A smarthost did. */
    | 'refused' /** A server answered 4xx or 5xx: see `reply`. */
    | 'unreached' /** No answer for this recipient: deferred. */
    | 'impossible' /** Can never be delivered, and no server said so. */
    | 'null_mx' /** The domain says that it takes no mail (RFC 7505). */
    | 'uncomposable' /** The message can never be made: its content is at fault. */
    | 'unsigned' /** Ours: the message could not be signed now. */
    | 'held' /** Not tried: the place rests, see `hold`. */;
  /** Where it ended: an early stage, else the stage of the session. */
  stage: Stage | EarlyStage;
  host: string | null;
  address: string | null;
  tls: TlsFacts | null;
  reply: Reply | null;
  /** Our words for it, where no reply tells. */
  cause: string | null;
  /** Lost after the final dot: it may have been taken (RFC 1047). */
  mayBeDuplicate: boolean;
  /** Why the place rests and until when; only of `held`. */
  hold: { untilMs: number; class: 'rate' | 'reputation' | 'network'; hint: string | null } | null;
}

/** An outcome of `kind` without a session. */
export function outcomeWithoutSession(
  kind: Outcome['kind'],
  stage: Outcome['stage'],
  cause: string,
): Outcome {
  return {
    kind,
    stage,
    host: null,
    address: null,
    tls: null,
    reply: null,
    cause,
    mayBeDuplicate: false,
    hold: null,
  };
}
