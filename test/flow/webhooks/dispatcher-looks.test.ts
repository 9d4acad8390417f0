/** How the dispatcher looks at what is due: part after part, with rests, and what it does when it can keep no more. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openFixture, type Fixture } from '../fixture.ts';
import { refs, startNoted } from './noted-dispatcher.ts';

let fixture: Fixture;
// One for all: its store is asked for nothing, and each dispatcher begins with the time of its own.
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const start = (change?: Parameters<typeof startNoted>[1]) => startNoted(fixture, change);

const looks = (asked: unknown[][]) => asked.filter(([what]) => what === 'due');

/** One part of a look, as the store is asked for it. */
const part = (now: number, after: string | null = null, without: string[] = []) => [
  'due',
  { now, until: now, most: 616, limit: 1_000, after, without },
];

test('a look asks for part after part, until there is no endpoint left', async () => {
  const gate = Promise.withResolvers<void>();
  const { dispatcher, asked, begun, settle, now } = start({
    due: [refs(1, 'e1'), [], refs(1, 'e9')],
    lasts: ['e3', 'e7'],
    gate: gate.promise,
  });
  dispatcher.start();
  await settle();
  expect(looks(asked)).toEqual([part(now), part(now, 'e3'), part(now, 'e7')]);
  expect(begun.flat().map(({ id }) => id)).toEqual(['e1 0', 'e9 0']);
  gate.resolve();
  await dispatcher.stop();
});

test('a look that took long is followed by a rest of four times as long', async () => {
  const gate = Promise.withResolvers<void>();
  const { dispatcher, asked, settle } = start({ lookGate: gate.promise });
  dispatcher.start();
  await fixture.clock.advance(100);
  gate.resolve();
  await settle();
  dispatcher.endpointChanged('e');
  await fixture.clock.advance(399);
  expect(looks(asked)).toHaveLength(1);
  await fixture.clock.advance(1);
  expect(looks(asked)).toHaveLength(2);
  await dispatcher.stop();
});

test('a look ends early with the dispatcher', async () => {
  const { dispatcher, asked, settle, now } = start({ lasts: ['e3', 'e7'] });
  dispatcher.start();
  const stopped = dispatcher.stop();
  await settle();
  await stopped;
  expect(looks(asked)).toEqual([part(now)]);
});

test('an endpoint whose queue is long is left out of a look', async () => {
  const gate = Promise.withResolvers<void>();
  const { dispatcher, asked, settle, now } = start({ due: [refs(616)], gate: gate.promise });
  dispatcher.start();
  await settle();
  dispatcher.endpointChanged('another');
  await settle();
  expect(looks(asked)).toEqual([part(now), part(now, null, ['e'])]);
  gate.resolve();
  await dispatcher.stop();
});

test('a look that ended because no more references can be kept goes on from there, and then asks the others', async () => {
  const gate = Promise.withResolvers<void>();
  const page = Array.from({ length: 270 }, (_, n) => refs(390, `e${n}`)).flat();
  const { dispatcher, asked, settle } = start({
    due: [page, page],
    lasts: ['e5', 'e6', 'e8'],
    gate: gate.promise,
  });
  dispatcher.start();
  await settle();
  const afters = () => looks(asked).map(([, look]) => (look as { after: string | null }).after);
  // The 1,024 that were claimed of the first part leave their slots to the second; then it is full.
  expect(afters()).toEqual([null, 'e5']);
  await fixture.clock.advance(1_000);
  expect(afters()).toEqual([null, 'e5', 'e6']);
  gate.resolve();
  await fixture.clock.advance(1_000);
  expect(afters().slice(3, 5)).toEqual(['e8', null]);
  await dispatcher.stop();
}, 30_000);

test('while no more references can be kept, the store is looked at each second', async () => {
  const gate = Promise.withResolvers<void>();
  const page = Array.from({ length: 270 }, (_, n) => refs(390, `e${n}`)).flat();
  const { dispatcher, script, asked, settle, now } = start({
    due: [page, page],
    gate: gate.promise,
  });
  script.nextDue = now + 60_000;
  dispatcher.start();
  await settle();
  const seen: number[] = [];
  for (const wait of [0, 999, 1, 999, 1]) {
    await fixture.clock.advance(wait);
    seen.push(looks(asked).length);
  }
  expect(seen).toEqual([1, 1, 2, 2, 3]);
  gate.resolve();
  await dispatcher.stop();
}, 30_000);
