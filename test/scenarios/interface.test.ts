/**
 * The interface, sentence by sentence: each row says which, and fails when it is broken.
 *
 * The same table runs against the API in this process and against the compiled binary.
 */
import { describe, test } from 'bun:test';
import { BATCH } from './rows-batch.ts';
import { GENERAL } from './rows-general.ts';
import { LIMITS } from './rows-limits.ts';
import { READING } from './rows-reading.ts';
import { RESOURCES } from './rows-resources.ts';
import { SENDING } from './rows-sending.ts';
import { WEBHOOKS } from './rows-webhooks.ts';
import { openBinary, openInProcess, useTarget } from './target.ts';

const ROWS = [...GENERAL, ...SENDING, ...BATCH, ...READING, ...RESOURCES, ...WEBHOOKS, ...LIMITS];
const ROW_TIMEOUT_MS = 30_000;

for (const [name, open] of [
  ['the API in this process', openInProcess],
  ['the compiled binary', openBinary],
] as const) {
  describe(name, () => {
    const target = useTarget(open);
    for (const { section, says, run } of ROWS) {
      test(`${section}: ${says}`, () => run(target()), ROW_TIMEOUT_MS);
    }
  });
}
