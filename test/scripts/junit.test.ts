/** The counts of a test run, from the report that the runner writes. */
import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { countCases } from '../../scripts/junit.ts';

/** What the runner reports of a file with this text. */
function reportOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-junit-'));
  try {
    writeFileSync(join(folder, 'one.test.ts'), text);
    const report = join(folder, 'report.xml');
    Bun.spawnSync(
      [
        process.execPath,
        'test',
        '--reporter=junit',
        `--reporter-outfile=${report}`,
        './one.test.ts',
      ],
      { cwd: folder, stdout: 'ignore', stderr: 'ignore' },
    );
    return readFileSync(report, 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('each case counts once, and a failure says what was expected and what came', () => {
  const { passed, failed, failures, skipped } = countCases(
    reportOf(`
      import { describe, expect, test } from 'bun:test';
      test('holds', () => {});
      test.skip('waits', () => {});
      describe('inside', () => {
        test('<b> & "c"', () => { expect({ a: '<&>' }).toEqual({ a: "'" }); });
        test('throws', () => { throw new Error('no "such" file'); });
      });
      test('is late', () => new Promise(() => {}), 10);
    `),
  );
  expect([passed, failed, skipped]).toEqual([1, 3, ['one.test.ts: waits']]);
  const [differs, throws, isLate] = failures;
  expect(differs).toStartWith('one.test.ts: <b> & "c"\n    expect(received).toEqual(expected)\n');
  expect(differs).toContain(`\n    -   "a": "'",\n    +   "a": "<&>",\n`);
  expect(differs).toEndWith('\n    + Received  + 1');
  expect(throws).toBe('one.test.ts: throws\n    no "such" file');
  expect(isLate).toBe('one.test.ts: is late\n    test timed out');
});

test('a failure of many or long lines is cut', () => {
  const long = Array.from({ length: 43 }, (_, at) => `${at}${'x'.repeat(500)}`).join('&#10;');
  const report = `<testcase name="n" file="f"><failure type="Error" message="${long}" /></testcase>`;
  const lines = countCases(report).failures[0]?.split('\n') ?? [];
  expect(lines).toHaveLength(42);
  expect(lines[1]).toBe(`    0${'x'.repeat(239)}`);
  expect(lines.at(-1)).toBe('    (3 more lines)');
});

test('an empty report counts nothing', () => {
  expect(countCases('')).toEqual({ passed: 0, failed: 0, failures: [], skipped: [] });
});
