/** What one answer means for the site: pauses, the smarthost, and what is given back when nothing was tried. */
import { afterEach, expect, test } from 'bun:test';
import { deliver } from '../../../src/flow/deliver/deliver.ts';
import { UncomposableError } from '../../../src/mail/dkim/signed-message.ts';
import { hostOf, lost, OK, refusal, startScripted, type Answer } from './scripted-site.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

/** Gives back at once. */
const over = (giveBack: () => void): void => giveBack();
const DIRECT = '192.0.2.1';
const RELAY = '192.0.2.99';

async function start(answer: Answer = {}) {
  const rig = await startScripted([hostOf(10, [DIRECT])]);
  ended.push(() => rig.fixture.close());
  rig.sites.relay = rig.siteOf([hostOf(0, [RELAY])], false);
  const state = { answer };
  rig.sessions.script = (address) => (address === DIRECT ? state.answer : {});
  const steps = { mayBegin: () => true, made: () => undefined, begun: () => undefined, over };
  const send = (mayBegin = steps.mayBegin) =>
    deliver(rig.tools, rig.recipient, { kind: 'site', site: rig.site }, rig.lane, {
      ...steps,
      mayBegin,
    });
  const dialled = () => rig.sessions.seen.splice(0).map((line) => line.split(' ')[0]);
  return { ...rig, state, send, dialled };
}

test('the third pause in a row for our reputation sends the provider’s mail through the smarthost, at once', async () => {
  const { send, lane, fixture, dialled } = await start({ result: refusal(421, '4.7.0') });
  // The class of this reply is that of our reputation only in these words.
  const words = { code: 421, enhanced: '4.7.26', text: 'Your IP has a poor reputation' };
  const rig = await start({ result: { kind: 'refused', stage: 'mail', reply: words } });
  const kinds: string[] = [];
  for (let time = 0; time < 3; time += 1) {
    kinds.push((await rig.send()).outcome?.kind ?? 'none');
    rig.fixture.clock.pass(3_600_001);
  }
  expect(kinds).toEqual(['refused', 'refused', 'relayed']);
  expect(rig.dialled()).toEqual([DIRECT, DIRECT, DIRECT, RELAY]);
  // A request to slow down is no refusal of our address, however often it comes.
  for (let time = 0; time < 4; time += 1) {
    await send();
    fixture.clock.pass(3_600_001);
  }
  expect([lane.pausesInRow, dialled()]).toEqual([4, [DIRECT, DIRECT, DIRECT, DIRECT]]);
});

test('a final refusal of our reputation counts at once, and mail that may have been taken goes nowhere else', async () => {
  const words = { code: 554, enhanced: '5.7.1', text: 'Your IP is on a blocklist' };
  const { send, dialled, state, fixture, fallback } = await start({
    result: { kind: 'refused', stage: 'mail', reply: words },
  });
  expect((await send()).outcome?.kind).toBe('relayed');
  expect([fallback.isRelayed('mx:receiver'), dialled()]).toEqual([true, [DIRECT, RELAY]]);
  fixture.clock.pass(3_600_001);
  state.answer = { result: lost(true) };
  expect((await send()).outcome).toMatchObject({ kind: 'unreached', mayBeDuplicate: true });
  state.answer = { result: refusal(550, '5.1.1') };
  expect((await send()).outcome?.kind).toBe('refused');
  expect(dialled()).toEqual([DIRECT, DIRECT]);
  expect(fallback.isRelayed('mx:receiver')).toBe(true);
  state.answer = { result: OK };
  expect((await send()).outcome?.kind).toBe('accepted');
  // It took a message: it does not refuse us any more.
  expect(fallback.isRelayed('mx:receiver')).toBe(false);
});

test('while a site is throttled nothing is signed or dialled, and the outcome says until when', async () => {
  const { send, lane, dialled, messages, fixture } = await start();
  const { untilMs } = lane.slowDown({ cause: 'slow down', class: 'rate', hint: 'Wait.' });
  const { outcome, signed } = await send();
  expect(outcome).toMatchObject({ kind: 'throttled', throttle: { untilMs, class: 'rate' } });
  expect(outcome?.cause).toEndWith(': slow down');
  expect([signed, dialled(), messages.users]).toEqual([null, [], 0]);
  fixture.clock.pass(untilMs - fixture.clock.steady());
  expect((await send()).outcome?.kind).toBe('accepted');
});

test.each([
  ['uncomposable', 'message_not_composed', new UncomposableError('its content is gone')],
  ['unsigned', 'message_not_signed', new Error('no key')],
] as const)('a message that cannot be made is given back: %s, %s', async (kind, event, error) => {
  const { send, messages, fixture, dialled } = await start();
  messages.signed = error;
  expect((await send()).outcome?.kind).toBe(kind);
  expect([messages.users, dialled()]).toEqual([0, []]);
  expect(fixture.logged.map((line) => line['event'])).toContain(event);
});

test('an attempt that may not begin tries nothing, keeps no session and no message', async () => {
  const { send, messages, lane, dialled } = await start();
  expect((await send(() => false)).outcome).toBeNull();
  expect([messages.users, dialled()]).toEqual([0, []]);
  for (let more = 0; more < 5; more += 1) await lane.enter();
});

test('only a site that has not answered is waited for less, and only in a crowd', async () => {
  const { send, tools, sessions, lane } = await start();
  const crowd = Array.from({ length: tools.concurrency.limits.crowd }, () =>
    tools.concurrency.take('other', true),
  );
  await send();
  expect(lane.hasAnswered).toBe(true);
  await send();
  for (const slot of crowd) tools.concurrency.leave(slot);
  lane.noteUnreached();
  await send();
  expect(sessions.deadlines.map(([, banner]) => banner)).toEqual([10_000, 300_000, 300_000]);
});

test('a relay that finds fault with our reputation is no provider that refuses us', async () => {
  const words = { code: 550, enhanced: '5.7.1', text: 'Your IP is on a blocklist' };
  const result = { kind: 'refused', stage: 'mail', reply: words } as const;
  const { tools, recipient, siteOf, lane, fallback, state, send, dialled } = await start({
    result,
  });
  const relay = siteOf([hostOf(0, [DIRECT])], false);
  const steps = { mayBegin: () => true, made: () => undefined, begun: () => undefined, over };
  await deliver(tools, recipient, { kind: 'site', site: relay }, lane, steps);
  expect([lane.pausesInRow, fallback.isRelayed('mx:receiver')]).toEqual([1, false]);
  // Of the provider itself a 550 is final.
  lane.liftThrottle();
  await send();
  expect([fallback.isRelayed('mx:receiver'), dialled()]).toEqual([true, [DIRECT, DIRECT, RELAY]]);
  // A session that broke says nothing of our address: it is no matter for the smarthost.
  lane.liftThrottle();
  state.answer = { result: lost(false) };
  expect((await send()).outcome).toMatchObject({ kind: 'unreached', stage: 'mail' });
  state.answer = { failed: { stage: 'banner' } };
  expect((await send()).outcome).toMatchObject({ kind: 'unreached', stage: 'banner' });
  expect(dialled()).toEqual([DIRECT, DIRECT]);
});
