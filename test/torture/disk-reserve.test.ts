/**
 * A disk without a byte left (docs/reliability.md R5): the compiled binary on a small tmpfs that another program fills.
 *
 * Outcomes of what was begun are recorded in the reserve, so that a kill -9 repeats nothing; the server starts, answers
 * and stops; and the reserve is whole again by itself once there is space.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, statSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describeWith } from '../rig/programs.ts';
import { makeSmallDisk } from '../rig/small-disk.ts';
import type { SmallDisk } from '../rig/small-disk.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const MIB = 1024 * 1024;
const DISK_BYTES = 64 * MIB;
/** Half of what is kept free on a small disk. */
const RESERVE_BYTES = Math.floor(DISK_BYTES * 0.025);

describeWith(['openssl', 'mount', 'small disk'], 'a disk without a byte left', () => {
  let disk: SmallDisk;
  let world: World;
  beforeEach(async () => {
    disk = makeSmallDisk(DISK_BYTES);
    world = await startWorld({ folder: disk.path });
  });
  afterEach(async () => {
    await world.stop();
    disk.unmount();
  });

  const reserve = (): string => join(world.appliance.made.data_dir, 'disk.reserve');
  const send = (subject: string): Promise<Response> =>
    world.appliance.api('POST', '/emails', {
      from: 'full@example.org',
      to: 'a@example.net',
      subject,
      text: 'x',
    });
  /** Over the control socket: requests would write their logs. */
  const waiting = async (): Promise<{ attempts: number }[]> =>
    ((await world.appliance.json(['queue', 'list'])) as { recipients: { attempts: number }[] })
      .recipients;
  const copiesOf = (subject: string): number =>
    world.receiver.messages.items.filter(({ bytes }) => bytes.includes(`Subject: ${subject}\r`))
      .length;
  const whole = (): Promise<void> =>
    until(() => existsSync(reserve()) && statSync(reserve()).size === RESERVE_BYTES);

  /** Another program takes every byte, and each that the server frees while it does so. */
  const takeAll = (): void => {
    const page = Buffer.alloc(4096);
    do {
      try {
        for (;;) writeFileSync(join(disk.path, 'filler'), page, { flag: 'a' });
      } catch (error) {
        expect(error).toMatchObject({ code: 'ENOSPC' });
      }
    } while (statfsSync(disk.path).bavail > 0);
  };

  test('the last byte goes between the 250 and the record of it: recorded, and a kill -9 repeats none', async () => {
    const { appliance, receiver } = world;
    const subjects = Array.from({ length: 40 }, (_, n) => `later ${n}`);
    receiver.script.rcpt = () => '450 4.2.0 later';
    for (const subject of subjects) expect((await send(subject)).status).toBe(200);
    await until(async () => (await waiting()).filter(({ attempts }) => attempts > 0).length === 40);
    receiver.script.rcpt = () => null;
    // The receiver has the message, and the sender does not know it yet.
    receiver.script.dot = () => {
      takeAll();
      return null;
    };
    // Refused from the moment on that nothing but outcomes is written.
    await appliance.run(['queue', 'retry']);
    await receiver.messages.first(() => true);
    await until(
      async () =>
        world.receiver.openSessions() === 0 &&
        (await waiting()).length === subjects.length - receiver.messages.items.length,
    );
    const sizeBefore = statSync(reserve()).size;
    process.stdout.write(
      `${receiver.messages.items.length} taken, ${RESERVE_BYTES - sizeBefore} bytes given up\n`,
    );
    expect(sizeBefore).toBeLessThan(RESERVE_BYTES);

    await appliance.signal('SIGKILL');
    takeAll();
    await appliance.start();
    expect((await waiting()).length).toBe(subjects.length - receiver.messages.items.length);
    receiver.script.dot = () => null;
    disk.clear();
    await whole();
    await appliance.json(['queue', 'retry']);
    await until(async () => (await waiting()).length === 0);
    expect(subjects.map(copiesOf)).toEqual(subjects.map(() => 1));
  }, 120_000);

  test('it starts, answers, refuses sends and stops; once there is space all of it works again', async () => {
    const { appliance } = world;
    await whole();
    const kept = statSync(reserve());
    expect({ mode: kept.mode & 0o777, isAllocated: kept.blocks * 512 >= kept.size }).toEqual({
      mode: 0o600,
      isAllocated: true,
    });
    const backup = join(disk.path, 'one.backup');
    await appliance.json(['backup', backup]);
    expect(statSync(backup).size).toBeLessThan(RESERVE_BYTES);

    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
      takeAll();
      expect(await appliance.signal(signal)).toBe(signal === 'SIGTERM' ? 0 : null);
      takeAll();
      await appliance.start();
      const refused = await send('refused');
      expect(refused.status).toBe(503);
      expect(await refused.json()).toMatchObject({ code: 'platform_halted' });
      expect((await appliance.api('GET', '/emails')).status).toBe(200);
      expect((await appliance.api('GET', '/domains')).status).toBe(200);
      expect((await fetch(`${appliance.url}/ready`)).status).toBe(503);
      expect((await fetch(`${appliance.url}/health`)).status).toBe(200);
    }
    // The kill switch is a setting, and works here too.
    takeAll();
    await appliance.json(['halt', '--reason', 'full']);
    await appliance.json(['resume']);
    const said = appliance.log.items.map(({ event }) => event);
    expect(said).toContain('disk_reserve_used');
    expect(said).not.toContain('store_failed');

    disk.clear();
    await whole();
    await until(async () => (await send('back')).status === 200);
    await world.receiver.messages.first(({ bytes }) => bytes.includes('Subject: back\r'));
  }, 120_000);
});

/** Asks again until it is so; what is asked says nothing by itself. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await Bun.sleep(100)) {
    if (await isSo()) return;
  }
  throw new Error(`waited in vain for ${isSo.toString()}`);
}
