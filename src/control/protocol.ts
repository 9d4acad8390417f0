/**
 * What a command and a running server say to each other over `control.sock`: one JSON line asks, then lines answer.
 *
 * Promises nothing about who may ask: the socket's mode 0600 in a directory of mode 0700 decides that. A refusal
 * crosses the socket with its words, hint and exit code, so that a command ends alike beside a server and without one.
 */
import { openSync } from 'node:fs';
import { join } from 'node:path';

import { ApiError, OperatorError } from '../base/errors.ts';

/** Arguments of an operation; each operation checks its own. */
export type Arguments = Record<string, unknown>;

export interface Request {
  operation: string;
  args: Arguments;
}

/** Where an operation puts what comes before its result. */
export interface Sink {
  /** A line for people. */
  progress(text: string): void;
  /** A piece of a long result. Resolves when there is room for the next; throws when nobody reads any more. */
  chunk(text: string): Promise<void>;
}

/** A line of the answer; the last one is `result` or `error`. */
export type Reply =
  | { kind: 'progress'; text: string }
  /** A piece of a result too long for one value: bytes of a file, as text. */
  | { kind: 'chunk'; text: string }
  | { kind: 'result'; value: unknown }
  | { kind: 'error'; message: string; hint: string; exitCode: number };

/** sun_path has 108 bytes with its closing NUL (unix(7)). */
const MAX_PATH_BYTES = 107;

/**
 * The path to bind or connect to. One too long for the kernel is reached through an open descriptor of the directory,
 * which stays open as long as this process.
 */
export function socketPath(dataDir: string): string {
  const path = join(dataDir, 'control.sock');
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
  return `/proc/self/fd/${openSync(dataDir, 'r')}/control.sock`;
}

/** A fault as the other side is to show it. */
export function toReply(error: unknown): Reply {
  if (error instanceof OperatorError) {
    return { kind: 'error', message: error.message, hint: error.hint, exitCode: error.exitCode };
  }
  if (error instanceof ApiError) {
    const issues = error.detail?.['issues'];
    const all = Array.isArray(issues) ? (issues as { message: string }[]) : [];
    const message = all.length > 1 ? all.map((issue) => issue.message).join('\n') : error.message;
    return { kind: 'error', message, hint: '', exitCode: 1 };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { kind: 'error', message, hint: 'The log of the server has more.', exitCode: 1 };
}
