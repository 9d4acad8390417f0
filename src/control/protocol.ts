/**
 * What a command and a running server send each other over `control.sock`: one JSON line as request, then response lines.
 *
 * Promises nothing about who may connect: the socket's mode 0600 in a directory of mode 0700 decides that. A refusal
 * crosses the socket with its message, hint and exit code, so that a command ends alike beside a server and without one.
 */
import { openSync } from 'node:fs';
import { join } from 'node:path';

import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';

import { ApiError, OperatorError } from '../base/errors.ts';
import { storeRefusal } from '../flow/store-refusal.ts';
import { isDiskFull } from '../store/full-disk.ts';
import { StoreUnwritableError } from '../store/store.ts';

const MAX_NAME_CHARACTERS = 100;

/** The request: one line. Each operation checks its own arguments. */
export const Request = Type.Object({
  operation: Type.String({ maxLength: MAX_NAME_CHARACTERS }),
  args: Type.Object({}),
  /** Who runs the command. Whoever may connect could write any name here. */
  by: Type.Optional(Type.String({ maxLength: MAX_NAME_CHARACTERS })),
});
export type Request = Static<typeof Request>;

/** Where an operation puts what comes before its result. */
export interface Sink {
  /** A line for people. */
  progress(text: string): void;
  /** A piece of a long result. Resolves when the next one may follow; throws when the reader has left. */
  chunk(text: string): Promise<void>;
  /** Aborted when nobody waits for the result any more. */
  readonly left: AbortSignal;
}

/** A line of the response; the last one is `result` or `error`. `chunk`: a piece of a result too long for one value. */
export const ResponseLine = Type.Union([
  Type.Object({ kind: Type.Literal('progress'), text: Type.String() }),
  Type.Object({ kind: Type.Literal('chunk'), text: Type.String() }),
  Type.Object({ kind: Type.Literal('result'), value: Type.Unknown() }),
  Type.Object({
    kind: Type.Literal('error'),
    message: Type.String(),
    hint: Type.String(),
    exitCode: Type.Integer(),
  }),
]);
export type ResponseLine = Static<typeof ResponseLine>;

/** sun_path has 108 bytes with its closing NUL (unix(7)). */
const MAX_PATH_BYTES = 107;

/**
 * The path to bind or connect to. One that is too long for the kernel is reached through an open descriptor of the
 * directory, which stays open until this process ends.
 */
export function socketPath(dataDir: string): string {
  const path = join(dataDir, 'control.sock');
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
  return `/proc/self/fd/${openSync(dataDir, 'r')}/control.sock`;
}

/** A refusal as an operator reads it: every issue in its own line. Null for a fault of ours. */
export function refusalOf(error: unknown): OperatorError | null {
  if (error instanceof OperatorError) return error;
  if (isDiskFull(error)) {
    return new OperatorError('The disk is full.', 'Free some space on it, then try again.');
  }
  const refused = storeRefusal(error);
  if (refused !== null) {
    const hint = error instanceof StoreUnwritableError ? '`postrider doctor` says why.' : '';
    return new OperatorError(refused.message, hint);
  }
  if (!(error instanceof ApiError)) return null;
  const issues = error.detail?.['issues'];
  const messages = Array.isArray(issues) ? issues.map(messageOf) : [];
  return new OperatorError(messages.length > 1 ? messages.join('\n') : error.message, '');
}

function messageOf(issue: unknown): string {
  const hasMessage = typeof issue === 'object' && issue !== null && 'message' in issue;
  return String(hasMessage ? issue.message : issue);
}

/** What `error` is to the other side. */
export function toErrorLine(error: unknown): ResponseLine {
  const refusal = refusalOf(error);
  if (refusal !== null) {
    const { message, hint, exitCode } = refusal;
    return { kind: 'error', message, hint, exitCode };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { kind: 'error', message, hint: 'See the log of the server for details.', exitCode: 1 };
}
