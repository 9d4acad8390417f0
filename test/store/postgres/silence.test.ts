/** A server that answers without a row where there is always one: that is said, and no number is made of it. */
import { expect, test } from 'bun:test';

import type { Database } from '../../../src/store/postgres/database.ts';
import { nodesOn } from '../../../src/store/postgres/nodes.ts';
import { revisionVerbs } from '../../../src/store/postgres/revision.ts';
import { SumPeriods } from '../../../src/store/postgres/sum-slots.ts';
import { timeVerbs } from '../../../src/store/postgres/time.ts';

const saidBy = (work: Promise<unknown>): Promise<string> => work.then(String, String);

test('of the revision, the time, a beat and the number of a session', async () => {
  let given = 0;
  const session = { all: async () => [], first: async () => null, run: async () => 0 };
  const silent = {
    ...session,
    transaction: (work: (of: typeof session) => unknown) => work(session),
    connect: async () => ({
      isLost: false,
      ask: async () => ({ rows: [] }),
      abandon: () => (given += 1),
    }),
  } as unknown as Database;
  expect(await saidBy(revisionVerbs(silent).revision())).toBe(
    'Error: the database has no revision',
  );
  expect(await saidBy(timeVerbs(silent).storeTime())).toBe('Error: the database has no time');
  const membership = { session: null, number: 0, periods: new SumPeriods(() => undefined) };
  const { nodes } = nodesOn(silent, membership);
  const one = { id: 'i', name: 'one', directory: '/one', addresses: [], version: '1' };
  expect(await saidBy(nodes.begin(one))).toBe('Error: a session got no number');
  // It has none, and writes nothing as one.
  expect(membership).toMatchObject({ session: null, number: 0 });
  expect(await saidBy(nodes.beat())).toBe('Error: the server answered a beat with nothing');
  expect(given).toBe(1);
});
