/** Guessing: which peers are limited and for how long, and how many guesses are checked at once. */
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

test('many other peers do not give a guessing peer new guesses', async () => {
  const { guesses, clock } = open();
  expect(await guess(guesses, '198.51.100.1', 10)).toBe('wrong');
  expect(await guess(guesses, '198.51.100.1', 1)).toBe('slow_down');
  for (let at = 0; at < 3_000; at += 1) await guesses.check('wrong', crowd(at));
  expect(await guess(guesses, '198.51.100.1', 1)).toBe('slow_down');
  // A peer that comes later has its own guesses, however many others there are.
  expect(await guesses.check(RIGHT, '198.51.100.2')).toBe('right');
  await clock.advance(60_000);
  expect(await guess(guesses, '198.51.100.1', 1)).toBe('wrong');
});

test('a peer that guesses in a full table is counted, and expired peers are dropped first', async () => {
  const { guesses, clock } = open();
  for (let at = 0; at < 1_000; at += 1) await guess(guesses, crowd(at), 10);
  await clock.advance(59_999);
  await guess(guesses, crowd(7), 1);
  await clock.advance(1);
  expect(await guess(guesses, '198.51.100.1', 10)).toBe('wrong');
  expect(await guess(guesses, '198.51.100.1', 1)).toBe('slow_down');
});

test('of a thousand peers the one with the fewest guesses is forgotten for the next, the oldest of those', async () => {
  const { guesses } = open();
  const [oldest, younger] = ['198.51.100.1', '198.51.100.2'];
  for (let at = 0; at < 998; at += 1) await guess(guesses, crowd(at), 2);
  expect(await guess(guesses, oldest, 1)).toBe('wrong');
  expect(await guess(guesses, younger, 1)).toBe('wrong');
  // One that is in the table already drives nobody out.
  await guess(guesses, crowd(0), 1);
  await guess(guesses, '203.0.113.9', 3);
  expect([await guess(guesses, younger, 9), await guess(guesses, younger, 1)]).toEqual([
    'wrong',
    'slow_down',
  ]);
  expect([await guess(guesses, oldest, 10), await guess(guesses, oldest, 1)]).toEqual([
    'wrong',
    'slow_down',
  ]);
});

test('where expired peers are dropped nobody else is forgotten', async () => {
  const { guesses, clock } = open();
  const keeper = '198.51.100.1';
  for (let at = 0; at < 999; at += 1) await guess(guesses, crowd(at), 10);
  await clock.advance(59_999);
  expect(await guess(guesses, keeper, 9)).toBe('wrong');
  await clock.advance(1);
  expect(await guess(guesses, '203.0.113.9', 1)).toBe('wrong');
  expect([await guess(guesses, keeper, 1), await guess(guesses, keeper, 1)]).toEqual([
    'wrong',
    'slow_down',
  ]);
});

test('a right guess ends what was counted of its peer', async () => {
  const { guesses } = open();
  const peer = '198.51.100.1';
  expect(await guess(guesses, peer, 9)).toBe('wrong');
  expect(await guesses.check(RIGHT, peer)).toBe('right');
  expect([await guess(guesses, peer, 10), await guess(guesses, peer, 1)]).toEqual([
    'wrong',
    'slow_down',
  ]);
});

test('the addresses of one IPv6 network share their guesses', async () => {
  const { guesses } = open();
  for (let n = 1; n <= 10; n += 1) expect(await guess(guesses, `2001:db8::${n}`, 1)).toBe('wrong');
  expect(await guess(guesses, '2001:db8::ffff', 1)).toBe('slow_down');
  expect(await guess(guesses, '2001:db8:0:1::1', 1)).toBe('wrong');
});

test('few are checked at once, some wait, and the rest are refused without being counted', async () => {
  const waiting: ((isRight: boolean) => void)[] = [];
  let most = 0;
  let open = 0;
  const guesses = new Guesses(new TestClock(), async () => {
    open += 1;
    most = Math.max(most, open);
    const isRight = await new Promise<boolean>((resolve) => waiting.push(resolve));
    open -= 1;
    return isRight;
  });
  const answers = Array.from({ length: 50 }, (_, at) => guesses.check('wrong', crowd(at)));
  const busy = answers.slice(18);
  expect(await Promise.all(busy)).toEqual(busy.map(() => 'busy'));
  for (let done = 0; done < 22; done += 1) {
    waiting.shift()?.(false);
    expect(await answers[done]).toBe('wrong');
    await new Promise((resolve) => setImmediate(resolve));
    // A slot that is handed over is not free for whoever comes now.
    if (done < 4) void answers.splice(18 + done, 0, guesses.check('wrong', crowd(50 + done)));
  }
  expect(most).toBe(2);
  // The refusals were not counted.
  const after = guesses.check(RIGHT, crowd(49));
  await new Promise((resolve) => setImmediate(resolve));
  waiting.shift()?.(true);
  expect(await after).toBe('right');
});

test('a guess that is sent away as busy forgets none of its peer', async () => {
  const waiting: ((isRight: boolean) => void)[] = [];
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  let isOpen = true;
  const guesses = new Guesses(new TestClock(), () =>
    isOpen ? Promise.resolve(false) : new Promise((settle) => waiting.push(settle)),
  );
  const guesser = '198.51.100.1';
  expect(await guess(guesses, guesser, 8)).toBe('wrong');
  isOpen = false;
  const crowdGuesses = Array.from({ length: 17 }, (_, at) => guesses.check('wrong', crowd(at)));
  const last = guesses.check('wrong', guesser);
  // All is taken now, and the newcomer has guessed less often.
  const newcomer = guesses.check('wrong', '198.51.100.2');
  expect(await last).toBe('busy');
  isOpen = true;
  for (let done = 0; done < 2; done += 1) waiting.shift()?.(false);
  await tick();
  await Promise.all([...crowdGuesses, newcomer]);
  expect(await guess(guesses, guesser, 2)).toBe('wrong');
  expect(await guess(guesses, guesser, 1)).toBe('slow_down');
});

