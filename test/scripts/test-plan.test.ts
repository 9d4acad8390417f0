import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { BESIDE, partsOf } from '../../scripts/test-plan.ts';

const TESTS = join(import.meta.dir, '..');
const filesOf = (suite: string): string[] =>
  Array.from(new Bun.Glob(`${suite}/**/*.test.ts`).scanSync(TESTS)).toSorted();

describe('files on the binary, side by side', () => {
  test('each that is named is there, and named once', () => {
    expect(BESIDE.filter((file) => !existsSync(join(TESTS, file)))).toEqual([]);
    expect(BESIDE).toEqual(Array.from(new Set(BESIDE)));
  });

  for (const suite of ['clients', 'e2e', 'torture']) {
    test(`every file of ${suite} runs in one part, once, and one that is not named runs alone`, () => {
      const files = filesOf(suite);
      expect(files.length).toBeGreaterThan(0);
      const parts = partsOf(suite, files);
      expect(parts.flatMap(({ paths }) => paths).toSorted()).toEqual(files);
      for (const { name, paths, options } of parts) {
        expect(name).toStartWith(suite);
        const isBeside = options.some((option) => option.startsWith('--parallel'));
        expect(paths.filter((file) => BESIDE.includes(file) !== isBeside)).toEqual([]);
      }
    });
  }

  test('none is named that measures, fills memory or disks, or has fixed ports', () => {
    const alone = [
      /^torture\/(?:event-loop|stalls|memory|descriptors|disk|neighbours|dashboard-speed|http-abuse)/,
      /^e2e\/(?:nodes-limits|nodes-metrics|commands|clock-steps|tls-policies|smarthost|readme)\./,
    ];
    expect(BESIDE.filter((file) => alone.some((pattern) => pattern.test(file)))).toEqual([]);
  });

  test('a suite without a named file is one part, and one without files none', () => {
    expect(partsOf('e2e', ['e2e/new.test.ts'])).toEqual([
      { name: 'e2e', paths: ['e2e/new.test.ts'], options: [] },
    ]);
    expect(partsOf('e2e', [])).toEqual([]);
  });
});
