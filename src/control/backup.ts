/** Online backups: one file with all data and the key. Sending goes on while it is written. */
import { Type } from '@sinclair/typebox';

import { operation } from './operation.ts';
import { Text } from './shapes.ts';

export const BACKUP_OPERATIONS = {
  backup: operation(
    { file: Text },
    Type.Object({
      file: Type.String(),
      bytes: Type.Integer(),
      rows: Type.Record(Type.String(), Type.Integer()),
    }),
    (scope, { file }) => {
      scope.sink.progress('Copying and verifying. Sending goes on meanwhile.');
      return scope.ctx.store.backUpTo(file);
    },
  ),
};
