/**
 * Two nodes behind HAProxy and behind Caddy, as packaging/cluster configures them, while the nodes are replaced one after
 * the other under load: no request fails, and everything that was accepted arrives.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { freePorts } from '../rig/ports.ts';
import { PostgresServer } from '../rig/postgres.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const CLUSTER = join(import.meta.dir, '../../packaging/cluster');
const NAME = 'mail.example.com';
const PACKAGED = ['10.0.0.11:8025', '10.0.0.12:8025', '10.0.0.13:8025'];

interface Balancer {
  /** The packaged config for these nodes and this port; writes more files into `folder`. */
  config(nodes: readonly string[], port: number, folder: string): string;
  command(file: string): string[];
}

const BALANCERS: Record<'caddy' | 'haproxy', Balancer> = {
  caddy: {
    config(nodes, port) {
      const { certFile, keyFile } = testAuthority().issue([NAME]);
      return `{\n\tadmin off\n\tauto_https off\n}\n${readFileSync(join(CLUSTER, 'Caddyfile'), 'utf8')}`
        .replace(PACKAGED.join(' '), nodes.join(' '))
        .replace(/^mail\.example\.com \{$/m, `${NAME}:${port} {\n\ttls ${certFile} ${keyFile}`);
    },
    command: (file) => ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
  haproxy: {
    config(nodes, port, folder) {
      const { certFile, keyFile } = testAuthority().issue([NAME]);
      const both = join(folder, 'both.pem');
      writeFileSync(both, readFileSync(certFile, 'utf8') + readFileSync(keyFile, 'utf8'));
      return readFileSync(join(CLUSTER, 'haproxy.cfg'), 'utf8')
        .replace(/bind :443 ssl crt \S+/, `bind 127.0.0.1:${port} ssl crt ${both}`)
        .replace(/server node1 \S+/, `server node1 ${nodes[0] ?? ''}`)
        .replace(/server node2 \S+/, `server node2 ${nodes[1] ?? ''}`)
        .replace(/^\tserver node3 .*$/m, '');
    },
    command: (file) => ['/usr/sbin/haproxy', '-db', '-f', file],
  },
};

/**
 * Senders that go on until they are told to stop; everything that was not a 2xx is kept, with the end of each of `logs`,
 * files that say why.
 */
function startLoad(port: number, key: string, prefix: string, logs: readonly string[]) {
  const accepted: string[] = [];
  const failed: string[] = [];
  const state = { isOver: false };
  let count = 0;
  const sender = async (): Promise<void> => {
    // One failure says all: a balancer that refuses at once would be asked thousands of times.
    while (!state.isOver && failed.length === 0) {
      count += 1;
      const to = `${prefix}${count}@example.net`;
      const answer = await fetch(`https://127.0.0.1:${port}/emails`, {
        method: 'POST',
        headers: { host: NAME, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ from: 'hello@example.org', to, subject: 'Under way', text: 'x' }),
        tls: { ca: testAuthority().cert, serverName: NAME },
      }).catch((error: unknown) => String(error));
      if (typeof answer === 'string') failed.push(answer);
      else if (answer.status === 200) accepted.push(to);
      else {
        const tails = logs.map((log) => readFileSync(log, 'utf8').slice(-4_000));
        failed.push(`${answer.status} ${await answer.text()}`, ...tails);
      }
      // Together below the 100 a second of an account.
      await Bun.sleep(60);
    }
  };
  const senders = Array.from({ length: 4 }, sender);
  return {
    accepted,
    /** Resolves when so many more have been accepted; throws with the first answer that was none. */
    async more(count: number): Promise<void> {
      const enough = accepted.length + count;
      await until(() => accepted.length >= enough || failed.length > 0);
      expect(failed).toEqual([]);
    },
    async stop(): Promise<string[]> {
      state.isOver = true;
      await Promise.all(senders);
      return failed;
    },
  };
}

describe.each(['haproxy', 'caddy'] as const)('nodes behind', (program) => {
  describeWith(['openssl', 'postgresql', program], program, () => {
    const folder = mkdtempSync(join(tmpdir(), `cluster-${program}-`));
    let server: PostgresServer;
    let world: World;
    let second: BinaryAppliance;
    let balancer: Bun.Subprocess;
    let port = 0;

    beforeAll(async () => {
      server = await PostgresServer.start();
      const [one = 0, two = 0, free = 0] = await freePorts(3);
      port = free;
      const nodes = [one, two].map((at) => `127.0.0.1:${at}`);
      world = await startWorld({ store: await server.freshDatabase(), listen: nodes[0] ?? '' });
      second = await world.join('second', undefined, nodes[1]);
      const file = join(folder, 'config');
      writeFileSync(file, BALANCERS[program].config(nodes, port, folder));
      balancer = Bun.spawn(BALANCERS[program].command(file), {
        env: { HOME: folder, PATH: process.env['PATH'] ?? '' },
        stdout: Bun.file(join(folder, 'log')),
        stderr: Bun.file(join(folder, 'errors')),
      });
    }, 60_000);

    afterAll(async () => {
      balancer.kill('SIGKILL');
      await balancer.exited;
      await world.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test('each node is stopped and started under load: no request fails, everything arrives', async () => {
      await untilItServes(port, balancer);
      const load = startLoad(
        port,
        world.appliance.made.key,
        program,
        ['log', 'errors'].map((name) => join(folder, name)),
      );
      for (const node of [world.appliance, second, world.appliance]) {
        await load.more(50);
        expect(await node.signal('SIGTERM')).toBe(0);
        await load.more(50);
        await node.start();
      }
      expect(await load.stop()).toEqual([]);
      for (const address of load.accepted) {
        await world.receiver.messages.first(({ to }) => to.includes(address), 60_000);
      }
    }, 120_000);
  });
});

async function untilItServes(port: number, balancer: Bun.Subprocess): Promise<void> {
  await until(async () => {
    if (balancer.exitCode !== null) throw new Error(`it ended with ${balancer.exitCode}`);
    const answer = await fetch(`https://127.0.0.1:${port}/ready`, {
      headers: { host: NAME },
      tls: { ca: testAuthority().cert, serverName: NAME },
    }).catch(() => null);
    return answer?.status === 200;
  });
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await Bun.sleep(20);
}
