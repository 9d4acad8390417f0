/** What a session says: every log line whole, and what whoever asks is told with a session and without one. */
import { expect, test } from 'bun:test';

import { createLog } from '../../src/base/log.ts';
import {
  isCurrent,
  longestLookMs,
  NodeSession,
  sendingNodes,
} from '../../src/flow/node-session.ts';
import { TestClock } from '../rig/clock.ts';
import { FakeNodes } from '../rig/fake-nodes.ts';

async function begin() {
  const [clock, nodes] = [new TestClock(), new FakeNodes()];
  const lines: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    () => clock.now(),
  );
  const begun: unknown[] = [];
  nodes.begin = async (...args: unknown[]) => void begun.push(...args);
  const asked = { id: 's', name: 'n', directory: 'd', addresses: ['192.0.2.1'], version: '1' };
  const heard = { ended: 0, freed: 0 };
  const session = await NodeSession.begin(asked, {
    nodes,
    clock,
    log,
    ended: () => (heard.ended += 1),
  });
  session.onFreed(() => (heard.freed += 1));
  return { clock, nodes, session, lines, heard, begun, asked };
}

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 15, 12) + seconds * 1_000).toISOString();

test('a session begins with what it is asked to be, current, and neither leaving nor draining', async () => {
  const { session, begun, asked, lines } = await begin();
  expect(begun).toEqual([asked]);
  expect([session.id, session.name, session.isCurrent, session.isDraining, session.live]).toEqual([
    's',
    'n',
    true,
    false,
    1,
  ]);
  expect([session.notReady, lines]).toEqual([null, []]);
});

test('a session that the store does not begin is none, and beats for nobody', async () => {
  const nodes = new FakeNodes();
  nodes.begin = () => Promise.reject(new Error('the name is taken'));
  const session = { id: 's', name: 'n', directory: 'd', addresses: [], version: '1' };
  const log = createLog(
    () => undefined,
    () => 0,
  );
  const clock = new TestClock();
  const begun = NodeSession.begin(session, { nodes, clock, log, ended: () => undefined });
  expect(await begun.catch(String)).toBe('Error: the name is taken');
  expect([nodes.beats, clock.pending()]).toEqual([0, []]);
});

test('without a session all is its own, and nobody else makes work; with one it depends', async () => {
  const { session, nodes, clock } = await begin();
  const alone = { node: null };
  const shared = { node: session };
  expect([isCurrent(alone), sendingNodes(alone), longestLookMs(alone)]).toEqual([
    true,
    1,
    undefined,
  ]);
  expect([isCurrent(shared), sendingNodes(shared), longestLookMs(shared)]).toEqual([
    true,
    1,
    1_000,
  ]);
  nodes.isAway = true;
  await clock.advance(12_000);
  expect(isCurrent(shared)).toBe(false);
});

test('a beat that failed comes again every half second, and a good one in three', async () => {
  const { clock, nodes } = await begin();
  nodes.isAway = true;
  await clock.advance(3_000);
  expect(nodes.beats).toBe(2);
  await clock.advance(1_000);
  expect(nodes.beats).toBe(4);
  nodes.isAway = false;
  await clock.advance(500);
  expect(nodes.beats).toBe(5);
  await clock.advance(2_999);
  expect(nodes.beats).toBe(5);
  await clock.advance(1);
  expect(nodes.beats).toBe(6);
});

test('a lease that is over, and one that is regained, is said once each time', async () => {
  const { clock, nodes, lines } = await begin();
  const over = {
    level: 'warn',
    event: 'lease_over',
    session: 's',
    hint: 'The database did not answer for 12 seconds: no mail leaves until it does. Look at its server and the network to it.',
  };
  const regained = { level: 'info', event: 'lease_regained', session: 's' };
  for (const [overS, regainedS] of [
    [12, 20.5],
    [32.5, 43.5],
  ] as const) {
    nodes.isAway = true;
    await clock.advance(20_000);
    expect(lines.splice(0)).toEqual([{ time: at(overS), ...over }]);
    nodes.isAway = false;
    await clock.advance(3_000);
    expect(lines.splice(0)).toEqual([{ time: at(regainedS), ...regained }]);
  }
});

test('a session that others have ended says so, and takes no part any more', async () => {
  const { clock, nodes, lines, heard, session } = await begin();
  nodes.isLive = false;
  nodes.endings = 'x';
  nodes.live = 4;
  await clock.advance(3_000);
  expect(lines).toEqual([
    {
      time: at(3),
      level: 'error',
      event: 'session_ended',
      session: 's',
      hint: 'This server could not reach the database for so long that others have taken its mail over. It ends, and starts anew with a new session.',
    },
  ]);
  expect([heard, session.live, clock.pending()]).toEqual([{ ended: 1, freed: 0 }, 1, []]);
});

