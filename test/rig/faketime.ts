/** Where libfaketime is, which stands between a process and its clock when it is preloaded. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Debian puts it below the folder of the machine's architecture. */
export function faketimeLibrary(): string {
  const folder = readdirSync('/usr/lib')
    .map((name) => join('/usr/lib', name, 'faketime'))
    .find((name) => existsSync(join(name, 'libfaketime.so.1')));
  if (folder === undefined) throw new Error('libfaketime.so.1 is nowhere below /usr/lib');
  return join(folder, 'libfaketime.so.1');
}
