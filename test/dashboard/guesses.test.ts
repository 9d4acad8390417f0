/** Guessing: who is slowed and for how long, and how many guesses are checked at once. */
import { expect, test } from 'bun:test';

import { Guesses } from '../../src/dashboard/guesses.ts';
import { TestClock } from '../rig/clock.ts';

const RIGHT = 'right';

function open(): { guesses: Guesses; clock: TestClock } {
  const clock = new TestClock();
  return { clock, guesses: new Guesses(clock, (password) => Promise.resolve(password === RIGHT)) };
}

async function guess(guesses: Guesses, peer: string, times: number): Promise<string | undefined> {
  let last: string | undefined;
  for (let n = 0; n < times; n += 1) last = await guesses.check('wrong', peer);
  return last;
}

const crowd = (at: number): string => `10.1.${at >> 8}.${at & 255}`;

test('a crowd of other peers does not give a guesser new guesses', async () => {
  const { guesses, clock } = open();
  expect(await guess(guesses, '198.51.100.1', 10)).toBe('wrong');
  expect(await guess(guesses, '198.51.100.1', 1)).toBe('slow_down');
  for (let at = 0; at < 3_000; at += 1) await guesses.check('wrong', crowd(at));
  expect(await guess(guesses, '198.51.100.1', 1)).toBe('slow_down');
  // A latecomer has his own, crowd or not.
  expect(await guesses.check(RIGHT, '198.51.100.2')).toBe('right');
  await clock.advance(60_000);
  expect(await guess(guesses, '198.51.100.1', 1)).toBe('wrong');
});

test('a peer that guesses in a full table is counted, and one whose time has passed makes room', async () => {
  const { guesses, clock } = open();
  for (let at = 0; at < 1_000; at += 1) await guess(guesses, crowd(at), 10);
  await clock.advance(59_999);
  await guess(guesses, crowd(7), 1);
  await clock.advance(1);
  expect(await guess(guesses, '198.51.100.1', 10)).toBe('wrong');
  expect(await guess(guesses, '198.51.100.1', 1)).toBe('slow_down');
});

test('the addresses of one IPv6 network share their guesses', async () => {
  const { guesses } = open();
  for (let n = 1; n <= 10; n += 1) expect(await guess(guesses, `2001:db8::${n}`, 1)).toBe('wrong');
  expect(await guess(guesses, '2001:db8::ffff', 1)).toBe('slow_down');
  expect(await guess(guesses, '2001:db8:0:1::1', 1)).toBe('wrong');
});

test('few are checked at once, some wait, and the rest are turned away uncounted', async () => {
  const held: ((isRight: boolean) => void)[] = [];
  let most = 0;
  let open = 0;
  const guesses = new Guesses(new TestClock(), async () => {
    open += 1;
    most = Math.max(most, open);
    const isRight = await new Promise<boolean>((resolve) => held.push(resolve));
    open -= 1;
    return isRight;
  });
  const answers = Array.from({ length: 50 }, (_, at) => guesses.check('wrong', crowd(at)));
  const busy = answers.slice(18);
  expect(await Promise.all(busy)).toEqual(busy.map(() => 'busy'));
  for (let done = 0; done < 18; done += 1) {
    held.shift()?.(false);
    expect(await answers[done]).toBe('wrong');
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(most).toBe(2);
  // Being turned away has cost it nothing.
  const after = guesses.check(RIGHT, crowd(49));
  await new Promise((resolve) => setImmediate(resolve));
  held.shift()?.(true);
  expect(await after).toBe('right');
});
