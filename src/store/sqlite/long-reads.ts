/**
 * The reads whose time may grow with what is stored: lists, searches, sums, counts, and large content. They run on the
 * background thread.
 *
 * Promises the same answers as on the caller's thread would be: every commit that was reported before the question is in
 * them. Reads of single rows by their key stay with the caller: crossing threads costs more than they do.
 */
import type { Database } from 'bun:sqlite';
import type { RetryTarget } from '../operator.ts';
import type { Store } from '../store.ts';
import { callReads } from '../sql/webhooks.ts';
import { KeptStatements } from './kept-statements.ts';
import { auditLists } from './people.ts';
import { counterReads } from './read-counters.ts';
import { emailLists } from './read-emails.ts';
import { logLists } from './read-logs.ts';
import { contentReads } from './read-messages.ts';
import { dueReads, queueReads } from './read-queue.ts';
import { retryCounter } from './read-retry.ts';
import { countReads } from './read-status-counts.ts';
import { suppressionLists } from './read-suppressions.ts';
import { attemptLists } from './read-webhooks.ts';
import type { DueSteps } from '../take-due.ts';

type OfStore = Pick<
  Store,
  | 'attemptDetail'
  | 'audit'
  | 'body'
  | 'callAttempts'
  | 'countsByStatus'
  | 'emails'
  | 'emailsByPage'
  | 'harm'
  | 'harmedAccounts'
  | 'listedBody'
  | 'logs'
  | 'openCalls'
  | 'outcomes'
  | 'queue'
  | 'queueCounts'
  | 'sandboxCountsByStatus'
  | 'suppressions'
>;

export interface LongReads extends OfStore, Pick<DueSteps, 'dueRows'> {
  /** How many recipients a retry concerns, as it stands before. */
  retryCount(target: RetryTarget, now: number): Promise<number>;
}

export type LongRead = keyof LongReads;

export interface ReadFiles {
  mail: Database;
  logs: Database;
  search: Database;
}

/** The verbs over reading connections. */
export function longReads({ mail, logs, search }: ReadFiles): LongReads {
  const { body, listedBody } = contentReads(mail);
  return {
    body,
    listedBody,
    ...auditLists(mail),
    ...attemptLists(mail),
    ...callReads(new KeptStatements(mail)),
    ...countReads(mail),
    ...counterReads(mail),
    ...emailLists(mail, search),
    ...logLists(logs, search),
    ...queueReads(mail),
    dueRows: dueReads(mail).dueRows,
    ...suppressionLists(mail, search),
    ...retryCounter(mail),
  };
}

/** Asks the background thread for one of them. */
export type AskRead = <K extends LongRead>(
  name: K,
  args: Parameters<LongReads[K]>,
) => Promise<Awaited<ReturnType<LongReads[K]>>>;

/** The same verbs on the caller's side. */
export function askedReads(ask: AskRead): LongReads {
  const verb =
    <K extends LongRead>(name: K) =>
    (...args: Parameters<LongReads[K]>) =>
      ask(name, args);
  return {
    attemptDetail: verb('attemptDetail'),
    audit: verb('audit'),
    body: verb('body'),
    callAttempts: verb('callAttempts'),
    countsByStatus: verb('countsByStatus'),
    dueRows: verb('dueRows'),
    emails: verb('emails'),
    emailsByPage: verb('emailsByPage'),
    harm: verb('harm'),
    harmedAccounts: verb('harmedAccounts'),
    listedBody: verb('listedBody'),
    logs: verb('logs'),
    openCalls: verb('openCalls'),
    outcomes: verb('outcomes'),
    queue: verb('queue'),
    queueCounts: verb('queueCounts'),
    retryCount: verb('retryCount'),
    sandboxCountsByStatus: verb('sandboxCountsByStatus'),
    suppressions: verb('suppressions'),
  };
}
