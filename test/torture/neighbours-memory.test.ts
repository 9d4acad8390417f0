/**
 * Large emails of one account to receivers that stop reading, on the compiled binary: they take all the memory that one
 * account may have, and large mail of another account goes out all the same (docs/reliability.md R133).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

import { bulkKey, FAST_PLAN } from '../rig/bulk-account.ts';
import { Arrivals } from '../rig/arrivals.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const SITES = 6;
const EMAILS = 30;
const EMAIL_BYTES = 4_000_000;
/** So many of them in use leave an account no space for one of `OTHER_BYTES`, which is counted three times. */
const STUCK = 20;
const OTHER_BYTES = 8_000_000;

describeWith(['openssl'], 'receivers that take DATA and read no more', () => {
  let world: World;
  let key: string;
  const servers: Server[] = [];
  const open = new Set<Socket>();
  /** One for each session that waits in its body. */
  const stuck = new Arrivals<true>('sessions that wait in their body');

  /** Answers each command, and reads nothing after DATA. */
  function serve(socket: Socket): void {
    let lines = '';
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => open.delete(socket));
    socket.write('220 stuck.test\r\n');
    socket.on('data', (data) => {
      lines += data.toString('latin1');
      const commands = lines.split('\r\n');
      lines = commands.pop() ?? '';
      for (const command of commands) {
        const isData = command === 'DATA';
        socket.write(isData ? '354 go on\r\n' : '250 ok\r\n');
        if (!isData) continue;
        socket.pause();
        stuck.push(true);
      }
    });
  }

  beforeAll(async () => {
    world = await startWorld({ config: FAST_PLAN });
    key = await bulkKey(world);
    for (let number = 0; number < SITES; number += 1) {
      const host = `127.0.47.${number + 1}`;
      const server = createServer(serve);
      servers.push(server);
      await new Promise<void>((resolve) => {
        server.listen(world.receiver.port, host, resolve);
      });
      world.names.set(`d${number}.stuck.test`, 'MX', [`10 mx${number}.stuck.test`]);
      world.names.set(`mx${number}.stuck.test`, 'A', [host]);
    }
  }, 60_000);
  afterAll(async () => {
    for (const socket of open) socket.destroy();
    for (const server of servers) server.close();
    await world.stop();
  });

  async function send(from: string, to: string, bytes: number, token?: string): Promise<void> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const email = { from, to, subject: 's', text: 'text '.repeat(bytes / 5) };
    expect((await world.appliance.api('POST', '/emails', email, headers)).status).toBe(200);
  }

  test('large mail of another account is delivered while they are waited for', async () => {
    for (let number = 0; number < EMAILS; number += 1) {
      await send('a@bulk.test', `x@d${number % SITES}.stuck.test`, EMAIL_BYTES, key);
    }
    await stuck.atLeast(STUCK, undefined, 60_000);
    await send('hello@example.org', 'ann@example.net', OTHER_BYTES);
    await world.receiver.messages.first(({ to }) => to[0] === 'ann@example.net', 60_000);
    // None of them has ended meanwhile.
    expect(open.size).toBeGreaterThanOrEqual(STUCK);
  }, 180_000);
});
