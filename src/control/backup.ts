/** Online backups. */
import { textOf } from './operation.ts';
import type { Operation } from './operation.ts';

export const BACKUP_OPERATIONS: Record<string, Operation> = {
  backup: (scope, args) => {
    scope.sink.progress('Copying and verifying; sending goes on meanwhile.');
    return scope.ctx.store.backUpTo(textOf(args, 'file'));
  },
};
