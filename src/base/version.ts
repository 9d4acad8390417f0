/**
 * What this program is: its version, the commit it was built from and the Bun inside it.
 *
 * `BUILD_COMMIT` is put in by scripts/build; run from source it is absent and the commit is `source`.
 */
import packageJson from '../../package.json' with { type: 'json' };

declare const BUILD_COMMIT: string | undefined;

export const VERSION = {
  version: packageJson.version,
  bun: Bun.version,
  commit: typeof BUILD_COMMIT === 'string' ? BUILD_COMMIT : 'source',
} as const;
