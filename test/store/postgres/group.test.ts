/** Group commit: what goes together, what goes alone, and who is answered what. */
import { describe, expect, test } from 'bun:test';

import { Group } from '../../../src/store/postgres/group.ts';

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
  });
});
