/** Group commit: what goes together, what goes alone, and who is answered what. */
import { describe, expect, spyOn, test } from 'bun:test';

import { Group } from '../../../src/store/postgres/group.ts';
import { StoreAwayError, StoreUnconfirmedError } from '../../../src/store/store.ts';

/** A group whose writes are remembered; each waits until `release` is called. */
function remembered(bytesOf?: (item: string) => number) {
  const writes: string[][] = [];
  const waiting: (() => void)[] = [];
  const write = async (items: readonly string[]): Promise<string[]> => {
    writes.push([...items]);
    await new Promise<void>((resolve) => waiting.push(resolve));
    if (items.includes('bad')) throw new Error('refused');
    return items.map((item) => `${item}!`);
  };
  const group = new Group<string, string>(write, undefined, bytesOf);
  /** Lets writes end, one after the other, until all of `answers` are there. */
  const all = async (answers: Promise<unknown>[]): Promise<PromiseSettledResult<unknown>[]> => {
    const life = { isOver: false };
    const settled = Promise.allSettled(answers).finally(() => {
      life.isOver = true;
    });
    while (!life.isOver) {
      waiting.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return settled;
  };
  return { writes, group, all };
}

describe('a group', () => {
  test('is all that is asked for at once, and then all that came while it was written', async () => {
    const { writes, group, all } = remembered();
    const first = ['a', 'b', 'c'].map((item) => group.add(item));
    await new Promise((resolve) => setImmediate(resolve));
    const later = ['d', 'e'].map((item) => group.add(item));
    const settled = await all([...first, ...later]);
    expect(writes).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
    expect(settled.map((one) => one.status === 'fulfilled' && one.value)).toEqual([
      'a!',
      'b!',
      'c!',
      'd!',
      'e!',
    ]);
  });

  test('that is refused is written again one by one: only the fault of an item fails it', async () => {
    const { writes, group, all } = remembered();
    const settled = await all(['a', 'bad', 'c'].map((item) => group.add(item)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(writes).toEqual([['a', 'bad', 'c'], ['a'], ['bad'], ['c']]);
  });

  test('has at most 200 items, and 4 MiB unless one alone has more', async () => {
    const many = remembered();
    await many.all(Array.from({ length: 450 }, (_, at) => many.group.add(String(at))));
    expect(many.writes.map(({ length }) => length)).toEqual([200, 200, 50]);
    const large = remembered((item) => Number(item) * 1024 * 1024);
    await large.all(['9', '2', '2', '1', '0', '5'].map((item) => large.group.add(item)));
    expect(large.writes).toEqual([['9'], ['2', '2'], ['1', '0'], ['5']]);
    const bytes = 4 * 1024 * 1024;
    for (const [one, two, groups] of [
      [bytes - 1, 1, 1],
      [bytes, 1, 2],
      [bytes + 1, 0, 2],
    ] as const) {
      const exact = remembered(Number);
      await exact.all([one, two].map((size) => exact.group.add(String(size))));
      expect([one, exact.writes.length]).toEqual([one, groups]);
    }
    const [whole, more] = [remembered(), remembered()];
    await whole.all(Array.from({ length: 200 }, (_, at) => whole.group.add(String(at))));
    await more.all(Array.from({ length: 201 }, (_, at) => more.group.add(String(at))));
    expect([whole, more].map(({ writes }) => writes.map(({ length }) => length))).toEqual([
      [200],
      [200, 1],
    ]);
  });

  test('is told with its size and how long it took; an error among the results is its item’s alone', async () => {
    let now = 0;
    const clock = spyOn(performance, 'now').mockImplementation(() => now);
    const commits: unknown[] = [];
    const group = new Group<number, number | RangeError>(
      async (items) => {
        now += 5 * items.length;
        return items.map((item) => (item === 2 ? new RangeError('two') : item * 10));
      },
      (...commit) => void commits.push(commit),
    );
    const ends = await Promise.allSettled([1, 2, 3].map((item) => group.add(item)));
    await group.drained();
    clock.mockRestore();
    expect(ends).toEqual([
      { status: 'fulfilled', value: 10 },
      { status: 'rejected', reason: new RangeError('two') },
      { status: 'fulfilled', value: 30 },
    ]);
    expect(commits).toEqual([[15, 3]]);
  });

  test.each([
    ['away', new StoreAwayError('away')],
    ['unconfirmed', new StoreUnconfirmedError('no standby has it')],
  ])(
    'that could not be written for another reason is not written again: %s',
    async (_, failure) => {
      const writes: number[][] = [];
      const commits: unknown[] = [];
      const group = new Group<number, number>(
        async (items) => {
          writes.push([...items]);
          if (writes.length === 1) throw failure;
          return items;
        },
        (...commit) => void commits.push(commit),
      );
      const first = Promise.allSettled([1, 2].map((item) => group.add(item)));
      expect((await first).map((end) => end.status === 'rejected' && end.reason)).toEqual([
        failure,
        failure,
      ]);
      expect([await group.add(3), writes, commits.length]).toEqual([3, [[1, 2], [3]], 1]);
    },
  );

  test('is drained when what came while it was written is answered, too', async () => {
    const { group, all } = remembered();
    await group.drained();
    const steps: string[] = [];
    const first = group.add('a').then(() => steps.push('a'));
    const drained = [1, 2].map((time) => group.drained().then(() => steps.push(`drained ${time}`)));
    await new Promise((resolve) => setImmediate(resolve));
    const second = group.add('b').then(() => steps.push('b'));
    await all([first, second, ...drained]);
    expect(steps).toEqual(['a', 'b', 'drained 1', 'drained 2']);
  });
});
