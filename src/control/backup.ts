/** Online backups. */
import { textOf } from './operation.ts';
import type { Operation } from './operation.ts';

export const BACKUP_OPERATIONS: Record<string, Operation> = {
  backup: (scope, args) => {
    scope.progress('Copying and verifying; sending goes on meanwhile.');
    return scope.ctx.store.backUpTo(textOf(args, 'file'));
  },
};
