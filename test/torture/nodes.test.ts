/**
 * Several nodes on one PostgreSQL database: one is killed, one is stopped where it is for longer than its lease, one loses
 * the way to the database (docs/reliability.md R101, R102), on the compiled binary.
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
/** Longer than a session's lease. */
const DOT_MS = 25_000;
const FROZEN = 'frozen.rig.test';

const subjectOf = ({ bytes }: ReceivedMessage): string =>
  /^Subject: (.*)\r$/m.exec(bytes.toString('latin1'))?.[1] ?? '';

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

/** The types of the email's events, as `node` shows them. */
async function eventsOf(node: BinaryAppliance, id: string): Promise<string[]> {
  const email = (await (await node.api('GET', `/emails/${id}`)).json()) as {
    events: { type: string }[];
  };
  return email.events.map(({ type }) => type);
}

describe('several nodes on one database', () => {
  let server: PostgresServer;
  let world: World;
  let holding: HoldingReceiver;
  let url = '';

  beforeAll(async () => {
    server = await PostgresServer.start();
    url = await server.freshDatabase();
    world = await startWorld({ store: url });
    holding = await startHoldingReceiver({
      host: HOLDING_HOST,
      port: world.receiver.port,
      isKeptBack: (helo) => helo === FROZEN || helo === 'cut.rig.test',
      dotMs: (to) => (to.startsWith('slow') ? DOT_MS : to.startsWith('soon') ? 4_000 : 0),
    });
    world.names.set('holding.test', 'MX', ['10 mx.holding.test']);
    world.names.set('mx.holding.test', 'A', [HOLDING_HOST]);
  }, 60_000);

  afterAll(async () => {
    await Promise.all([world.stop(), holding.stop()]);
    await server.stop();
  });

  test('one is killed under load and one frozen: the third sends what they had, and they come back', async () => {
    const [killed, frozen, third] = await Promise.all([
      world.join('killed'),
      world.join('frozen'),
      world.join('third'),
    ]);
    const slow = await send(third, 'slow@holding.test', 'slow');
    const stalled = await send(frozen, 'stalled@holding.test', 'stalled');
    const asked = await holding.atData.first(({ helo }) => helo === FROZEN);
    const acknowledged: string[] = [];
    const open = { sessions: 0 };
    await Promise.all(
      Array.from({ length: SENDS }, async (_, at) => {
        const node = [killed, frozen, third][at % 3] ?? third;
        const subject = `load ${at}`;
        // What the kill or the freeze leaves without an answer promises nothing.
        const isSent = await Promise.race([
          send(node, `r${at}@d${at % 20}.example.net`, subject).then(
            () => true,
            () => false,
          ),
          Bun.sleep(8_000).then(() => false),
        ]);
        if (isSent) acknowledged.push(subject);
        if (acknowledged.length !== SENDS / 3 || open.sessions > 0) return;
        open.sessions = world.receiver.openSessions() + 1;
        frozen.freeze();
        await killed.signal('SIGKILL');
      }),
    );
    const deadAt = performance.now();
    expect(acknowledged.length).toBeGreaterThanOrEqual(SENDS / 3);
    // In an attempt of the frozen node: the third one begins it anew.
    const again = await holding.taken.first(({ to }) => to.startsWith('stalled'), 65_000);
    expect(again.helo).not.toBe(FROZEN);
    expect(performance.now() - deadAt).toBeLessThan(60_000);
    const bySubject = (): Map<string, ReceivedMessage[]> =>
      Map.groupBy(world.receiver.messages.items, subjectOf);
    for (const subject of acknowledged)
      await world.receiver.messages.first((one) => subjectOf(one) === subject, 20_000);
    const events = await eventsOf(third, stalled);
    expect(events).toContain('email.delivered');

    asked.letGo();
    const beforeWaking = world.receiver.messages.items.length;
    frozen.goOn();
    expect(await frozen.ended()).toBe(1);
    const wokenAt = performance.now();
    await frozen.start();
    expect(performance.now() - wokenAt).toBeLessThan(10_000);
    expect(frozen.log.items.map(({ event }) => event)).toContain('session_ended');
    const late = world.receiver.messages.items.slice(beforeWaking);
    expect(late.filter(({ helo }) => helo === FROZEN)).toEqual([]);
    expect(holding.taken.items.filter(({ helo }) => helo === FROZEN)).toEqual([]);
    expect(await eventsOf(frozen, stalled)).toEqual(events);
    // It takes part again, and so does the killed one.
    await killed.start();
    for (const node of [frozen, killed]) await send(node, 'back@example.net', `back ${node.url}`);
    await world.receiver.messages.atLeast(2, (one) => subjectOf(one).startsWith('back'));

    const copies = [...bySubject().values()].map((all) => all.length);
    const duplicates = copies.reduce((sum, count) => sum + count - 1, 0);
    expect(duplicates).toBeLessThanOrEqual(open.sessions);
    for (const all of bySubject().values()) {
      const ids = all.map(({ bytes }) => /^Message-ID: (.*)\r$/im.exec(bytes.toString())?.[1]);
      expect(new Set(ids).size).toBe(1);
    }
    // The receiver replied after more than a lease: its node was alive, and nobody sent it again.
    expect(await eventsOf(third, slow)).toContain('email.delivered');
    expect(holding.taken.items.filter(({ to }) => to.startsWith('slow'))).toHaveLength(1);
    process.stdout.write(
      `${acknowledged.length} acknowledged, ${duplicates} repeated, ${open.sessions} sessions at the kill\n`,
    );
  }, 150_000);

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
    await cut.json(['queue', 'retry', '--domain', 'holding.test']);
    for (;;) {
      const next = holding.atData.items.at(-1);
      if (next !== asked) next?.letGo();
      if ((await eventsOf(cut, id)).includes('email.delivered')) break;
      await Bun.sleep(100);
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
    // Until load balancers have noticed it still accepts.
    expect((await fetch(`${node.url}/ready`)).status).toBe(503);
    const late = await send(node, 'late@example.net', 'late');
    expect((await drained).code).toBe(0);
    const refusal = await send(node, 'no@example.net', 'no').catch((error: unknown) =>
      String(error),
    );
    expect(refusal).toContain('platform_halted');
    for (const one of [id, late]) {
      while (!(await eventsOf(first, one)).includes('email.delivered')) await Bun.sleep(100);
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
