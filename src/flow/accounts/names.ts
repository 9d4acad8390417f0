/**
 * The names that people give to accounts and keys: shown in pages, tables and logs, where one must not pass for another.
 *
 * Promises that a name has something to see, keeps its line and reads in the order of its letters.
 */
import { validationFailed } from '../../base/errors.ts';
import type { ApiError } from '../../base/errors.ts';

/** Control characters, and what turns the direction of the text behind it (Unicode UAX 9: embeddings, overrides, isolates). */
const UNSHOWN = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/** Whether text is a name: 1 to 60 characters, not spaces alone, without control characters or changes of direction. */
export function isName(text: string): boolean {
  return /^.{1,60}$/su.test(text) && text.trim() !== '' && !UNSHOWN.test(text);
}

/** The refusal of what is no name: ApiError `validation_failed` at `name`. */
export function badName(): ApiError {
  return validationFailed([
    {
      path: 'name',
      message:
        'name must have 1 to 60 characters, not spaces alone, without control characters or changes of text direction.',
    },
  ]);
}
