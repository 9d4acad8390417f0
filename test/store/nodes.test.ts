/** What operators see a node as: live for as long as its lease, draining where that was asked, else silent. */
import { expect, test } from 'bun:test';

import { LEASE_SECONDS, NODE_STATES, REVIVAL_SECONDS, nodeState } from '../../src/store/nodes.ts';

test('a node is live until its lease of fifteen seconds is over, and silent whatever was asked of it', () => {
  const states = [0, 15_000, 15_001].map((heardMsAgo) =>
    [false, true].map((isDrainAsked) => nodeState({ heardMsAgo, isDrainAsked })),
  );
  expect(states).toEqual([
    ['live', 'draining'],
    ['live', 'draining'],
    ['silent', 'silent'],
  ]);
  // Others may end its session half a minute later.
  expect([LEASE_SECONDS, REVIVAL_SECONDS]).toEqual([15, 30]);
  expect([...NODE_STATES]).toEqual(['live', 'silent', 'draining']);
});
