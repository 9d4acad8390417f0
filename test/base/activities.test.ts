/** What was under way: names once, what ended first, and never more than a bounded text. */
import { expect, test } from 'bun:test';

import { Activities } from '../../src/base/activities.ts';

test('what ended comes first, then the newest of what goes on; what ended is told once', () => {
  const doing = new Activities();
  const [endFirst] = [doing.begin('first'), doing.begin('second')];
  doing.begin('third');
  endFirst();
  expect(doing.take()).toBe('first, third, second');
  expect(doing.take()).toBe('third, second');
});

test('each name stands once', () => {
  const doing = new Activities();
  doing.begin('sendEmail')();
  doing.begin('sendEmail');
  doing.begin('sendEmail');
  expect(doing.take()).toBe('sendEmail');
});

test('work ends with its name, also when it fails', async () => {
  const doing = new Activities();
  expect(await doing.during('work', () => Promise.resolve(doing.take()))).toBe('work');
  doing.forget();
  // Not when it was begun: when it is over.
  const step = Promise.withResolvers<string>();
  const working = doing.during('long', () => step.promise);
  await Promise.resolve();
  expect([doing.take(), doing.take()]).toEqual(['long', 'long']);
  step.resolve('done');
  expect([await working, doing.take(), doing.take()]).toEqual(['done', 'long', '']);
  const failing = doing.during('failing', () => Promise.reject(new Error('no')));
  expect(await failing.catch(String)).toBe('Error: no');
  doing.forget();
  expect(doing.take()).toBe('');
});

test('six names stand whole, of a seventh one is counted; of what ended the first 16 are remembered', () => {
  const doing = new Activities();
  for (let at = 0; at < 6; at += 1) doing.begin(`n${at}`)();
  expect(doing.take()).toBe('n0, n1, n2, n3, n4, n5');
  for (let at = 0; at < 7; at += 1) doing.begin(`n${at}`)();
  expect(doing.take()).toBe('n0, n1, n2, n3, n4, n5, 1 more');
  for (let at = 0; at < 17; at += 1) doing.begin(`n${at}`)();
  expect(doing.take()).toEndWith(', 10 more');
  expect(doing.take()).toBe('');
});

test('what goes on stays when what ended is forgotten', () => {
  const doing = new Activities();
  doing.begin('goes on');
  doing.begin('over')();
  doing.forget();
  expect(doing.take()).toBe('goes on');
});

test('a thousand names that go on and ten thousand that ended make one short text', () => {
  const doing = new Activities();
  for (let at = 0; at < 1_000; at += 1) doing.begin(`on ${at}`);
  for (let at = 0; at < 10_000; at += 1) doing.begin(`over ${at}`)();
  // Six names; of the 16 that ended and are remembered, 10 are counted with those that go on.
  expect(doing.take()).toBe('over 0, over 1, over 2, over 3, over 4, over 5, 1010 more');
});

test('who watches is told of each beginning, and whether anything is under way', () => {
  const doing = new Activities();
  let begun = 0;
  doing.watch(() => (begun += 1));
  expect(doing.isAny).toBe(false);
  const end = doing.begin('work');
  expect([begun, doing.isAny]).toEqual([1, true]);
  doing.begin('more')();
  expect([begun, doing.isAny]).toEqual([2, true]);
  end();
  doing.watch(null);
  doing.begin('unwatched')();
  expect([begun, doing.isAny]).toEqual([2, false]);
});
