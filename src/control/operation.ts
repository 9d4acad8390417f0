/**
 * What one operation of the control socket is: the schema of its arguments, the schema of its result, and its handler.
 *
 * An operation runs inside the server, or in a command that has opened the store itself: then there is no queue and no
 * dispatcher to tell, and the next start finds what it changed. Promises that a handler sees only arguments that fit
 * their schema and that a command sees only results that fit theirs. Throws `OperatorError` that names the argument.
 */
import { Type } from '@sinclair/typebox';
import type { Static, TObject, TProperties, TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { TypeCheck } from '@sinclair/typebox/compiler';
import { ValueErrorType } from '@sinclair/typebox/errors';
import type { ValueError } from '@sinclair/typebox/errors';

import { OperatorError } from '../base/errors.ts';
import type { Context } from '../flow/context.ts';
import type { Queue } from '../flow/queue/queue.ts';
import type { WebhookDispatcher } from '../flow/webhooks/dispatcher.ts';
import type { Sink } from './protocol.ts';

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
  /** Who runs the command, as the machine knows them: for the audit log. */
  by: string;
  /** Reads config and certificates again. Throws `OperatorError`. Null without a running server. */
  reload: (() => Reloaded) | null;
}

export interface Operation<Arguments, Result> {
  /** Arguments as they came over the socket; absent ones count as null. Throws `OperatorError` naming the first fault. */
  readArguments(value: unknown): Arguments;
  /** A result as it came over the socket. Throws `OperatorError` where it is another version's. */
  readResult(value: unknown): Result;
  /** Throws `ApiError` or `OperatorError`. */
  run(scope: Scope, args: Arguments): Promise<Result>;
}

const OTHER_VERSION =
  'The server and this command may be of different versions: restart the server, or use its version of the command.';

/** Makes an operation of its two schemas and its handler. */
export function operation<A extends TProperties, R extends TSchema>(
  properties: A,
  result: R,
  run: (scope: Scope, args: Static<TObject<A>>) => Promise<Static<R>>,
): Operation<Static<TObject<A>>, Static<R>> {
  const schema = Type.Object(properties, { additionalProperties: false });
  const absent = Object.fromEntries(Object.keys(properties).map((name) => [name, null]));
  // Compiled at the first use: a command uses one of them.
  let argumentsCheck: TypeCheck<typeof schema> | null = null;
  let resultCheck: TypeCheck<R> | null = null;
  return {
    readArguments(value) {
      const given: unknown = typeof value === 'object' ? { ...absent, ...value } : value;
      argumentsCheck ??= TypeCompiler.Compile(schema);
      if (argumentsCheck.Check(given)) return given;
      throw new OperatorError(faultOf(argumentsCheck.Errors(given).First()), OTHER_VERSION);
    },
    readResult(value) {
      resultCheck ??= TypeCompiler.Compile(result);
      if (resultCheck.Check(value)) return value;
      const path = resultCheck.Errors(value).First()?.path ?? '';
      throw new OperatorError(`Cannot read the server's result at ${path || '/'}.`, OTHER_VERSION);
    },
    run,
  };
}

/** One sentence about the first thing wrong. Arguments are flat: a path has one step. */
function faultOf(error: ValueError | undefined): string {
  const name = error?.path.split('/')[1];
  if (error === undefined || name === undefined) return 'The arguments must be an object.';
  if (error.type === ValueErrorType.ObjectAdditionalProperties) return `Unknown argument: ${name}.`;
  if (error.value === null) return `Missing argument: ${name}.`;
  return `The argument ${name} must be ${expected(error.schema)}.`;
}

function expected(schema: TSchema): string {
  const anyOf: TSchema[] | undefined = schema['anyOf'];
  if (anyOf !== undefined) {
    const values = anyOf.filter(({ type }) => type !== 'null').map(expected);
    return values.join(' or ');
  }
  if ('const' in schema) return JSON.stringify(schema['const']);
  if (schema['type'] === 'boolean') return 'true or false';
  if (schema['type'] === 'integer') return 'a whole number from 1 on';
  if (schema['type'] === 'array') return 'a list of texts';
  return schema['minLength'] === 1 ? 'text that is not empty' : 'text';
}
