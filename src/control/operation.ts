/**
 * What an operation of the control socket is given, and how it reads its arguments.
 *
 * An operation runs inside the server, or in a command that has opened the store itself: then there is no queue and no
 * dispatcher to tell, and what it changes is found by the next start.
 */
import { OperatorError } from '../base/errors.ts';
import type { Context } from '../flow/context.ts';
import type { Queue } from '../flow/queue.ts';
import type { WebhookDispatcher } from '../flow/webhooks.ts';
import type { Arguments, Sink } from './protocol.ts';

/** What a reload has done, as it is shown and logged. */
export interface Reloaded {
  /** Changed keys of the config file that wait for a restart. */
  needs_restart: string[];
  new_certificate: boolean;
}

export interface Scope {
  ctx: Context;
  /** Null without a running server. */
  queue: Queue | null;
  dispatcher: WebhookDispatcher | null;
  sink: Sink;
  /** Takes over config and certificates anew. Throws `OperatorError`. Null without a running server. */
  reload: (() => Reloaded) | null;
}

/** Throws `ApiError` or `OperatorError`. What it returns must be JSON. */
export type Operation = (scope: Scope, args: Arguments) => Promise<unknown>;

/** A text that must be there. */
export function textOf(args: Arguments, name: string): string {
  const value = args[name];
  if (typeof value !== 'string' || value === '') {
    throw new OperatorError(
      `${name} is missing`,
      'Use the command of the same version as the server.',
    );
  }
  return value;
}

/** A text, or null where it is absent. */
export function textOrNull(args: Arguments, name: string): string | null {
  const value = args[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
