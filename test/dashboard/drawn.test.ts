/** Parts of pages in each of their states, as they stand in the files of drawn/. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { block, fileOf, PARTS } from './drawn/drawn.ts';

test.each(
  Object.entries(PARTS).flatMap(([part, drawings]) =>
    drawings.map((drawing, at) => [part, drawing[0], at] as const),
  ),
)(
  '%s: %s',
  async (part, _, at) => {
    const blocks = readFileSync(fileOf(part), 'utf8').split(/\n(?=> )/);
    const drawing = PARTS[part]?.[at];
    // When this fails and the change is meant: bun test/dashboard/drawn/drawn.ts, and read the difference.
    expect(drawing && (await block(drawing))).toBe(blocks[at] ?? '');
    expect(blocks).toHaveLength(PARTS[part]?.length ?? 0);
  },
  60_000,
);
