/**
 * The reads whose time may grow with what is stored: lists, searches, sums, counts, and large content. They run on the
 * background thread. So do parts of the list of domains, since each row of it has pages of its own.
 *
 * Promises the same answers as on the caller's thread would be: every commit that was reported before the question is in
 * them. Reads of single rows by their key stay with the caller: crossing threads costs more than they do.
 */
import type { Database } from 'bun:sqlite';
import { shared } from '../../base/shared-bytes.ts';
import type { RetryTarget } from '../operator.ts';
import type { Body } from '../rows.ts';
import type { Store } from '../store.ts';
import { domainReads } from '../sql/domains.ts';
import { callReads } from '../sql/webhooks.ts';
import { KeptStatements } from './kept-statements.ts';
import { auditLists } from './people.ts';
import { counterReads } from './read-counters.ts';
import { emailLists } from './read-emails.ts';
import { logLists } from './read-logs.ts';
import { contentReads, deliveryReads } from './read-messages.ts';
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
  | 'domains'
  | 'emails'
  | 'emailsByPage'
  | 'harm'
  | 'harmedAccounts'
  | 'listedBody'
  | 'logs'
  | 'messageForDelivery'
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
  return {
    ...sharedContent({ ...contentReads(mail), ...deliveryReads(mail) }),
    ...auditLists(mail),
    ...attemptLists(mail),
    ...callReads(new KeptStatements(mail)),
    ...countReads(mail),
    ...counterReads(mail),
    domains: domainReads(new KeptStatements(mail)).domains,
    ...emailLists(mail, search),
    ...logLists(logs, search),
    ...queueReads(mail),
    dueRows: dueReads(mail).dueRows,
    ...suppressionLists(mail, search),
    ...retryCounter(mail),
  };
}

type ContentReads = ReturnType<typeof contentReads> & ReturnType<typeof deliveryReads>;

/** What is large goes to the other thread without being copied there. */
function sharedContent({
  body,
  listedBody,
  messageForDelivery,
}: ContentReads): Pick<ContentReads, 'body' | 'listedBody' | 'messageForDelivery'> {
  return {
    async body(...of) {
      const found = await body(...of);
      return found && { body: found.body && sharedBody(found.body) };
    },
    async listedBody(...of) {
      const found = await listedBody(...of);
      return found && { body: found.body && { ...found.body, raw: sharedRaw(found.body) } };
    },
    async messageForDelivery(id) {
      const found = await messageForDelivery(id);
      return found && { ...found, body: sharedBody(found.body) };
    },
  };
}

function sharedBody(body: Body): Body {
  const attachments = body.attachments.map((one) => ({ ...one, content: shared(one.content) }));
  return { ...body, raw: sharedRaw(body), attachments };
}

function sharedRaw({ raw }: Pick<Body, 'raw'>): Uint8Array | null {
  return raw && shared(raw);
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
    domains: verb('domains'),
    dueRows: verb('dueRows'),
    emails: verb('emails'),
    emailsByPage: verb('emailsByPage'),
    harm: verb('harm'),
    harmedAccounts: verb('harmedAccounts'),
    listedBody: verb('listedBody'),
    logs: verb('logs'),
    messageForDelivery: verb('messageForDelivery'),
    openCalls: verb('openCalls'),
    outcomes: verb('outcomes'),
    queue: verb('queue'),
    queueCounts: verb('queueCounts'),
    retryCount: verb('retryCount'),
    sandboxCountsByStatus: verb('sandboxCountsByStatus'),
    suppressions: verb('suppressions'),
  };
}
