/** Values that a shape reads, or why it does not. */
import { ApiError } from '../../../src/base/errors.ts';

/** What `read` gives, or path and message of each issue of its refusal. */
export function check<T>(read: () => T): T | string[][] {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const issues = error.detail?.issues ?? [];
    return issues.map(({ path, message }) => [path, message]);
  }
}
