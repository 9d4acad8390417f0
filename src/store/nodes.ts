/**
 * Several servers on one store: each has a session there, from its start to its end, and what it owns is its session's.
 *
 * Promises that what a session owns is freed in the very commit that ends it, and that nothing it asked for is written
 * after that: its own verbs fail with `SessionEndedError`. Times are the store's: whoever keeps a session needs no clock
 * that agrees with others. Only a store that several processes may have open has this port.
 */
import { StoreUnwritableError } from './store.ts';

/** How long a session is live after a beat, in seconds. */
export const LEASE_SECONDS = 15;
/** How long after its lease others may end a session, in seconds: until then it may live on. */
export const REVIVAL_SECONDS = 30;

/** Another process has ended this one's session: what it owned is free, and nothing of the call was written. */
export class SessionEndedError extends StoreUnwritableError {
  override readonly name = 'SessionEndedError';
  override readonly said = 'This server is being replaced.';
  readonly code = 'ESTALE';
}

/** A server that begins its session. */
export interface NewSession {
  id: string;
  /** What operators call the node. */
  name: string;
  /** Names its data directory, which one process has at a time. */
  directory: string;
  /** It sends from them; none: the system's choice. */
  addresses: readonly string[];
  version: string;
}

/** What a server says of itself with a beat: for operators, who see it from any other. */
export interface NodeReport {
  /** Recipients that it has taken and not ended yet. */
  taken: number;
  /** Of these, in an attempt. */
  inDelivery: number;
  /** Milliseconds by which its wall clock is ahead of the store's. */
  clockAheadMs: number;
}

/** What a beat finds. */
export interface Beat {
  /** The store's clock, in epoch milliseconds. */
  at: number;
  /** False: it was ended, and will never live again. */
  isLive: boolean;
  /** Another text than the last time: sessions have ended in the meantime, and what they owned is free. */
  endings: string;
  /** An operator wants it to take nothing more, and to end when what is under way has ended. */
  isDrainAsked: boolean;
  /** Sessions whose lease is not over, this one among them. */
  live: number;
}

/** A session that has not ended, as operators see it. */
export interface ListedSession {
  id: string;
  name: string;
  version: string;
  addresses: string[];
  /** Epoch milliseconds, by the store's clock. */
  beganAt: number;
  /** Milliseconds since its last beat. */
  heardMsAgo: number;
  isDrainAsked: boolean;
  /** Its last; null: it has said nothing yet. */
  report: NodeReport | null;
}

export const NODE_STATES = ['live', 'silent', 'draining'] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** `silent`: not heard of for longer than its lease. */
export function nodeState({
  heardMsAgo,
  isDrainAsked,
}: Pick<ListedSession, 'heardMsAgo' | 'isDrainAsked'>): NodeState {
  if (heardMsAgo > LEASE_SECONDS * 1_000) return 'silent';
  return isDrainAsked ? 'draining' : 'live';
}

export interface Nodes {
  /**
   * Begins the session of this process, whose writes are refused from its end on. Ends those that an earlier process of
   * the same directory and name has left.
   */
  begin(session: NewSession): Promise<void>;
  /** Prolongs the lease of this process's session to `LEASE_SECONDS` from now, and notes what it says of itself. */
  beat(report?: NodeReport | null): Promise<Beat>;
  /** Ends the other sessions whose lease is over by `REVIVAL_SECONDS`, and frees what they own. Returns their ids. */
  endLost(): Promise<string[]>;
  /** Sessions that have not ended, by name. */
  list(): Promise<ListedSession[]>;
  /** Asks the session of this id, or those of this name, to drain: their next beat says so. Returns their ids. */
  askToDrain(nameOrId: string): Promise<string[]>;
  /** Ends this process's session, and frees what it owns. */
  end(): Promise<void>;
}
