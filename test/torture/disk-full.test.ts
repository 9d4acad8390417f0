/**
 * A disk that fills up under the compiled binary (docs/reliability.md R5): a small tmpfs of its own.
 *
 * Sends are refused before the disk is full, reads and the queue go on, every outcome is recorded in the reserve, a
 * kill -9 repeats none of them, and service is back by itself within five seconds of space.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, statSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const SIZES_MIB = [48, 64];
const MIB = 1024 * 1024;
const BACK_WITHIN_MS = 5_000;

for (const sizeMib of SIZES_MIB) {
  describeWith(['openssl', 'mount', 'small disk'], `a disk of ${sizeMib} MiB that fills up`, () => {
    let mountPoint: string;
    let world: World;
    beforeAll(async () => {
      mountPoint = mkdtempSync(join(tmpdir(), 'disk-'));
      const mounted = Bun.spawnSync([
        'mount',
        '-t',
        'tmpfs',
        `-osize=${sizeMib}m,mode=700`,
        'tmpfs',
        mountPoint,
      ]);
      if (mounted.exitCode !== 0) throw new Error(mounted.stderr.toString());
      world = await startWorld({ folder: mountPoint });
    });
    afterAll(async () => {
      await world.stop();
      Bun.spawnSync(['umount', mountPoint]);
      rmSync(mountPoint, { recursive: true, force: true });
    });

    const send = (subject: string, text = 'x'): Promise<Response> =>
      world.appliance.api('POST', '/emails', {
        from: 'full@example.org',
        to: 'a@example.net',
        subject,
        text,
      });

    /** Resolves when the outcome is recorded, which nothing else tells. */
    const delivered = async (id: string): Promise<void> => {
      for (const until = Date.now() + 10_000; Date.now() < until; await Bun.sleep(50)) {
        const email = await world.appliance.api('GET', `/emails/${id}`);
        if (((await email.json()) as { status: string }).status === 'delivered') return;
      }
      throw new Error(`${id} was not delivered within 10 s`);
    };

    /** Sends until an email is taken; one that is sent later than it may be must be. */
    const takenAgain = async (subject: string, freedAt: number): Promise<void> => {
      for (;;) {
        const waitedMs = performance.now() - freedAt;
        const { status } = await send(subject);
        if (status === 200) return;
        expect(waitedMs).toBeLessThan(BACK_WITHIN_MS);
        await Bun.sleep(100);
      }
    };

    /** Leaves `bytes` free. */
    const fill = (bytes: number): void => {
      const filler = join(mountPoint, 'filler');
      writeFileSync(filler, '');
      const { bavail, bsize } = statfsSync(mountPoint);
      try {
        writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
      } catch (error) {
        // The appliance writes meanwhile: full is full.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    };
    const free = (): void => truncateSync(join(mountPoint, 'filler'), 0);

    test('sends answer 503 platform_halted, reads work, the queue drains, and all is well again in 5 s', async () => {
      world.receiver.script.rcpt = () => '450 4.2.0 later';
      const waiting = (await (await send('waits')).json()) as { id: string };
      await world.appliance.log.first(({ event }) => event === 'ready');
      // With the half that a file holds 1 MiB is less than 5 % of 48 MiB, and enough for the queue's own commits.
      fill(1024 * 1024);
      await world.appliance.log.first(({ event }) => event === 'disk_low');

      const refused = await send('refused');
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await refused.json()).toMatchObject({
        code: 'platform_halted',
        name: 'application_error',
      });
      expect((await fetch(`${world.appliance.url}/ready`)).status).toBe(503);
      expect((await world.appliance.api('GET', `/emails/${waiting.id}`)).status).toBe(200);
      expect((await world.appliance.api('GET', '/emails')).status).toBe(200);

      world.receiver.script.rcpt = () => null;
      const hasCome = (): boolean =>
        world.receiver.messages.items.some(({ bytes }) => bytes.includes('Subject: waits'));
      await until(async () => {
        // What is still in an attempt is not tried again by that.
        await world.appliance.run(['queue', 'retry']);
        return hasCome();
      });

      const freedAt = performance.now();
      free();
      await takenAgain('back', freedAt);
      await world.receiver.messages.first(({ bytes }) => bytes.includes('Subject: back'));
    });

    test('a burst between two looks at the disk stops before the reserve, and all outcomes are recorded', async () => {
      const freeBytes = (): number => {
        const { bavail, bsize } = statfsSync(mountPoint);
        const kept = statSync(join(world.appliance.made.data_dir, 'disk.reserve')).size;
        return bavail * bsize + kept;
      };
      fill(12 * MIB);
      // The watch looks every 2 s and says nothing where nothing changes.
      await Bun.sleep(2_500);
      const text = `${'x'.repeat(76)}\r\n`.repeat(MIB / 78);
      const burst = Array.from({ length: 40 }, (_, n) => send(`burst ${n}`, text));
      const answers = await Promise.all(burst);
      expect(freeBytes()).toBeGreaterThan(sizeMib * MIB * 0.05);
      const taken = answers.flatMap(({ status }, n) => (status === 200 ? [`burst ${n}`] : []));
      process.stdout.write(`${taken.length} of 40 taken, ${freeBytes() / MIB} MiB free\n`);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
      for (const subject of taken) {
        await world.receiver.messages.first(({ bytes }) => bytes.includes(`Subject: ${subject}\r`));
      }
      for (const answer of answers) {
        if (answer.status !== 200) continue;
        const { id } = (await answer.json()) as { id: string };
        await delivered(id);
      }
      free();
      await Bun.sleep(2_500);
    }, 60_000);

    test('completely full: nothing acknowledged is lost, the process lives, and it goes on by itself', async () => {
      fill(0);
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send(`over ${n}`)));
      const taken = answers
        .map(({ status }, n) => (status === 200 ? `over ${n}` : null))
        .filter((subject) => subject !== null);
      for (const { status } of answers) expect([200, 503]).toContain(status);
      expect((await world.appliance.api('GET', '/emails')).status).toBe(200);
      free();
      for (const subject of taken) {
        await world.receiver.messages.first(({ bytes }) => bytes.includes(`Subject: ${subject}\r`));
      }
      await takenAgain('alive', performance.now());
      await world.receiver.messages.first(({ bytes }) => bytes.includes('Subject: alive'));
    });

    test('on the reserve every outcome is recorded, and a kill -9 on the full disk repeats none', async () => {
      const { appliance, receiver } = world;
      const ids = new Map<string, string>();
      const note = async (subject: string): Promise<void> => {
        const answer = await send(subject);
        expect(answer.status).toBe(200);
        ids.set(subject, ((await answer.json()) as { id: string }).id);
      };
      receiver.script.rcpt = () => '450 4.2.0 later';
      for (let n = 0; n < 20; n += 1) await note(`later ${n}`);
      // Asked over the control socket: requests would write their logs to the disk that is full.
      const waiting = async (): Promise<{ attempts: number }[]> =>
        ((await appliance.json(['queue', 'list'])) as { recipients: { attempts: number }[] })
          .recipients;
      await until(
        async () => (await waiting()).filter(({ attempts }) => attempts > 0).length === ids.size,
      );
      // What the test before had given up is made again within two seconds; without it only outcomes are written.
      const reserve = join(appliance.made.data_dir, 'disk.reserve');
      await until(async () => statSync(reserve).size >= Math.floor(sizeMib * MIB * 0.025));
      // A little less than what is kept free, half of which a file holds: sends are refused, and the queue goes on.
      // Awaited in the log, since sends that are still taken would use up what the queue needs.
      const lows = (): number =>
        appliance.log.items.filter(({ event }) => event === 'disk_low').length;
      const before = lows();
      fill(sizeMib * MIB * 0.025 - 64 * 1024);
      await until(async () => lows() > before);
      expect((await send('refused')).status).toBe(503);
      receiver.script.rcpt = () => null;
      await until(async () => {
        await appliance.run(['queue', 'retry']);
        return (await waiting()).length === 0;
      });

      fill(0);
      await appliance.signal('SIGKILL');
      await appliance.start();
      expect(await waiting()).toEqual([]);
      expect((await send('still full')).status).toBe(503);
      free();
      for (const id of ids.values()) await delivered(id);
      await until(async () => (await appliance.run(['queue', 'retry'])).code === 0);
      await until(async () => (await send('after')).status === 200);
      await receiver.messages.first(({ bytes }) => bytes.includes('Subject: after\r'));
      for (const subject of ids.keys()) {
        const copies = receiver.messages.items.filter(({ bytes }) =>
          bytes.includes(`Subject: ${subject}\r`),
        );
        expect([subject, copies.length]).toEqual([subject, 1]);
      }
    }, 120_000);
  });
}

/** Asks again until it is so; what is asked says nothing by itself. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await Bun.sleep(100)) {
    if (await isSo()) return;
  }
  throw new Error(`waited in vain for ${isSo.toString()}`);
}
