/**
 * The port for webhooks: endpoints, and the calls that carry events to them.
 *
 * Calls are made by the commits that record events (`accept`, `finish`), at most one an event and endpoint. Promises
 * that a call under an unexpired lease is not begun twice, and that failures in a row are counted in the commit that
 * records the attempt. Open calls of a disabled endpoint are kept.
 */
import type { EndpointStatus } from '../base/status.ts';
import type { Page, PageOf } from './pages.ts';
import type { Call, CallAttempt, Endpoint } from './rows.ts';

/** A call as its message shows it. */
export interface MessageCall extends Pick<
  Call,
  'id' | 'eventId' | 'endpointId' | 'status' | 'attempts' | 'nextAttemptAt'
> {
  /** The endpoint's present URL. */
  url: string;
}

/** What the dispatcher needs to know of a call that is due. */
export interface CallRef {
  id: string;
  endpointId: string;
  dueAt: number;
}

/** Calls that one step of a replay opens, or of a change of an endpoint looks at: others' writes wait for it. */
export const STEP_CALLS = 500;

/** Where a replay begins: with calls made at this time (epoch milliseconds), those with a higher id than `afterId`. */
export interface FailedFrom {
  failedSince: number;
  afterId?: string;
}

/** What one step of a replay opened. */
export interface ReplayedCalls {
  calls: CallRef[];
  /** Where the next step goes on; null when there is nothing more. */
  next: FailedFrom | null;
}

/** A call that a replay finds. */
export type FailedRow = Pick<Call, 'id' | 'createdAt'>;

/** Where a replay goes on behind `rows`, all that a step has found; null when that was the rest. */
export function failedAfter(rows: readonly FailedRow[]): FailedFrom | null {
  const last = rows.length < STEP_CALLS ? undefined : rows.at(-1);
  return last === undefined ? null : { failedSince: last.createdAt, afterId: last.id };
}

/** A call's position among an endpoint's open ones. */
export type CallPosition = Pick<CallRef, 'dueAt' | 'id'>;

/** Endpoints of one part of a walk over them. */
export const PART_ENDPOINTS = 100;

/** What a look at the calls that are due asks of one part of the endpoints. */
export interface CallLook {
  /** Calls under a lease that ends later are left out. */
  now: number;
  /** Calls are due that are to be attempted until then. */
  until: number;
  /** Calls of one endpoint at most. */
  most: number;
  /** The part ends with the endpoint that brings its calls to so many. */
  limit: number;
  /** The `last` of the part before; null for the first part. */
  after: string | null;
  /** Endpoints that are not asked about. */
  without: string[];
}

/** A part of a look: what is due at some endpoints. */
export interface CallsDue {
  /** Endpoint by endpoint; of each the soonest first. */
  calls: CallRef[];
  /** The soonest due time later than `until` at these endpoints. */
  nextAt: number | null;
  /** Of these endpoints; null when there is none behind them. */
  last: string | null;
}

/** Marks an attempt of a call as begun, before posting. */
export interface BeginCall {
  id: string;
  owner: string;
  leaseUntil: number;
  /** When it is due again if this process dies in the attempt. */
  nextAttemptAt: number;
}

export interface FinishCall {
  call: Call;
  attempt: CallAttempt;
  status: 'open' | 'done' | 'failed';
  nextAttemptAt: number | null;
  /** The first words of what the endpoint responded; they go with the call. */
  response: string | null;
  /** Failures in a row after which the endpoint is disabled. */
  disableAfter: number;
}

/** An attempt in a list, with the event it is about; null for a test and for a call that is gone. */
export interface ListedAttempt extends CallAttempt {
  /** The `webhook-id`. */
  eventId: string | null;
}

/** One attempt with everything that is known of its call. */
export interface AttemptDetail {
  attempt: CallAttempt;
  /** Null for a test, and when retention has taken it. */
  call: Call | null;
  response: string | null;
  /** All attempts of the call, this one too, the first one first. */
  attempts: CallAttempt[];
}

/** What may change in an endpoint; an absent field stays. */
export interface EndpointChange {
  url?: string;
  events?: string[];
  status?: EndpointStatus;
}

export interface WebhookStore {
  createEndpoint(endpoint: Endpoint, maxEndpoints: number): Promise<'created' | 'too_many'>;
  /** Ids of the accounts that have an endpoint, active or disabled. */
  accountsWithEndpoints(): Promise<string[]>;
  /** The endpoint after the change; null when there is no such one in the account. */
  updateEndpoint(
    accountId: string,
    id: string,
    change: EndpointChange,
    now: number,
  ): Promise<Endpoint | null>;
  /** The secret before goes on signing until `previousUntil`. False when there is no such endpoint. */
  rotateEndpointSecret(
    accountId: string,
    id: string,
    sealedSecret: Uint8Array,
    previousUntil: number,
  ): Promise<boolean>;
  /** False when there is no such endpoint in the account. Keeps the row, for its calls and attempts. */
  deleteEndpoint(accountId: string, id: string, now: number): Promise<boolean>;
  endpoints(accountId: string): Promise<Endpoint[]>;
  endpoint(accountId: string, id: string): Promise<Endpoint | null>;
  /** A deleted one too, of any account. */
  endpointById(id: string): Promise<Endpoint | null>;

  /**
   * Open calls that are due at active endpoints, without what is under a lease: those of `PART_ENDPOINTS` at most, in the
   * order of their ids. Endpoints without an open call cost nothing.
   */
  callsDue(look: CallLook): Promise<CallsDue>;
  /** How many calls still wait, on disabled endpoints too. */
  openCalls(): Promise<number>;
  /** Returns the calls that are still open, on active endpoints, and now leased to their owner. */
  beginCalls(calls: BeginCall[], now: number): Promise<Call[]>;
  /** Records the attempt. `isOvertaken`: the call was opened anew or ended meanwhile, and was left so. */
  finishCall(result: FinishCall): Promise<{ endpointStatus: EndpointStatus; isOvertaken: boolean }>;
  /** Records the attempt of a test call, which has no row of its own. */
  recordTestCall(attempt: CallAttempt): Promise<void>;
  /** An endpoint's attempts, newest first; the failed ones alone where `isFailedOnly`. */
  callAttempts(
    endpointId: string,
    page: Page,
    isFailedOnly?: boolean,
  ): Promise<PageOf<ListedAttempt>>;
  attemptDetail(endpointId: string, attemptId: string): Promise<AttemptDetail | null>;
  /** The calls of a message's events, in the order of the events; the first few hundred. */
  callsOfMessage(messageId: string): Promise<MessageCall[]>;
  /** Opens calls again for one event, or some of those that failed or were missed since a time; same event id. */
  replayCalls(
    accountId: string,
    endpointId: string,
    what: { eventId: string } | FailedFrom,
    now: number,
  ): Promise<ReplayedCalls>;
  /**
   * Ends as missed those of `STEP_CALLS` open calls of a disabled endpoint that were made before `before`; a replay can
   * open them again. Returns where the next step goes on; null when all were looked at, or the endpoint is none of the
   * account's that is disabled.
   */
  missCalls(
    accountId: string,
    endpointId: string,
    before: number,
    after: CallPosition | null,
  ): Promise<CallPosition | null>;
}
