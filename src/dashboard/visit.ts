/**
 * One request of a signed-in operator, what a page may use, and what it may answer.
 *
 * Promises that pages see parsed input only and never a raw request. A page fails with `ApiError`, which is
 * shown as a message.
 */
import type { Capture } from '../flow/capture.ts';
import type { Context } from '../flow/context.ts';
import type { Queue } from '../flow/queue.ts';
import type { Vitals } from '../flow/vitals.ts';
import type { WebhookDispatcher } from '../flow/webhooks.ts';
import type { Account } from '../store/rows.ts';
import type { Html } from './html.ts';

/** The running parts a page may act on. */
export interface Doors {
  queue: Pick<Queue, 'retry' | 'fail' | 'setResting' | 'counts'>;
  webhooks: Pick<WebhookDispatcher, 'offer' | 'test' | 'endpointChanged'>;
  /** Null in every mode but `capture`. */
  capture: Pick<Capture, 'captured'> | null;
  /** The last check of the host. */
  vitals: Pick<Vitals, 'findings'>;
}

export interface Visit {
  ctx: Context;
  doors: Doors;
  /** Values of the `:name` parts of the page's path. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Fields of the posted form; empty for a GET. */
  form: URLSearchParams;
}

/** A page inside the frame. `account`: the account it belongs to, for the menu. */
export interface PageAnswer {
  kind: 'page';
  title: string;
  account: Account | null;
  body: Html;
  /** Seconds after which the browser loads it again. */
  refreshSeconds?: number;
}

/** See other: after a form was taken. `done` is a key of the notices in layout.ts. */
export interface RedirectAnswer {
  kind: 'redirect';
  to: string;
  done?: string;
  count?: number;
}

/** A document of somebody else's making, shown in a sandboxed frame or as plain text. */
export interface DocumentAnswer {
  kind: 'document';
  contentType: 'text/html; charset=utf-8' | 'text/plain; charset=utf-8';
  body: string | Buffer;
}

export type Answer = PageAnswer | RedirectAnswer | DocumentAnswer;

export interface Page {
  method: 'GET' | 'POST';
  /** Below `/dashboard`, with `:name` parts: `/accounts/:account/emails`. */
  path: string;
  open(visit: Visit): Promise<Answer>;
}

/** A form field without surrounding space; empty when absent. */
export function field(visit: Visit, name: string): string {
  return (visit.form.get(name) ?? '').trim();
}

/** A `:name` part of the path. */
export function param(visit: Visit, name: string): string {
  return visit.params[name] ?? '';
}

/** A query value; null when absent or empty. */
export function queryText(visit: Visit, name: string): string | null {
  const value = visit.query.get(name)?.trim() ?? '';
  return value === '' ? null : value;
}
