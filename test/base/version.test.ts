/** What the program says that it is: the package's version and the Bun that runs it, not the Node that Bun stands in for. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { VERSION } from '../../src/base/version.ts';

test('from source: the version of package.json, this Bun, and no commit', () => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  const bun = process.versions['bun'] ?? '';
  expect(bun).not.toBe('');
  expect(VERSION).toEqual({ version, bun, commit: 'source' });
});
