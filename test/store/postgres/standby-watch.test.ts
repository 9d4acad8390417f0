/** The look after the standbys: how often, what is refused from when on, and what the log says of it. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';

import { StandbyWatch } from '../../../src/store/postgres/standby.ts';
import { readStandbys } from '../../../src/store/postgres/standbys.ts';
import type { Standbys } from '../../../src/store/postgres/standbys.ts';
import { StoreUnconfirmedError } from '../../../src/store/store.ts';

const NONE: Standbys = { names: '', connected: 0, synchronous: 0, hidden: 0 };
const ONE: Standbys = { names: 's', connected: 1, synchronous: 1, hidden: 0 };

let now = 0;
/** What the watch waits for, with its milliseconds. */
let timers: Map<object, { ms: number; work: () => void }>;
/** What the database says; null: it does not answer. */
let seen: Standbys | null;
let looks = 0;

beforeEach(() => {
  [now, looks, timers] = [0, 0, new Map()];
  spyOn(performance, 'now').mockImplementation(() => now);
  spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    const timer = {};
    timers.set(timer, { ms, work });
    return timer;
  }) as never);
  spyOn(globalThis, 'clearTimeout').mockImplementation(((timer: object) => {
    timers.delete(timer);
  }) as never);
});
afterEach(() => mock.restore());

const session = {
  first: async () => {
    looks += 1;
    if (seen === null) throw new Error('no answer');
    return seen;
  },
} as never;

async function started(first: Standbys | null) {
  seen = first;
  const lines: unknown[] = [];
  const say = (level: string) => (event: string, fields: object) =>
    void lines.push(fields === undefined ? [level, event] : [level, event, fields]);
  const log = { info: say('info'), warn: say('warn'), error: say('error') } as never;
  const watch = await StandbyWatch.start(session, log);
  /** One second, in which `next` becomes true. */
  const second = async (next: Standbys | null): Promise<void> => {
    seen = next;
    now += 1_000;
    const [[timer, { ms, work }] = [{}, { ms: 0, work: () => undefined }]] = timers;
    timers.delete(timer);
    expect([ms, timers.size]).toEqual([1_000, 0]);
    work();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { watch, lines, second };
}

const wordsOf = (work: Promise<unknown>): Promise<string> =>
  work.then(String, (error: unknown) =>
    error instanceof StoreUnconfirmedError ? `unconfirmed: ${error.message}` : String(error),
  );

test('the first look is made before anything is written; then one a second, until it is stopped', async () => {
  const { watch, lines, second } = await started(ONE);
  expect([watch.isThere, looks]).toEqual([true, 1]);
  for (let times = 0; times < 3; times += 1) await second(ONE);
  expect([watch.isThere, looks, lines]).toEqual([true, 4, []]);
  expect(await watch.guarded(async () => 'written')).toBe('written');
  expect(await wordsOf(watch.guarded(() => Promise.reject(new Error('refused'))))).toBe(
    'Error: refused',
  );
  await watch.stop();
  expect([timers.size, looks]).toEqual([0, 4]);
});

test('while there is none writes are refused at once, which is told once, and so is its return', async () => {
  const { watch, lines, second } = await started(NONE);
  const write = mock(async () => 'written');
  expect(await wordsOf(watch.guarded(write))).toBe('unconfirmed: no synchronous standby has it');
  await second(NONE);
  await second({ ...NONE, connected: 1 });
  expect([watch.isThere, write.mock.calls.length]).toEqual([false, 0]);
  const missing = [
    'error',
    'standby_missing',
    {
      hint: 'Sends are refused, since [store] require_standby is true. Set synchronous_standby_names on the primary (Patroni: synchronous_mode), so that COMMIT waits for a standby.',
    },
  ];
  expect(lines).toEqual([missing]);
  await second(ONE);
  expect([watch.isThere, await watch.guarded(write)]).toEqual([true, 'written']);
  await second(ONE);
  expect(lines).toEqual([missing, ['info', 'standby_back']]);
  await second(null);
  expect(lines.at(-1)).toEqual([
    'error',
    'standby_missing',
    {
      hint: 'The database does not answer. Look at its server; sends are taken again by themselves.',
    },
  ]);
  await watch.stop();
});

test('what is under way is given up after five seconds without one, and no sooner', async () => {
  const { watch, second } = await started(ONE);
  const ends: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const name of ['one', 'two']) {
    void wordsOf(watch.guarded(() => new Promise(() => undefined))).then((end) =>
      ends.push(`${name} ${end}`),
    );
  }
  const written = watch.guarded(() => promise);
  // A standby that was restarted is back by then.
  for (let times = 0; times < 5; times += 1) await second(NONE);
  await second(ONE);
  for (let times = 0; times < 5; times += 1) await second(NONE);
  expect(ends).toEqual([]);
  resolve('written');
  expect(await written).toBe('written');
  await second(NONE);
  expect(ends).toEqual([
    'one unconfirmed: no synchronous standby has it',
    'two unconfirmed: no synchronous standby has it',
  ]);
  await watch.stop();
});

test('a server that says nothing of standbys has none', async () => {
  const silent = { first: async () => null } as never;
  expect(await readStandbys(silent)).toEqual(NONE);
});
