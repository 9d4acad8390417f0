/**
 * The outcome of one attempt as deliver reports it: what the network did, not yet what follows from it.
 *
 * Types, and which stages come before a signature. An outcome is a value, never thrown; nothing here can fail.
 */
import type { Stage } from '../../wire/smtp/deadlines.ts';
import type { Reply } from '../../wire/smtp/reply.ts';

/** TLS of the session, as events show it: what was negotiated and which rule asked for it. */
export interface TlsFacts {
  version: string;
  cipher: string;
  /** Whether the certificate was checked and is trusted. */
  verified: boolean;
  /** `opportunistic`, `mta-sts`, `dane`, `required`. */
  policy: string;
}

/** Stages before there is a signed message on its way. */
export const EARLY_STAGES = ['throttled', 'route', 'dns', 'policy', 'compose', 'sign'] as const;
export type EarlyStage = (typeof EARLY_STAGES)[number];

/** The name of `throttled` in attempts that earlier releases recorded. */
const THROTTLED_BEFORE = 'held';

/** Whether the message had its signature when the attempt ended at `stage`, and so counts as sent. */
export function isSentStage(stage: string): boolean {
  return stage !== THROTTLED_BEFORE && !EARLY_STAGES.some((early) => early === stage);
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
    | 'throttled' /** Not tried: nothing is dialled at the site now, see `throttle`. */;
  /** Where the attempt ended: an early stage, else the stage of the session. */
  stage: Stage | EarlyStage;
  host: string | null;
  address: string | null;
  tls: TlsFacts | null;
  reply: Reply | null;
  /** Our words for it, where no reply says it. */
  cause: string | null;
  /** Lost after the final dot: it may have been taken (RFC 1047). */
  mayBeDuplicate: boolean;
  /** Why nothing is dialled, and until when; only of `throttled`. */
  throttle: {
    untilMs: number;
    class: 'rate' | 'reputation' | 'network';
    hint: string | null;
  } | null;
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
    throttle: null,
  };
}
