/** What a look at the revision reads, in which order, and what callers that come meanwhile wait for: without a database. */
import { expect, test } from 'bun:test';
import type { HaltSwitch } from '../../src/flow/halt-switch.ts';
import { Revision } from '../../src/flow/revision.ts';
import { StoreFullError } from '../../src/store/store.ts';

function parts(numbers: (number | null | Error)[]) {
  const asked: string[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  let isGated = false;
  const store = {
    async revision() {
      asked.push('revision');
      if (isGated) {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        await gate.promise;
      }
      const number = numbers.length > 1 ? numbers.shift() : numbers[0];
      if (number instanceof Error) throw number;
      return number ?? null;
    },
  };
  const halt = { load: async () => void asked.push('halt') } as unknown as HaltSwitch;
  return { parts: { store, halt }, asked, gates, gate: () => (isGated = true) };
}

test('it begins with the number, then the halt, and looks each second', async () => {
  const { parts: made, asked } = parts([3]);
  const revision = await Revision.read(made);
  expect(asked).toEqual(['revision', 'halt']);
  expect([revision.number, revision.firstMs, revision.everyMs(), revision.failure]).toEqual([
    3,
    1_000,
    1_000,
    {
      event: 'revision_failed',
      hint: 'What other nodes have changed is not noticed now, but before mail is accepted; look at the database.',
    },
  ]);
});

test('only another number loads the halt, and then drops what is remembered, in the order of the listeners', async () => {
  const { parts: made, asked } = parts([3, 3, 4, 4, 2]);
  const revision = await Revision.read(made);
  revision.onChange(() => asked.push(`first at ${revision.number}`));
  revision.onChange(() => asked.push(`second at ${revision.number}`));
  asked.length = 0;
  for (let look = 0; look < 4; look += 1) {
    asked.push('look');
    await revision.check();
  }
  expect(asked).toEqual([
    'look',
    'revision',
    'look',
    'revision',
    'halt',
    'first at 4',
    'second at 4',
    'look',
    'revision',
    'look',
    'revision',
    'halt',
    'first at 2',
    'second at 2',
  ]);
});

test('a store of one process is never asked', async () => {
  const { parts: made, asked } = parts([null]);
  const revision = await Revision.read(made);
  asked.length = 0;
  await revision.check();
  await revision.run();
  expect([revision.number, asked]).toEqual([null, []]);
});

test('whoever comes while a look is under way waits for the next one, all of them for the same', async () => {
  const { parts: made, asked, gates, gate } = parts([3]);
  const revision = await Revision.read(made);
  asked.length = 0;
  gate();
  const ended: string[] = [];
  const check = (name: string): Promise<unknown> => revision.check().then(() => ended.push(name));
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const first = check('first');
  await tick();
  const others = [check('second'), check('third')];
  await tick();
  expect([gates.length, ended]).toEqual([1, []]);
  gates[0]?.resolve();
  await first;
  await tick();
  expect([gates.length, ended]).toEqual([2, ['first']]);
  const late = check('late');
  gates[1]?.resolve();
  await Promise.all(others);
  await tick();
  expect([gates.length, ended]).toEqual([3, ['first', 'second', 'third']]);
  gates[2]?.resolve();
  await late;
  expect(asked).toEqual(['revision', 'revision', 'revision']);
});

test('a look that fails is told to its callers, and the next one begins all the same', async () => {
  const { parts: made } = parts([3, new Error('away'), new StoreFullError('full'), 5]);
  const revision = await Revision.read(made);
  const said = (work: Promise<void>): Promise<string> =>
    work.then(
      () => 'done',
      (error: Error) => error.message,
    );
  expect(await said(revision.run())).toBe('away');
  // The queue says so of a store that cannot be written.
  expect(await said(revision.run())).toBe('done');
  expect(revision.number).toBe(3);
  expect(await said(revision.check())).toBe('done');
  expect(revision.number).toBe(5);
});

test('the number is new only when the halt of that number is known', async () => {
  const { parts: made, asked } = parts([3, 4]);
  const seen: unknown[] = [];
  const answers = [() => Promise.resolve(), () => Promise.reject(new Error('away'))];
  const halt = {
    load() {
      seen.push(revision?.number);
      return (answers.shift() ?? (() => Promise.resolve()))();
    },
  } as unknown as HaltSwitch;
  let revision: Revision | null = null;
  revision = await Revision.read({ ...made, halt });
  revision.onChange(() => asked.push('dropped'));
  const failed = await revision.check().catch((error: Error) => error.message);
  expect([failed, revision.number, asked.includes('dropped')]).toEqual(['away', 3, false]);
  await revision.check();
  expect([revision.number, asked.at(-1), seen]).toEqual([4, 'dropped', [undefined, 3, 3]]);
});

test('it stands on nothing before the halt is read', async () => {
  const { parts: made } = parts([3]);
  const loaded = Promise.withResolvers<void>();
  let isRead = false;
  const reading = Revision.read({
    ...made,
    halt: { load: () => loaded.promise } as unknown as HaltSwitch,
  }).then(() => (isRead = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isRead).toBe(false);
  loaded.resolve();
  await reading;
});