test('lost servers are named to the operator, and each failure to end them', async () => {
  const { clock, nodes, lines } = await begin();
  const answers = [['a', 'b'], new Error('fault'), []];
  nodes.endLost = async () => {
    const answer = answers.shift() ?? [];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  await clock.advance(36_000);
  expect(lines.map(({ error, ...line }) => [line, (error as Error | undefined)?.message])).toEqual([
    [
      {
        time: at(30),
        level: 'warn',
        event: 'nodes_lost',
        sessions: ['a', 'b'],
        hint: 'These servers have not been heard of for 45 seconds. What they had taken is free, and is sent by the others.',
      },
      undefined,
    ],
    [
      {
        time: at(33),
        level: 'error',
        event: 'nodes_lost_failed',
        hint: 'It is tried again in 3 seconds. Until then the mail of lost servers waits. Please report it.',
      },
      'fault',
    ],
  ]);
  expect(answers).toEqual([]);
});

test('a second look for lost sessions waits for the first', async () => {
  const { clock, nodes } = await begin();
  let looks = 0;
  let end: (lost: string[]) => void = () => undefined;
  nodes.endLost = () => {
    looks += 1;
    return new Promise((resolve) => (end = resolve));
  };
  await clock.advance(45_000);
  expect(looks).toBe(1);
  end([]);
  await clock.advance(3_000);
  expect(looks).toBe(2);
});

test('an end waits for what is under way, and one the database does not hear of says who frees its mail', async () => {
  const { clock, nodes, session, lines } = await begin();
  let end: (lost: string[]) => void = () => undefined;
  nodes.endLost = () => new Promise((resolve) => (end = resolve));
  await clock.advance(30_000);
  let isOver = false;
  const ending = session.end().then(() => (isOver = true));
  await clock.advance(0);
  expect([isOver, nodes.isEnded, clock.pending()]).toEqual([false, false, []]);
  nodes.isAway = true;
  end([]);
  await ending;
  expect(lines.map(({ error, ...line }) => [line, (error as Error).message])).toEqual([
    [
      {
        time: at(30),
        level: 'warn',
        event: 'session_not_ended',
        hint: 'The database could not be reached. Another node, or the next start, frees what this one had taken.',
      },
      'away',
    ],
  ]);
});

test('a drain is said with the session it ends, once however often it is asked for', async () => {
  const { clock, nodes, session, lines } = await begin();
  nodes.isDrainAsked = true;
  let drains = 0;
  session.onDrain(() => (drains += 1));
  await clock.advance(12_000);
  const line = { time: at(3), level: 'info', event: 'node_draining', session: 's' };
  expect([lines, drains]).toEqual([[line], 1]);
});

test('what a beat finds while the session is ended by its own server is told to nobody', async () => {
  for (const [isAway, said] of [
    [false, []],
    [true, ['session_not_ended']],
  ] as const) {
    const { clock, nodes, session, lines, heard } = await begin();
    let answer = (): void => undefined;
    nodes.answered = new Promise((resolve) => (answer = resolve));
    nodes.isLive = false;
    // Sent at 3 s, and the lease is over at 12.
    await clock.advance(13_000);
    const ending = session.end();
    nodes.isAway = isAway;
    answer();
    await ending;
    expect([lines.map(({ event }) => event), heard.ended]).toEqual([[...said], 0]);
  }
});

test('a wall clock that is set forth while a beat is under way shortens what its answer allows', async () => {
  const { clock, nodes, session } = await begin();
  let answer = (): void => undefined;
  nodes.answered = new Promise((resolve) => (answer = resolve));
  await clock.advance(3_000);
  clock.jump(5_000);
  answer();
  await clock.advance(0);
  nodes.isAway = true;
  await clock.advance(6_999);
  expect(session.isCurrent).toBe(true);
  await clock.advance(1);
  expect(session.isCurrent).toBe(false);
});

test('a server that is leaving already is not drained as well', async () => {
  const { clock, nodes, session, lines } = await begin();
  let drains = 0;
  session.onDrain(() => (drains += 1));
  await clock.advance(1_000);
  const leaving = session.leave();
  await nodes.askToDrain('n');
  await clock.advance(30_000);
  await leaving;
  expect([drains, session.isDraining, session.notReady, lines]).toEqual([0, false, 'leaving', []]);
});

test('before any answer a beat tells nothing: by how much the clock differs is not known yet', async () => {
  const clock = new TestClock();
  const nodes = new FakeNodes();
  nodes.isAway = true;
  const log = createLog(
    () => undefined,
    () => clock.now(),
  );
  const asked = { id: 's', name: 'n', directory: 'd', addresses: [], version: '1' };
  const session = await NodeSession.begin(asked, { nodes, clock, log, ended: () => undefined });
  expect([session.isCurrent, session.notReady]).toEqual([false, 'database_away']);
  session.onBeat(() => ({ taken: 1, inDelivery: 0 }));
  const reports: unknown[] = [];
  const beat = nodes.beat.bind(nodes);
  nodes.beat = (report) => {
    reports.push(report);
    return beat(report);
  };
  await clock.advance(500);
  nodes.isAway = false;
  await clock.advance(500);
  expect(reports).toEqual([null, null]);
  await clock.advance(3_000);
  expect(reports).toEqual([null, null, expect.objectContaining({ taken: 1, inDelivery: 0 })]);
});
