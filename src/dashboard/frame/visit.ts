/**
 * One request of a signed-in operator: what a page gets, and what it may return.
 *
 * Promises that pages get parsed input only, never a raw request. A page refuses with `ApiError`, which is shown as a
 * message.
 */
import type { Backups } from '../../flow/upkeep/backups.ts';
import type { Capture } from '../../flow/upkeep/capture.ts';
import type { SpamChecks } from '../../flow/upkeep/spam-checks.ts';
import type { Context } from '../../flow/context.ts';
import type { SuppressionImports } from '../../flow/suppressions/imports.ts';
import type { Queue } from '../../flow/queue/queue.ts';
import type { Vitals } from '../../health/vitals.ts';
import type { WebhookDispatcher } from '../../flow/webhooks/dispatcher.ts';
import type { Operator } from '../../store/people.ts';
import type { Account } from '../../store/rows.ts';
import type { Html, HtmlValue } from './html.ts';

/** The parts of the appliance that pages act on. */
export interface DashboardParts {
  queue: Pick<
    Queue,
    | 'retry'
    | 'fail'
    | 'setResting'
    | 'counts'
    | 'throttles'
    | 'markAhead'
    | 'offerAccepted'
    | 'offerCalls'
  >;
  webhooks: Pick<WebhookDispatcher, 'offer' | 'test' | 'endpointChanged'>;
  /** Null except in capture mode. */
  capture: Pick<Capture, 'captured' | 'remove' | 'clear'> | null;
  /** The last check of the host. */
  vitals: Pick<Vitals, 'findings' | 'checkNow'>;
  /** Imports of suppressions that go on behind their page. */
  imports: SuppressionImports;
  backups: Backups;
  /** Spam scores of captured messages. */
  spamChecks: Pick<SpamChecks, 'check'>;
}

export interface Visit {
  ctx: Context;
  /** Who is signed in; null in an emulator, which asks nobody. */
  operator: Operator | null;
  parts: DashboardParts;
  /** Whether this operator may open or post to an address below the host: what a page asks before it shows a control. */
  may: (method: Page['method'], to: string) => boolean;
  /** Values of the `:name` parts of the page's path. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Fields of the posted form; empty for a GET. */
  form: URLSearchParams;
  /** The file of a form that has one. */
  file: File | null;
  /** The form of this page that was posted and refused, to be shown again; null when the page was asked for. */
  refused: RefusedForm | null;
}

/** A posted form that changed nothing, with what was entered and why it was refused. */
export interface RefusedForm {
  /** Where it was posted to: the form's `action`. */
  action: string;
  fields: URLSearchParams;
  /** What is wrong with single fields, by the names the refusal uses. */
  issues: ReadonlyMap<string, string>;
  /** What is wrong with the form as a whole; null when `issues` says it. */
  message: string | null;
}

/** A page inside the frame. `account`: the account it belongs to, for the menu. */
export interface PageResponse {
  kind: 'page';
  title: string;
  account: Account | null;
  body: Html;
  /** HTTP status; 200 when absent. */
  status?: number;
  /** Buttons and links at the right of the title. */
  tools?: HtmlValue;
  /** The list that this page belongs to. */
  up?: { label: string; href: string };
  /** The enhancement updates the page in place every so many seconds. */
  liveSeconds?: number;
}

/** After a form was accepted (303). `done`: a key of `notices.ts`. */
export interface RedirectResponse {
  kind: 'redirect';
  to: string;
  done?: string;
  count?: number;
}

/** The content of an email, shown in a sandboxed frame or as plain text; or a file to save. */
export interface DocumentResponse {
  kind: 'document';
  /** `text/html` is shown in a sandbox without scripts and network. */
  contentType: string;
  body: string | Buffer | ReadableStream<Uint8Array>;
  /** Name of the file, when the browser shall save it instead of showing it. */
  saveAs?: string;
}

export type VisitResponse = PageResponse | RedirectResponse | DocumentResponse;

export interface Page {
  method: 'GET' | 'POST';
  /** Below `/dashboard`, with `:name` parts: `/accounts/:account/emails`. */
  path: string;
  /** Of a form: the field that a refusal without a path is about, such as a name that is in use. */
  mainField?: string;
  /** Of a GET page that is nothing but a form to its own path: it opens for those who may post it. */
  isForm?: boolean;
  open(visit: Visit): Promise<VisitResponse>;
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
