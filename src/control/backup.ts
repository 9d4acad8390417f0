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
    ({ ctx, sink }, { file }) => {
      sink.progress('Copying and verifying. Sending goes on meanwhile.');
      return ctx.store.backUpTo(file, (progress) => {
        const isCopied = progress === 'checking';
        const megabytes = isCopied ? 0 : Math.round(progress / 1e6);
        sink.progress(isCopied ? 'The copy is being verified.' : `${megabytes} MB copied`);
      });
    },
  ),
};
