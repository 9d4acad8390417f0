/** What comes onto the disk of whoever installs it. */
import { expect, test } from 'bun:test';
import { statSync } from 'node:fs';

import { BINARY } from '../rig/binary.ts';

/** The target of docs/performance.md. The runtime alone is 107.4 MB. */
const MAX_BYTES = 120e6;

test('the executable is no larger than its target', () => {
  expect(statSync(BINARY).size).toBeLessThanOrEqual(MAX_BYTES);
});
