/** The session of a server, by a store that answers as told: until when mail may leave, and who is lost. */
import { expect, test } from 'bun:test';

import { createLog } from '../../src/base/log.ts';
import { NodeSession, sendingNodes } from '../../src/flow/node-session.ts';
import { StoreAwayError } from '../../src/store/store.ts';
import { TestClock } from '../rig/clock.ts';
import { FakeNodes } from '../rig/fake-nodes.ts';

async function begin() {
  const [clock, nodes] = [new TestClock(), new FakeNodes()];
  // The wall clock is an hour behind: what lasts so long goes by the time that has really passed.
  clock.jump(-3_600_000);
  const lines: string[] = [];
  const log = createLog(
    (line) => lines.push(line),
    () => clock.now(),
  );
  const heard = { ended: 0, freed: 0 };
  const session = await NodeSession.begin(
    { id: 's', name: 'n', directory: 'd', addresses: [], version: '1' },
    { nodes, clock, log, ended: () => (heard.ended += 1) },
  );
  session.onFreed(() => (heard.freed += 1));
  const events = (): string[] => lines.map((line) => (JSON.parse(line) as { event: string }).event);
  return { clock, nodes, session, heard, events };
}

test('it beats every 3 s and stays current', async () => {
  const { clock, nodes, session } = await begin();
  expect([nodes.beats, session.isCurrent]).toEqual([1, true]);
  await clock.advance(60_000);
  expect([nodes.beats, session.isCurrent]).toEqual([21, true]);
});

test('12 s after the last answered beat was sent it is not current, and is again with the next answer', async () => {
  const { clock, nodes, session, heard, events } = await begin();
  nodes.isAway = true;
  await clock.advance(11_999);
  expect(session.isCurrent).toBe(true);
  await clock.advance(1);
  expect(session.isCurrent).toBe(false);
  await clock.advance(30_000);
  expect([session.isCurrent, events(), heard.freed]).toEqual([false, ['lease_over'], 0]);
  nodes.isAway = false;
  await clock.advance(1_000);
  expect([session.isCurrent, events()]).toEqual([true, ['lease_over', 'lease_regained']]);
  expect([heard.freed, heard.ended]).toEqual([1, 0]);
});

test('an answer counts from when its beat was sent', async () => {
  const { clock, nodes, session } = await begin();
  let answer = (): void => undefined;
  nodes.answered = new Promise((resolve) => (answer = resolve));
  // Sent at 3 s, answered at 14 s: current until 15 s.
  await clock.advance(14_000);
  expect([nodes.beats, session.isCurrent]).toEqual([2, false]);
  answer();
  await clock.advance(999);
  expect(session.isCurrent).toBe(true);
  nodes.isAway = true;
  await clock.advance(1);
  expect(session.isCurrent).toBe(false);
});

test('a wall clock that is set forth ends it, one that is set back does not prolong it', async () => {
  const forth = await begin();
  forth.clock.jump(12_000);
  expect(forth.session.isCurrent).toBe(false);
  await forth.clock.advance(3_000);
  expect(forth.session.isCurrent).toBe(true);
  const back = await begin();
  back.nodes.isAway = true;
  back.clock.jump(-3_600_000);
  await back.clock.advance(12_000);
  expect(back.session.isCurrent).toBe(false);
});

test('an operator who wants it to end is heard with the next beat; 3 s later nothing is taken any more', async () => {
  const { clock, nodes, session, events } = await begin();
  const drains: number[] = [];
  session.onDrain(() => drains.push(clock.elapsedMs));
  await nodes.askToDrain('n');
  await clock.advance(3_000);
  expect([session.notReady, session.isDraining, drains]).toEqual(['leaving', false, []]);
  await clock.advance(30_000);
  expect([session.isDraining, drains, events()]).toEqual([true, [6_000], ['node_draining']]);
});

test('an ended session never lives again: it is logged, and the process told to end, once', async () => {
  const { clock, nodes, session, heard, events } = await begin();
  nodes.isLive = false;
  await clock.advance(3_000);
  expect([heard.ended, events()]).toEqual([1, ['session_ended']]);
  nodes.isLive = true;
  await clock.advance(60_000);
  expect([heard.ended, nodes.beats, session.isCurrent]).toEqual([1, 2, false]);
});

test('the end of another session is heard once', async () => {
  const { clock, nodes, heard } = await begin();
  await clock.advance(6_000);
  expect(heard.freed).toBe(0);
  nodes.endings = 'later';
  await clock.advance(9_000);
  expect(heard.freed).toBe(1);
});

test('it ends lost sessions only after 30 s without a gap', async () => {
  const { clock, nodes, heard, events } = await begin();
  nodes.lost = ['other'];
  await clock.advance(29_999);
  expect(nodes.reaps).toBe(0);
  await clock.advance(1);
  expect([nodes.reaps, heard.freed, events()]).toEqual([1, 1, ['nodes_lost']]);
  nodes.isAway = true;
  await clock.advance(20_000);
  nodes.isAway = false;
  const { reaps } = nodes;
  await clock.advance(30_000);
  expect(nodes.reaps).toBe(reaps);
  await clock.advance(3_000);
  expect(nodes.reaps).toBeGreaterThan(reaps);
});

