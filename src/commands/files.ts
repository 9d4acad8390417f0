/**
 * Files that an operator names on the command line; `-` is standard input.
 *
 * Promises that a file which cannot be read, or is too large, ends the command with its name and the reason. Throws
 * `OperatorError`.
 */
import { readFileSync, statSync } from 'node:fs';

import { OperatorError } from '../base/errors.ts';

/** The bytes of `file`. `hint`: what the operator can do when it cannot be read. `maxBytes` bounds a named file. */
export function readBytes(file: string, hint: string, maxBytes = Number.MAX_SAFE_INTEGER): Buffer {
  let size = 0;
  try {
    if (file !== '-') ({ size } = statSync(file));
    if (size <= maxBytes) return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`Cannot read ${file}: ${reason}`, hint);
  }
  throw new OperatorError(`${file} is too large: ${size} bytes of at most ${maxBytes}.`, hint);
}

/** The same as text in UTF-8. */
export function readText(file: string, hint: string, maxBytes?: number): string {
  return readBytes(file, hint, maxBytes).toString('utf8');
}
