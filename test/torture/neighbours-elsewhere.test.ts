/**
 * One account with very much mail for very many destinations, on the compiled binary: another account's mail for a
 * destination of its own starts as soon as without it. Its hosts are slow or its names do not answer, so that it would
 * take every slot there is. Another length: POSTRIDER_NEIGHBOUR_MESSAGES.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

import { acceptAll, bulkKey, FAST_PLAN } from '../rig/bulk-account.ts';
import { readEmail, sendTo } from '../rig/journey.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const MESSAGES = Number(process.env['POSTRIDER_NEIGHBOUR_MESSAGES'] ?? 6_000);
const DOMAINS = MESSAGES / 2;
/** How much later than alone, by docs/reliability.md R92. */
const LATER_MS = 2_000;
const SAMPLES = 5;
/** Just below the second after which an attempt is slow and lets another begin beside it. */
const SILENT_MS = 900;
const SLOW_HOST = '127.0.0.2';

interface TimedEvent {
  type: string;
  occurred_at: string;
}

describeWith(['openssl'], `${MESSAGES} messages of one account for ${DOMAINS} destinations`, () => {
  let world: World;
  let key: string;
  let slow: Server;
  const open = new Set<Socket>();
  let taken = 0;

  beforeAll(async () => {
    world = await startWorld({ config: FAST_PLAN });
    key = await bulkKey(world);
    slow = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => open.delete(socket));
      setTimeout(() => socket.write('220 slow.test\r\n'), SILENT_MS);
      socket.on('data', (data) => {
        const line = data.toString('latin1');
        if (line.includes('\r\n.\r\n')) taken += 1;
        socket.write(line.startsWith('DATA') ? '354 go on\r\n' : '250 ok\r\n');
      });
    });
    await new Promise<void>((resolve) => {
      slow.listen(world.receiver.port, SLOW_HOST, resolve);
    });
    for (let number = 0; number < DOMAINS; number += 1) {
      const host = `mx${number}.slow.test`;
      world.names.set(`d${number}.slow.test`, 'MX', [`10 ${host}`], 3_600);
      world.names.set(host, 'A', [SLOW_HOST], 3_600);
      world.names.fail(`d${number}.silent.test`, 'timeout');
    }
  }, 60_000);
  afterAll(async () => {
    await world.stop();
    for (const socket of open) socket.destroy();
    slow.close();
  });

  /** Milliseconds from acceptance to the beginning of the first attempt, once its outcome is recorded. */
  async function startedAfter(id: string): Promise<number> {
    for (;;) {
      const { events = [] } = (await readEmail(world, id)) as unknown as { events?: TimedEvent[] };
      const at = (type: string): number =>
        Date.parse(events.find((event) => event.type === type)?.occurred_at ?? '');
      if (!Number.isNaN(at('email.sent'))) return at('email.sent') - at('email.queued');
      // Reads are limited.
      await Bun.sleep(200);
    }
  }

  /** Of some, each to a new domain: the shortest, since without fairness each waits, and a busy machine delays some. */
  async function shortest(name: string): Promise<number> {
    const times: number[] = [];
    for (let number = 0; number < SAMPLES; number += 1) {
      const id = await sendTo(world, `x@${name}${number}.example.net`);
      await world.receiver.messages.first(
        ({ to }) => to[0] === `x@${name}${number}.example.net`,
        60_000,
      );
      times.push(await startedAfter(id));
    }
    process.stdout.write(`${name}: ${times.join(', ')} ms\n`);
    return Math.min(...times);
  }

  test.each(['slow', 'silent'])(
    'whose hosts or names are %s delay the mail of another by 2 s at most',
    async (kind) => {
      const alone = await shortest(`alone-${kind}`);
      await acceptAll(world, key, {
        count: MESSAGES,
        domain: (number) => `d${number % DOMAINS}.${kind}.test`,
      });
      const behind = await shortest(`behind-${kind}`);
      process.stdout.write(
        `${kind}: alone ${Math.round(alone)} ms, behind ${MESSAGES} of another ${Math.round(behind)} ms (${taken} taken, ${open.size} open)\n`,
      );
      expect(behind - alone).toBeLessThanOrEqual(LATER_MS);
    },
    180_000,
  );
});