test('whoever has guessed wrong stands behind whoever has not, and gives way where all positions are taken', async () => {
  const waiting: { password: string; settle: (isRight: boolean) => void }[] = [];
  const guesses = new Guesses(
    new TestClock(),
    (password) => new Promise((settle) => waiting.push({ password, settle })),
  );
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const settleNext = async (isRight: boolean): Promise<string | undefined> => {
    const next = waiting.shift();
    next?.settle(isRight);
    await tick();
    return next?.password;
  };
  // A crowd of nine guesses twice each: two checks and sixteen positions are taken.
  const crowdGuesses = Array.from({ length: 18 }, (_, at) =>
    guesses.check(`guess ${at}`, crowd(at % 9)),
  );
  const operator = guesses.check('the operator', '198.51.100.2');
  // The one that guessed for the second time, and last, was sent away and not counted.
  expect(await crowdGuesses[17]).toBe('busy');
  for (let at = 0; at < 2; at += 1) await settleNext(false);
  const order: (string | undefined)[] = [];
  for (let at = 0; at < 8; at += 1)
    order.push(await settleNext(waiting[0]?.password === 'the operator'));
  expect(order.indexOf('the operator')).toBeGreaterThanOrEqual(0);
  expect(await operator).toBe('right');
  // From now on that peer goes first, even before peers that never guessed.
  const late = Array.from({ length: 12 }, (_, at) => guesses.check('late', crowd(100 + at)));
  const again = guesses.check('again', '198.51.100.2');
  await settleNext(false);
  await settleNext(false);
  expect(waiting.map(({ password }) => password)).toContain('again');
  while (waiting.length > 0) await settleNext(waiting[0]?.password === 'again');
  expect(await again).toBe('right');
  await Promise.all([...crowdGuesses, ...late]);
});

/** Guesses that are checked at once until `block`, and from then on in an order that is told. */
function blockable() {
  const waiting: { guess: string; settle: (isRight: boolean) => void }[] = [];
  let isOpen = true;
  const guesses = new Guesses(new TestClock(), (guess) =>
    isOpen
      ? Promise.resolve(guess === RIGHT)
      : new Promise<boolean>((settle) => waiting.push({ guess, settle })),
  );
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const orderOf = async (all: readonly Promise<unknown>[]): Promise<string[]> => {
    const order: string[] = [];
    await tick();
    while (waiting.length > 0) {
      const next = waiting.shift();
      order.push(next?.guess ?? '');
      next?.settle(false);
      await tick();
    }
    await Promise.all(all);
    return order;
  };
  return { guesses, block: () => (isOpen = false), orderOf };
}

test('a hundred peers that signed in go before others; the one before them is as any other', async () => {
  const { guesses, block, orderOf } = blockable();
  // The one that is known longest signs in again, and so is the last to be forgotten.
  for (const at of [1, 0, ...Array.from({ length: 98 }, (_, one) => one + 2), 1, 100])
    await guesses.check(RIGHT, crowd(at));
  block();
  // Two are checked, the others wait: a new peer, the one that was forgotten, the one that came back, and the oldest.
  const all = ['one', 'two', 'new peer'].map((name, at) => guesses.check(name, crowd(500 + at)));
  all.push(guesses.check('forgotten', crowd(0)), guesses.check('back', crowd(1)));
  all.push(guesses.check('oldest', crowd(2)));
  expect(await orderOf(all)).toEqual(['one', 'two', 'back', 'oldest', 'new peer', 'forgotten']);
});

test('who signed in from one address of an IPv6 network goes first from its others', async () => {
  const { guesses, block, orderOf } = blockable();
  await guesses.check(RIGHT, '2001:db8::1');
  block();
  const all = ['one', 'two', 'new peer'].map((name, at) => guesses.check(name, crowd(at)));
  all.push(guesses.check('known', '2001:db8::2'), guesses.check('beside', '2001:db8:0:1::1'));
  expect(await orderOf(all)).toEqual(['one', 'two', 'known', 'new peer', 'beside']);
});

test('a minute begins anew with each wrong password', async () => {
  const { guesses, clock } = open();
  const peer = '198.51.100.1';
  expect(await guess(guesses, peer, 5)).toBe('wrong');
  await clock.advance(59_999);
  expect(await guess(guesses, peer, 5)).toBe('wrong');
  await clock.advance(59_999);
  expect(await guess(guesses, peer, 1)).toBe('slow_down');
  await clock.advance(1);
  expect(await guess(guesses, peer, 1)).toBe('wrong');
});

test.each([3_600_000, -3_600_000])(
  'a clock that is set by %d ms gives no new guesses, and takes none for longer',
  async (jumpMs) => {
    const { guesses, clock } = open();
    const guesser = '198.51.100.1';
    await guess(guesses, guesser, 10);
    for (let at = 0; at < 999; at += 1) await guess(guesses, crowd(at), 1);
    clock.jump(jumpMs);
    // The table is full: another peer drives out one that has guessed less.
    await guess(guesses, '203.0.113.9', 1);
    expect(await guess(guesses, guesser, 1)).toBe('slow_down');
    await clock.advance(60_000);
    expect(await guess(guesses, guesser, 1)).toBe('wrong');
  },
);
