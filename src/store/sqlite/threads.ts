/**
 * What the store's threads share: where a thread's program is, and how an error crosses from one to the other.
 *
 * Promises that an `OperatorError`, a `StoreFullError` and a `SearchUnreadyError` arrive as themselves; others as plain errors.
 */
import { errorCode } from '../../base/error-code.ts';
import { OperatorError } from '../../base/errors.ts';
import { SearchUnreadyError, StoreFullError } from '../store.ts';

/** An error as it crosses threads. */
export interface ErrorText {
  name: string;
  message: string;
  stack?: string;
  /** Of the system or of SQLite: `ENOSPC`, `SQLITE_FULL`. */
  code?: string;
  /** Set for an `OperatorError`. */
  hint?: string;
  exitCode?: number;
}

/** The entry files of threads in this folder. */
export type ThreadFile = 'writer.ts' | 'background.ts' | 'backup-thread.ts';

/** The address of a thread's entry file in this folder, for `new Worker`. */
export function threadAddress(file: ThreadFile): string {
  // In the compiled program each is an entry point of its own, below the root where this code is.
  const isCompiled = import.meta.url.startsWith('file:///$bunfs/');
  return new URL(isCompiled ? `./store/sqlite/${file}` : `./${file}`, import.meta.url).href;
}

/** Whatever was thrown, as text that can be sent to another thread. */
export function textOf(error: unknown): ErrorText {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const text: ErrorText = { name: error.name, message: error.message };
  if (error.stack !== undefined) text.stack = error.stack;
  const code = errorCode(error);
  if (code !== '') text.code = code;
  if (error instanceof OperatorError) {
    text.hint = error.hint;
    text.exitCode = error.exitCode;
  }
  return text;
}

/** The error that `textOf` was given, as far as its class crosses. */
export function errorOf(text: ErrorText): Error {
  if (text.name === 'StoreFullError') return new StoreFullError(text.message);
  if (text.name === 'SearchUnreadyError') return new SearchUnreadyError();
  if (text.hint !== undefined) return new OperatorError(text.message, text.hint, text.exitCode);
  const error = new Error(text.message);
  if (text.stack !== undefined) error.stack = text.stack;
  return text.code === undefined ? error : Object.assign(error, { code: text.code });
}