test('a lease that was over for a moment, by a wall clock set forth and back, counts anew for what it may end', async () => {
  const { clock, nodes, events } = await begin();
  nodes.lost = ['other'];
  await clock.advance(24_000);
  nodes.isAway = true;
  clock.jump(12_000);
  await clock.advance(3_000);
  expect(events()).toEqual(['lease_over']);
  clock.jump(-12_000);
  nodes.isAway = false;
  // The next beat comes within half a second.
  await clock.advance(500);
  expect(events()).toEqual(['lease_over', 'lease_regained']);
  await clock.advance(29_500);
  expect(nodes.reaps).toBe(0);
  await clock.advance(3_000);
  expect([nodes.reaps, events().at(-1)]).toEqual([1, 'nodes_lost']);
});

test('at its end it is current no more, whether or not the store hears of it', async () => {
  const near = await begin();
  await near.session.end();
  expect([near.session.isCurrent, near.nodes.isEnded, near.events()]).toEqual([false, true, []]);
  const away = await begin();
  away.nodes.isAway = true;
  await away.session.end();
  expect(away.events()).toEqual(['session_not_ended']);
  const { beats } = away.nodes;
  await away.clock.advance(10_000);
  expect(away.nodes.beats).toBe(beats);
});

test('an end while a beat is under way is the end of beats', async () => {
  const { clock, nodes, session, events } = await begin();
  let answer = (): void => undefined;
  nodes.answered = new Promise((resolve) => (answer = resolve));
  await clock.advance(3_000);
  const ending = session.end();
  answer();
  await ending;
  const { beats } = nodes;
  await clock.advance(60_000);
  expect([nodes.beats, session.isCurrent, events()]).toEqual([beats, false, []]);
});

test('a look for lost sessions that fails is logged unless the store is away, and comes again', async () => {
  const { clock, nodes, heard, events } = await begin();
  const failures = [new StoreAwayError('away'), new Error('a fault')];
  nodes.endLost = () => {
    const failure = failures.shift();
    return failure === undefined ? Promise.resolve(['other']) : Promise.reject(failure);
  };
  await clock.advance(30_000);
  expect([failures.length, events()]).toEqual([1, []]);
  await clock.advance(3_000);
  expect([failures.length, events()]).toEqual([0, ['nodes_lost_failed']]);
  expect(heard.freed).toBe(0);
  await clock.advance(3_000);
  expect([heard.freed, events()]).toEqual([1, ['nodes_lost_failed', 'nodes_lost']]);
});

test('load balancers send elsewhere while the database does not answer, and before a stop', async () => {
  const { clock, nodes, session } = await begin();
  expect(session.notReady).toBeNull();
  nodes.isAway = true;
  await clock.advance(3_000);
  // Mail may still leave, but who sends more would be refused.
  expect([session.notReady, session.isCurrent]).toEqual(['database_away', true]);
  nodes.isAway = false;
  await clock.advance(500);
  expect(session.notReady).toBeNull();
  let hasLeft = false;
  const leaving = session.leave().then(() => (hasLeft = true));
  await clock.advance(2_999);
  expect([session.notReady, hasLeft]).toEqual(['leaving', false]);
  await clock.advance(1);
  await leaving;
  expect([session.notReady, session.isCurrent]).toEqual(['leaving', true]);
});

test('a server that woke up too late is not ready', async () => {
  const { clock, nodes, session } = await begin();
  nodes.answered = new Promise(() => undefined);
  await clock.advance(12_000);
  expect([session.notReady, session.isCurrent]).toEqual(['database_away', false]);
});

test('a beat tells what the server is at, and its clock once that is known', async () => {
  const { clock, nodes, session } = await begin();
  let taken = 4;
  session.onBeat(() => ({ taken, inDelivery: 1 }));
  expect(nodes.report).toBeNull();
  nodes.clock = () => clock.now();
  // The clock that the first answer showed was another one's.
  await clock.advance(3_000);
  taken = 9;
  await clock.advance(3_000);
  expect(nodes.report).toEqual({ taken: 9, inDelivery: 1, clockAheadMs: 0 });
  nodes.clock = () => clock.now() + 5_000;
  await clock.advance(6_000);
  expect(nodes.report).toEqual({ taken: 9, inDelivery: 1, clockAheadMs: -5_000 });
});

test('it knows how many are live from its last answered beat, and tells when there are more or fewer', async () => {
  const { clock, nodes, session } = await begin();
  const heard: number[] = [];
  session.onLive(() => heard.push(session.live));
  expect([session.live, sendingNodes({ node: session }), sendingNodes({ node: null })]).toEqual([
    1, 1, 1,
  ]);
  nodes.live = 3;
  await clock.advance(3_000);
  expect(sendingNodes({ node: session })).toBe(3);
  nodes.isAway = true;
  nodes.live = 2;
  await clock.advance(3_000);
  expect(session.live).toBe(3);
  nodes.isAway = false;
  await clock.advance(3_000);
  expect([session.live, heard]).toEqual([2, [3, 2]]);
});
