/** Locks by a number are each for one purpose: two that share one would wait for each other. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dir, '../../../src/store/postgres');

test('each lock has a number of its own', () => {
  const numbers = Array.from(new Bun.Glob('*.ts').scanSync(FOLDER)).flatMap((file) =>
    Array.from(
      readFileSync(join(FOLDER, file), 'utf8').matchAll(/LOCK = ([\d_]+);/g),
      ([, number]) => number,
    ),
  );
  expect(numbers.length).toBeGreaterThan(4);
  expect(numbers).toEqual([...new Set(numbers)]);
});
