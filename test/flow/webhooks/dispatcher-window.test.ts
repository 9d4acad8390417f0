/** How many calls of one endpoint the dispatcher claims, when it fills a queue anew, and whose calls it posts. */
import { afterEach, expect, test } from 'bun:test';

import { WebhookDispatcher } from '../../../src/flow/webhooks/dispatcher.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { startHook } from '../../rig/hook.ts';
import { openFixture } from '../fixture.ts';
import { refs, startNoted } from './noted-dispatcher.ts';
import { startWebhookRig } from './webhook-rig.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function noted(change: Parameters<typeof startNoted>[1]) {
  const fixture = await openFixture();
  ends.push(() => fixture.close());
  const made = startNoted(fixture, change);
  made.dispatcher.start();
  await made.settle();
  return made;
}

test('what an endpoint acknowledges lets more of its calls be claimed ahead, what it refuses only four', async () => {
  const rig = await startWebhookRig({ isStarted: false });
  const hook = await startHook();
  const begun = new Arrivals<number>('begun calls');
  let count = 0;
  const store: typeof rig.ctx.store = {
    ...rig.ctx.store,
    async beginCalls(claims, now) {
      const calls = await rig.ctx.store.beginCalls(claims, now);
      for (const _ of calls) begun.push((count += 1));
      return calls;
    },
  };
  const dispatcher = new WebhookDispatcher({ ...rig.ctx, store });
  ends.push(
    () => rig.stop(),
    () => hook.stop(),
  );
  await rig.endpoint(hook.url);
  const gate = Promise.withResolvers<{ status: number }>();
  let called = 0;
  const fifth = Promise.withResolvers<undefined>();
  hook.script.answer = () => {
    called += 1;
    // All four posts wait again, and all that was claimed beside them.
    if (called === 8) fifth.resolve(undefined);
    return called <= 4 ? { status: 200 } : gate.promise;
  };
  dispatcher.start();
  const { calls } = await rig.commit(40);
  dispatcher.offer(calls);
  // The four that were acknowledged, and a window of sixteen.
  await begun.first((at) => at === 20);
  await fifth.promise;
  expect([count, called]).toEqual([20, 8]);
  gate.resolve({ status: 200 });
  await begun.first((at) => at === 40);
  await dispatcher.stop();
}, 20_000);

test('a queue that runs low while the store has more is filled at once', async () => {
  const { asked, begun, settle, script, dispatcher } = await noted({ due: [refs(1_000)] });
  script.due = [refs(1, 'late')];
  const looks = () =>
    asked
      .filter(([what]) => what === 'due')
      .map(([, look]) => (look as { without: string[] }).without);
  const isBegun = (id: string) => begun.flat().some((claim) => claim.id === id);
  for (let round = 0; round < 2_000 && !isBegun('late 0'); round += 1) await settle();
  // The look of which five hundred were kept, and the filling.
  expect([looks(), isBegun('late 0')]).toEqual([[[], []], true]);
  await dispatcher.stop();
}, 20_000);

test('while no more references can be kept, a call that is due sooner than in a second is looked for then', async () => {
  const page = Array.from({ length: 270 }, (_, n) => refs(390, `e${n}`)).flat();
  const fixture = await openFixture();
  ends.push(() => fixture.close());
  const gate = new Promise<void>(() => undefined);
  const { dispatcher, script, asked, settle, now } = startNoted(fixture, {
    due: [page, page],
    gate,
  });
  const looks = (): number => asked.filter(([what]) => what === 'due').length;
  script.nextDue = now + 300;
  dispatcher.start();
  await settle();
  const seen = [looks()];
  for (const [nextDue, wait] of [
    [700, 299],
    [700, 1],
    [60_000, 399],
    [60_000, 1],
  ] as const) {
    script.nextDue = now + nextDue;
    await fixture.clock.advance(wait);
    seen.push(looks());
  }
  expect(seen).toEqual([1, 1, 2, 2, 3]);
  void dispatcher.stop();
}, 30_000);

test('a call that was claimed and may be another’s by now is not posted', async () => {
  const gate = Promise.withResolvers<void>();
  const node = { id: 'session', isCurrent: true, onFreed: () => undefined };
  const {
    dispatcher,
    begun,
    ended,
    settle,
    noted: note,
  } = await noted({
    gate: gate.promise,
    node,
  });
  // Four at once: two of the calls wait for a slot.
  const tests = [1, 2].map(() => dispatcher.test('account', 'e'));
  await settle();
  dispatcher.offer(note(refs(4)));
  await settle();
  node.isCurrent = false;
  gate.resolve();
  await Promise.all(tests);
  await settle();
  expect([begun.flat().length, ended.map(({ call }) => call.id)]).toEqual([4, ['e 0', 'e 1']]);
  await dispatcher.stop();
});
