/** Keys that are staged beside the key of a data directory. */
import { expect, test } from 'bun:test';

import { masterKey, promoteKey, stageKey, stagedKey } from '../../src/store/key-file.ts';
import { withDir } from './test-store.ts';

test('a key that is staged replaces one that was left staged', () =>
  withDir((dir) => {
    masterKey(dir);
    stageKey(dir, Buffer.alloc(32, 1));
    stageKey(dir, Buffer.alloc(32, 2));
    expect(stagedKey(dir)).toEqual(Buffer.alloc(32, 2));
    promoteKey(dir);
    expect([masterKey(dir), stagedKey(dir)]).toEqual([Buffer.alloc(32, 2), null]);
  }));
