/**
 * Power losses at 25 random moments under load (docs/reliability.md R4), on the compiled binary.
 *
 * strace records every write and sync of the data directory; from them disks are made as a cache without power may
 * leave them: synced writes are there, of every later one any sectors. On each disk the database must be whole and every
 * email must be there whose id had been answered. Some are started, and all of their mail goes out. The control makes
 * the same disks as if no sync had happened: there the same check must find losses.
 *
 * Long run: POSTRIDER_POWER_LOSSES=500.
 */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { seeded } from '../mail/random.ts';
import { FAST_PLAN, bulkKey } from '../rig/bulk-account.ts';
import { apply, atPowerLoss, tear, traceDisk } from '../rig/disk-trace.ts';
import type { Change } from '../rig/disk-trace.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const IMAGES = Number(process.env['POSTRIDER_POWER_LOSSES'] ?? 25);
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const SENDERS = 6;
const SENDS = Math.max(120, 2 * IMAGES);
/** Of so many disks one is started. */
const STARTED = 8;
/** Every fourth email fills 25 pages of the log, so that checkpoints happen while disks are taken. */
const LONG_TEXT = 100_000;

interface Acknowledged {
  id: string;
  /** Seconds since the epoch when the client had the whole answer. */
  at: number;
}

describeWith(['openssl', 'strace'], `${IMAGES} power losses (SEED=${SEED})`, () => {
  let world: World;
  let image: string;
  let base: string;
  let changes: Change[];
  const acknowledged: Acknowledged[] = [];

  beforeAll(async () => {
    world = await startWorld({ config: FAST_PLAN });
    const key = await bulkKey(world);
    const { appliance } = world;
    [image, base] = [join(appliance.folder, 'image'), join(appliance.folder, 'base')];
    await send(world, key, []);
    const log = join(appliance.folder, 'trace');
    const tracer = await traceDisk(appliance.pid, appliance.made.data_dir, log);
    copy(appliance.made.data_dir, base);
    const senders = Array.from({ length: SENDERS }, async () => {
      while (acknowledged.length < SENDS) await send(world, key, acknowledged);
    });
    await Promise.all(senders);
    changes = await tracer.stop();
    await appliance.signal('SIGKILL');
  }, 600_000);
  afterAll(() => world.stop());

  /** Makes the disk of a power loss at `at`. */
  function makeImage(at: number, random: ReturnType<typeof seeded>, hasSyncs = true): void {
    copy(base, image);
    const { durable, volatile } = atPowerLoss(changes, at, hasSyncs);
    apply(image, durable);
    apply(image, tear(volatile, random));
  }

  /** A random moment between the first answer and the end. */
  function moment(random: ReturnType<typeof seeded>): number {
    const [first, last] = [acknowledged[0]?.at ?? 0, changes.at(-1)?.endedAt ?? 0];
    return first + ((last - first) * random.int(1_000_000)) / 1_000_000;
  }

  function known(at: number): string[] {
    return acknowledged.filter((one) => one.at <= at).map(({ id }) => id);
  }

  test(
    'the database is whole and nothing acknowledged is missing; mail goes out from it',
    async () => {
      const random = seeded(SEED);
      let looked = 0;
      for (let number = 0; number < IMAGES; number += 1) {
        const at = moment(random);
        makeImage(at, random);
        if (number % STARTED === 0) {
          copy(image, world.appliance.made.data_dir);
          await startAndDrain(world);
          looked += expectDelivered(world, known(at));
        }
        expect({ number, ...look(image, known(at)) }).toEqual({ number, state: 'ok', missing: 0 });
        looked += known(at).length;
      }
      process.stdout.write(
        `${IMAGES} disks of ${changes.length} writes and syncs (${checkpointed(changes)} by checkpoints), ${looked} emails looked for\n`,
      );
      expect(looked).toBeGreaterThan(IMAGES);
      expect(checkpointed(changes)).toBeGreaterThan(0);
    },
    IMAGES * 12_000,
  );

  test(
    'control: without its syncs the same check finds losses',
    () => {
      const random = seeded(SEED);
      let lossy = 0;
      for (let number = 0; number < IMAGES; number += 1) {
        const at = moment(random);
        makeImage(at, random, false);
        const { state, missing } = look(image, known(at));
        if (state !== 'ok' || missing > 0) lossy += 1;
      }
      process.stdout.write(`control: ${lossy} of ${IMAGES} disks had lost something\n`);
      expect(lossy).toBeGreaterThan(IMAGES / 2);
    },
    IMAGES * 12_000,
  );
});

/** A copy of a data directory; the memory that processes share is no part of a disk. */
function copy(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { mode: 0o700 });
  cpSync(from, to, { recursive: true, filter: (path) => !/-shm$|\.sock$/.test(path) });
}

async function send(world: World, key: string, acknowledged: Acknowledged[]): Promise<void> {
  const email = {
    from: 'power@bulk.test',
    to: `r@d${acknowledged.length % 20}.example.net`,
    subject: 'power',
    text: 'x'.repeat(acknowledged.length % 4 === 0 ? LONG_TEXT : 500),
  };
  const headers = { authorization: `Bearer ${key}` };
  const answer = await world.appliance.api('POST', '/emails', email, headers);
  expect(answer.status).toBe(200);
  const { id } = (await answer.json()) as { id: string };
  acknowledged.push({ id, at: (performance.timeOrigin + performance.now()) / 1000 });
}

/** Whether a disk's database is whole, and how many of `ids` it lacks. */
function look(folder: string, ids: readonly string[]): { state: string; missing: number } {
  try {
    const db = new Database(join(folder, 'mail.db'));
    try {
      const check = db.prepare<{ integrity_check: string }, []>('PRAGMA integrity_check').get();
      const find = db.prepare<unknown, [string]>(
        `SELECT 1 FROM messages JOIN recipients ON recipients.message_id = messages.id
          WHERE messages.id = ?`,
      );
      const missing = ids.filter((id) => find.get(id) === null).length;
      return { state: check?.integrity_check ?? 'nothing', missing };
    } finally {
      db.close();
    }
  } catch (error) {
    return { state: String(error), missing: ids.length };
  }
}

async function startAndDrain({ appliance }: World): Promise<void> {
  expect(existsSync(join(appliance.made.data_dir, 'secret.key'))).toBe(true);
  await appliance.start();
  for (;;) {
    const { destinations } = (await appliance.json(['queue', 'list'])) as {
      destinations: unknown[];
    };
    if (destinations.length === 0) break;
    await appliance.json(['queue', 'retry']);
    await Bun.sleep(50);
  }
  expect(await appliance.signal('SIGTERM')).toBe(0);
}

/** Every email of `ids` has been delivered from the disk that was started; gives how many there were. */
function expectDelivered({ appliance }: World, ids: readonly string[]): number {
  const db = new Database(join(appliance.made.data_dir, 'mail.db'), { readonly: true });
  const status = db.prepare<{ status: string }, [string]>(
    'SELECT status FROM messages WHERE id = ?',
  );
  const open = ids.filter((id) => status.get(id)?.status !== 'delivered');
  db.close();
  expect(open).toEqual([]);
  return ids.length;
}

/** Writes of the database's own file: what checkpoints moved there. */
function checkpointed(changes: readonly Change[]): number {
  return changes.filter(({ kind, file }) => kind === 'write' && file === 'mail.db').length;
}
