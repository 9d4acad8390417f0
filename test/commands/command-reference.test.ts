/** docs/commands.md and the manual page are what the table of commands says, and roff takes the page as it is. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { REFERENCE_FILE, commandReference } from '../../scripts/command-reference.ts';
import { MAN_FILE, manPage } from '../../scripts/man-page.ts';
import { describeWith } from '../rig/programs.ts';

test('docs/commands.md says what the program takes', () => {
  // When this fails: bun scripts/command-reference.ts
  expect(readFileSync(REFERENCE_FILE, 'utf8')).toBe(commandReference());
});

test('packaging/postrider.1 says what the program takes', () => {
  expect(readFileSync(MAN_FILE, 'utf8')).toBe(manPage());
});

describeWith(['groff'], 'the manual page', () => {
  test('is set without a warning, with every option as it is typed', () => {
    const set = Bun.spawnSync(['groff', '-man', '-Tascii', '-ww', '-P-cbou', MAN_FILE]);
    expect(set.stderr.toString()).toBe('');
    const text = set.stdout.toString();
    for (const words of ['postrider domain verify', '--key-prefix P', '--attachment FILE']) {
      expect(text).toContain(words);
    }
  });
});
