/** Online backups: one file with all data and the key. Sending goes on while it is written. */
import { Type } from '@sinclair/typebox';

import { operation } from './operation.ts';
import { Text } from './shapes.ts';

/** Where the copy is larger than the machine's memory, each of its pages comes from the disk again. */
const CHECKING =
  'The copy is being verified. With many gigabytes that takes longer than the copying.';

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
        sink.progress(
          progress === 'checking' ? CHECKING : `${Math.round(progress / 1e6)} MB copied`,
        );
      });
    },
  ),
};
