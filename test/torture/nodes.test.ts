/**
 * Several nodes on one PostgreSQL database: one is killed, one is stopped where it is for longer than its lease, one loses
 * the way to the database (docs/reliability.md R101, R102, R126), on the compiled binary. `NODES_LONG=1` for the long
 * form: the freeze lasts 90 s, the way is cut for 20 s and for 120 s, and a receiver replies after 40 s.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import type { BinaryAppliance } from '../rig/binary.ts';
import { DatabaseProxy } from '../rig/database-proxy.ts';
import { startHoldingReceiver } from '../rig/holding-receiver.ts';
import type { HoldingReceiver } from '../rig/holding-receiver.ts';
import { PostgresServer } from '../rig/postgres.ts';
import type { ReceivedMessage } from '../rig/receiver.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

/** A second address of this machine: the receiver that keeps its replies back. */
const HOLDING_HOST = '127.0.0.2';
const SENDS = 150;
const IS_LONG = process.env['NODES_LONG'] === '1';
/** Longer than a session's lease. */
const DOT_MS = IS_LONG ? 40_000 : 25_000;
/** At least; in the short form it ends when the third node has begun what the frozen one had. */
const FREEZE_MS = IS_LONG ? 90_000 : 0;
/** Of the way to the database, under load. */
const CUTS_S = IS_LONG ? [20, 120] : [5];
/** A session whose node was not heard of for so long is ended by the others. */
const ENDED_AFTER_S = 45;
/** Messages whose final dot has been said when the way is cut, and whose reply comes afterwards. */
const UNANSWERED = 4;
const FROZEN = 'frozen.rig.test';

const subjectOf = ({ bytes }: ReceivedMessage): string =>
  /^Subject: (.*)\r$/m.exec(bytes.toString('latin1'))?.[1] ?? '';

const messageIdOf = (text: string): string =>
  /^Message-ID: (.*)\r$/im.exec(text)?.[1] ?? 'no Message-ID';

async function send(node: BinaryAppliance, to: string, subject: string): Promise<string> {
  const sent = await node.api('POST', '/emails', {
    from: 'hello@example.org',
    to,
    subject,
    text: 'Hello.',
  });
  if (sent.status !== 200) throw new Error(`${sent.status}: ${await sent.text()}`);
  return ((await sent.json()) as { id: string }).id;
}

/** Whether it was answered with an id within 8 s. What a kill, a freeze or a cut leaves without an answer promises nothing. */
function isAnswered(node: BinaryAppliance, to: string, subject: string): Promise<boolean> {
  return Promise.race([
    send(node, to, subject).then(
      () => true,
      () => false,
    ),
    Bun.sleep(8_000).then(() => false),
  ]);
}

/** Sends 15 emails a second through the nodes in rotation until `isOver`; gives the subjects that were answered for. */
async function sendUntil(
  isOver: () => boolean,
  nodes: readonly BinaryAppliance[],
  word: string,
): Promise<string[]> {
  const acknowledged: string[] = [];
  const all: Promise<void>[] = [];
  for (let at = 0; !isOver(); at += 1) {
    const node = nodes[at % nodes.length];
    if (node === undefined) break;
    const subject = `${word} ${at}`;
    const sent = isAnswered(node, `${word}${at}@d${at % 20}.example.net`, subject);
    all.push(sent.then((isSent) => void (isSent && acknowledged.push(subject))));
    await Bun.sleep(66);
  }
  await Promise.all(all);
  return acknowledged;
}

/** The types of the email's events, as `node` shows them. */
async function eventsOf(node: BinaryAppliance, id: string): Promise<string[]> {
  // A key may read only so often: then there are none.
  const { events = [] } = (await (await node.api('GET', `/emails/${id}`)).json()) as {
    events?: { type: string }[];
  };
  return events.map(({ type }) => type);
}

/** The types of the email's events, once `node` shows that it was delivered: its outcome is recorded after its reply. */
async function eventsOnceDelivered(node: BinaryAppliance, id: string): Promise<string[]> {
  for (;;) {
    const events = await eventsOf(node, id);
    if (events.includes('email.delivered')) return events;
    await Bun.sleep(250);
  }
}

