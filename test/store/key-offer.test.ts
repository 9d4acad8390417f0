/** What an offered key leaves beside the key file. */
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';

import { keyPath, masterKey, promoteKey } from '../../src/store/key-file.ts';
import { offerKey } from '../../src/store/key-offer.ts';
import { withDir } from './test-store.ts';

test('only a key that was replaced stays set aside', () =>
  withDir((dir) => {
    const key = Buffer.from(masterKey(dir));
    const asides = () => readdirSync(dir).filter((name) => name.endsWith('.set-aside'));
    // The directory opened with its own key: the offered one was not needed.
    expect(offerKey(dir, Buffer.alloc(32, 9)).setAside()).toBeNull();
    expect([asides(), readFileSync(keyPath(dir))]).toEqual([[], key]);
    const taken = offerKey(dir, Buffer.alloc(32, 9));
    promoteKey(dir);
    expect(readFileSync(taken.setAside() ?? '')).toEqual(key);
    expect(asides()).toHaveLength(1);
  }));
