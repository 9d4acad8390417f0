/** docs/configuration.md says what the config's schema says. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { REFERENCE_FILE, configReference } from '../../scripts/config-reference.ts';

test('the reference is what the script writes', () => {
  // When this fails: bun scripts/config-reference.ts
  expect(readFileSync(REFERENCE_FILE, 'utf8')).toBe(configReference());
});