describe('several nodes on one database', () => {
  let server: PostgresServer;
  let world: World;
  let holding: HoldingReceiver;
  let url = '';
  /** What the reply to the final dot waits for at addresses that begin with `unanswered`. */
  let gate = Promise.withResolvers<undefined>();

  beforeAll(async () => {
    server = await PostgresServer.start();
    url = await server.freshDatabase();
    world = await startWorld({ store: url });
    holding = await startHoldingReceiver({
      host: HOLDING_HOST,
      port: world.receiver.port,
      isKeptBack: (helo, to) =>
        (helo === FROZEN && !to.startsWith('unanswered')) || helo === 'cut.rig.test',
      dotAfter: (to) => (to.startsWith('unanswered') ? gate.promise : null),
      dotMs: (to) => (to.startsWith('slow') ? DOT_MS : to.startsWith('soon') ? 4_000 : 0),
    });
    world.names.set('holding.test', 'MX', ['10 mx.holding.test']);
    world.names.set('mx.holding.test', 'A', [HOLDING_HOST]);
  }, 60_000);

  afterAll(async () => {
    await Promise.all([world.stop(), holding.stop()]);
    await server.stop();
  }, 60_000);

  /** How often more than once the messages of these subjects have arrived; each copy has the same Message-ID. */
  function duplicatesOf(isMeant: (subject: string) => boolean): number {
    const meant = world.receiver.messages.items.filter((one) => isMeant(subjectOf(one)));
    let duplicates = 0;
    for (const all of Map.groupBy(meant, subjectOf).values()) {
      expect(new Set(all.map(({ bytes }) => messageIdOf(bytes.toString()))).size).toBe(1);
      duplicates += all.length - 1;
    }
    return duplicates;
  }

  /** Resolves when all have arrived. */
  async function arrived(subjects: readonly string[]): Promise<void> {
    for (const subject of subjects)
      await world.receiver.messages.first((one) => subjectOf(one) === subject, 65_000);
  }

  test(
    'one is killed under load and one frozen: the third sends what they had, and they come back',
    async () => {
      const [killed, frozen, third] = await Promise.all([
        world.join('killed'),
        world.join('frozen'),
        world.join('third'),
      ]);
      const slow = await send(third, 'slow@holding.test', 'slow');
      const stalled = await send(frozen, 'stalled@holding.test', 'stalled');
      const asked = await holding.atData.first(({ helo }) => helo === FROZEN);
      gate = Promise.withResolvers();
      const unansweredTo = 'unanswered-frozen@holding.test';
      const unanswered = await send(frozen, unansweredTo, 'unanswered');
      await holding.taken.first(({ to }) => to === unansweredTo);
      const acknowledged: string[] = [];
      const open = { sessions: 0 };
      await Promise.all(
        Array.from({ length: SENDS }, async (_, at) => {
          const node = [killed, frozen, third][at % 3] ?? third;
          const subject = `load ${at}`;
          const isSent = await isAnswered(node, `r${at}@d${at % 20}.example.net`, subject);
          if (isSent) acknowledged.push(subject);
          if (acknowledged.length !== SENDS / 3 || open.sessions > 0) return;
          open.sessions = world.receiver.openSessions() + 1;
          frozen.freeze();
          // The reply to its dot waits for it while it is stopped.
          gate.resolve(undefined);
          await killed.signal('SIGKILL');
        }),
      );
      const deadAt = performance.now();
      expect(acknowledged.length).toBeGreaterThanOrEqual(SENDS / 3);
      // In an attempt of the frozen node: the third one begins it anew.
      const again = await holding.taken.first(({ to }) => to.startsWith('stalled'), 65_000);
      expect(again.helo).not.toBe(FROZEN);
      expect(performance.now() - deadAt).toBeLessThan(60_000);
      const untilMs = deadAt + FREEZE_MS;
      const meanwhile = await sendUntil(() => performance.now() >= untilMs, [third], 'during');
      await arrived([...acknowledged, ...meanwhile]);
      await holding.taken.atLeast(2, ({ to }) => to === unansweredTo, 65_000);
      const eventsOfIt = await eventsOnceDelivered(third, unanswered);
      const events = await eventsOnceDelivered(third, stalled);

      asked.letGo();
      const beforeWaking = world.receiver.messages.items.length;
      const takenBefore = holding.taken.items.length;
      const wokenAt = performance.now();
      frozen.goOn();
      expect(await frozen.ended()).toBe(1);
      const exitMs = performance.now() - wokenAt;
      await frozen.start();
      const backMs = performance.now() - wokenAt;
      expect(backMs).toBeLessThan(10_000);
      expect(frozen.log.items.map(({ event }) => event)).toContain('session_ended');
      const late = world.receiver.messages.items.slice(beforeWaking);
      expect(late.filter(({ helo }) => helo === FROZEN)).toEqual([]);
      const takenLate = holding.taken.items.slice(takenBefore);
      expect(takenLate.filter(({ helo }) => helo === FROZEN)).toEqual([]);
      expect(await eventsOf(frozen, stalled)).toEqual(events);
      // The receiver's reply came while it was stopped: its late end of that attempt changes nothing.
      expect(await eventsOf(frozen, unanswered)).toEqual(eventsOfIt);
      expect(eventsOfIt.filter((type) => type === 'email.delivered')).toHaveLength(1);
      const copies = holding.taken.items.filter(({ to }) => to === unansweredTo);
      expect(copies.map(({ helo }) => helo === FROZEN)).toEqual([true, false]);
      expect(new Set(copies.map(({ text }) => messageIdOf(text))).size).toBe(1);
      // It takes part again, and so does the killed one.
      await killed.start();
      for (const node of [frozen, killed]) await send(node, 'back@example.net', `back ${node.url}`);
      await world.receiver.messages.atLeast(2, (one) => subjectOf(one).startsWith('back'));

      const duplicates = duplicatesOf(() => true);
      expect(duplicates).toBeLessThanOrEqual(open.sessions);
      // The receiver replied after more than a lease: its node was alive, and nobody sent it again.
      await eventsOnceDelivered(third, slow);
      expect(holding.taken.items.filter(({ to }) => to.startsWith('slow'))).toHaveLength(1);
      process.stdout.write(
        `${acknowledged.length} and ${meanwhile.length} acknowledged, ${duplicates} repeated, ${open.sessions} sessions` +
          ` at the kill; ended ${Math.round(exitMs)} ms and back ${Math.round(backMs)} ms after waking\n`,
      );
    },
    150_000 + 2 * FREEZE_MS,
  );

  for (const seconds of CUTS_S) {
    const isEnded = seconds > ENDED_AFTER_S;
    const repeats = isEnded ? 'at most what was in its sessions' : 'nothing';
    test(
      `one whose way to the database is cut for ${seconds} s under load repeats ${repeats}`,
      async () => {
        const proxy = new DatabaseProxy(server.socket);
        const way = `postgres://postrider@${encodeURIComponent(proxy.directory)}${url.slice(url.lastIndexOf('/'))}`;
        const word = `cut${seconds}s`;
        const cut = await world.join(word, way);
        const helo = `${word}.rig.test`;
        gate = Promise.withResolvers();
        const isUnanswered = ({ to }: { to: string }): boolean =>
          to.startsWith(`unanswered-${word}`);
        const unanswered = await Promise.all(
          Array.from({ length: UNANSWERED }, (_, at) =>
            send(cut, `unanswered-${word}-${at}@holding.test`, 'unanswered'),
          ),
        );
        await holding.taken.atLeast(UNANSWERED, isUnanswered);
        const over = new AbortController();
        const load = sendUntil(() => over.signal.aborted, [cut, world.appliance], word);
        await world.receiver.messages.atLeast(40, (one) => one.helo === helo, 30_000);
        proxy.cut();
        const open = world.receiver.openSessions(helo) + UNANSWERED;
        gate.resolve(undefined);
        await Bun.sleep(seconds * 1_000);
        proxy.restore();
        const restoredAt = performance.now();
        if (isEnded) {
          expect(await cut.ended()).toBe(1);
          await cut.start();
        }
        over.abort();
        const acknowledged = await load;
        await send(cut, 'back@example.net', `${word} back`);
        await arrived([...acknowledged, `${word} back`]);
        const allMs = performance.now() - restoredAt;
        for (const id of unanswered) {
          const events = await eventsOnceDelivered(cut, id);
          const delivered = events.filter((type) => type === 'email.delivered');
          expect(delivered).toHaveLength(1);
        }
        const copies = Map.groupBy(holding.taken.items.filter(isUnanswered), ({ to }) => to);
        expect(copies.size).toBe(UNANSWERED);
        for (const all of copies.values())
          expect(new Set(all.map(({ text }) => messageIdOf(text))).size).toBe(1);
        const duplicates =
          holding.taken.items.filter(isUnanswered).length -
          UNANSWERED +
          duplicatesOf((subject) => subject.startsWith(word));
        process.stdout.write(
          `${acknowledged.length} acknowledged, ${duplicates} repeated, ${open} sessions at the cut, all there` +
            ` ${Math.round(allMs)} ms after it\n`,
        );
        expect(duplicates).toBeLessThanOrEqual(isEnded ? open : 0);
        const isEndedByOthers = cut.log.items.some(({ event }) => event === 'session_ended');
        expect(isEndedByOthers).toBe(isEnded);
        proxy.stop();
      },
      (seconds + 180) * 1_000,
    );
  }

  test('one that loses the way to the database for 18 s hands nothing over meanwhile, and goes on', async () => {
    const proxy = new DatabaseProxy(server.socket);
    const way = `postgres://postrider@${encodeURIComponent(proxy.directory)}${url.slice(url.lastIndexOf('/'))}`;
    const cut = await world.join('cut', way);
    const id = await send(cut, 'far@holding.test', 'far');
    const asked = await holding.atData.first(({ helo }) => helo === 'cut.rig.test');
    proxy.cut();
    await cut.log.first(({ event }) => event === 'lease_over', 30_000);
    asked.letGo();
    // It hangs up; what it writes about that waits for the database.
    await cut.log.first(({ event }) => event === 'queue_paused', 30_000);
    expect(holding.taken.items.filter(({ to }) => to.startsWith('far'))).toEqual([]);
    proxy.restore();
    await cut.log.first(({ event }) => event === 'lease_regained', 30_000);
    for (;;) {
      // What is still in an attempt, whose end is not recorded yet, is not tried again by that.
      await cut.run(['queue', 'retry', '--domain', 'holding.test']);
      const next = holding.atData.items.at(-1);
      if (next !== asked) next?.letGo();
      if ((await eventsOf(cut, id)).includes('email.delivered')) break;
      await Bun.sleep(500);
    }
    expect(holding.taken.items.filter(({ to }) => to.startsWith('far'))).toHaveLength(1);
    expect(cut.log.items.map(({ event }) => event)).not.toContain('session_ended');
    proxy.stop();
  }, 120_000);

  test('one that is drained ends what is under way, takes nothing more, and takes part again when it starts anew', async () => {
    const first = world.appliance;
    const node = await world.join('drained');
    const statesOf = async (): Promise<[unknown, unknown][]> => {
      const all = (await first.json(['node', 'list'])) as unknown as Record<string, unknown>[];
      return all.map(({ name, state }) => [name, state]);
    };
    expect(await statesOf()).toContainEqual(['drained', 'live']);
    const id = await send(node, 'soon@holding.test', 'soon');
    await holding.taken.first(({ to }) => to.startsWith('soon'));
    const drained = first.run(['node', 'drain', 'drained']);
    await node.log.first(({ event }) => event === 'node_draining');
    // Until load balancers have noticed, which it gives three seconds, it still accepts.
    const [late, ready] = await Promise.all([
      send(node, 'late@example.net', 'late'),
      fetch(`${node.url}/ready`),
    ]);
    expect(ready.status).toBe(503);
    expect((await drained).code).toBe(0);
    const refusal = await send(node, 'no@example.net', 'no').catch((error: unknown) =>
      String(error),
    );
    expect(refusal).toContain('platform_halted');
    for (const one of [id, late]) {
      await eventsOnceDelivered(first, one);
    }
    expect(holding.taken.items.filter(({ to }) => to.startsWith('soon'))).toHaveLength(1);
    expect((await statesOf()).map(([name]) => name)).not.toContain('drained');
    expect(await node.signal('SIGTERM')).toBe(0);
    await node.start();
    expect(await statesOf()).toContainEqual(['drained', 'live']);
    await send(node, 'again@example.net', 'again');
    await world.receiver.messages.first((one) => subjectOf(one) === 'again');
  }, 90_000);
});
