/** docs/commands.md is what the table of commands says. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { REFERENCE_FILE, commandReference } from '../../scripts/command-reference.ts';

test('docs/commands.md says what the program takes', () => {
  // When this fails: bun scripts/command-reference.ts
  expect(readFileSync(REFERENCE_FILE, 'utf8')).toBe(commandReference());
});
