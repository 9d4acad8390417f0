/** Reloading, which only a running server can do. */
import { OperatorError } from '../base/errors.ts';
import type { Operation } from './operation.ts';

export const RELOAD_OPERATIONS: Record<string, Operation> = {
  reload: async ({ reload }) => {
    if (reload !== null) return reload();
    throw new OperatorError(
      'no server runs on this data directory',
      'There is nothing to reload: the next start reads everything anew.',
    );
  },
};
