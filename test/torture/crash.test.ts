/**
 * kill -9 at 50 random points under some 200 sends a second (docs/reliability.md R1 and R2), and at half as many while
 * emails come alone, whose outcomes wait for the next write (docs/decisions.md D502), on the compiled binary.
 *
 * Three sets are compared at the end: what was acknowledged, what the receiver took, what the store says happened.
 * Long run: POSTRIDER_CRASHES=2000.
 */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';

import { seeded } from '../mail/random.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const CRASHES = Number(process.env['POSTRIDER_CRASHES'] ?? 50);
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
/** A batch counts once for the send rate: 40 requests a second are 200 sends. */
const LOADS = [
  { of: 'batches of five', batch: 5, kills: CRASHES },
  { of: 'emails that come alone', batch: 1, kills: Math.ceil(CRASHES / 2) },
] as const;
const REQUEST_EVERY_MS = 25;
const LONGEST_LIFE_MS = 1_200;

interface Sent {
  subject: string;
  id: string;
}

describeWith(['openssl'], `kill -9 at random points (SEED=${SEED})`, () => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld();
    const made = await world.appliance.api('POST', '/webhooks', { endpoint: world.hook.url });
    expect(made.status).toBe(201);
  });
  afterEach(() => world.stop());

  test.each(LOADS)(
    'nothing acknowledged is lost, nothing else is repeated than the open sessions: $of, $kills kills',
    async ({ batch, kills }) => {
      const random = seeded(SEED);
      const acknowledged: Sent[] = [];
      let sessionsAtKills = 0;
      let number = 0;
      for (let round = 0; round < kills; round += 1) {
        let isAlive = true;
        const load = (async () => {
          const running: Promise<void>[] = [];
          // oxlint-disable-next-line no-unmodified-loop-condition -- the kill below sets it
          while (isAlive) {
            const subjects = Array.from({ length: batch }, () => `crash ${(number += 1)}`);
            running.push(send(world, subjects, acknowledged));
            await Bun.sleep(REQUEST_EVERY_MS);
          }
          await Promise.all(running);
        })();
        await Bun.sleep(random.int(LONGEST_LIFE_MS));
        sessionsAtKills += world.receiver.openSessions();
        await world.appliance.signal('SIGKILL');
        isAlive = false;
        await load;
        await world.appliance.start();
      }

      await drained(world);
      const taken = new Map<string, string[]>();
      for (const message of world.receiver.messages.items) {
        const text = message.bytes.toString('latin1');
        const subject = /^Subject: (.*)\r$/m.exec(text)?.[1] ?? '';
        const messageId = /^Message-ID: (.*)\r$/im.exec(text)?.[1] ?? '';
        taken.set(subject, [...(taken.get(subject) ?? []), messageId]);
      }
      expect(acknowledged.length).toBeGreaterThan(kills);

      const lost = acknowledged.filter(({ subject }) => !taken.has(subject));
      expect(lost).toEqual([]);
      const changed = [...taken.values()].filter((ids) => new Set(ids).size > 1);
      expect(changed).toEqual([]);
      const duplicates = [...taken.values()].reduce((sum, ids) => sum + ids.length - 1, 0);
      expect(duplicates).toBeLessThanOrEqual(sessionsAtKills);

      await world.appliance.signal('SIGTERM');
      checkStore(world, acknowledged);
      checkCalls(world, kills);
      process.stdout.write(
        `${acknowledged.length} acknowledged, ${duplicates} repeated, ${sessionsAtKills} sessions at the kills\n`,
      );
    },
    CRASHES * 12_000,
  );
});

/** Sends one batch; its ids count as acknowledged only when the whole answer has come. */
async function send(world: World, subjects: string[], acknowledged: Sent[]): Promise<void> {
  try {
    const answer = await world.appliance.api(
      'POST',
      '/emails/batch',
      subjects.map((subject, index) => ({
        from: 'crash@example.org',
        to: `r${index}@d${index}.example.net`,
        subject,
        text: 'x'.repeat(2_000),
      })),
    );
    if (answer.status !== 200) return;
    const { data } = (await answer.json()) as { data: { id: string }[] };
    for (const [index, { id }] of data.entries()) {
      acknowledged.push({ subject: subjects[index] ?? '', id });
    }
  } catch {
    // The kill took the connection: nothing was promised.
  }
}

/** Makes every waiting recipient due until nothing waits. */
async function drained({ appliance }: World): Promise<void> {
  for (;;) {
    const { destinations } = (await appliance.json(['queue', 'list'])) as {
      destinations: unknown[];
    };
    if (destinations.length === 0) return;
    await appliance.json(['queue', 'retry']);
    await Bun.sleep(100);
  }
}

/** Every acknowledged message is delivered, with each of its events once. */
function checkStore({ appliance }: World, acknowledged: readonly Sent[]): void {
  const db = new Database(join(appliance.made.data_dir, 'mail.db'), { readonly: true });
  const status = db.prepare<{ status: string }, [string]>(
    'SELECT status FROM messages WHERE id = ?',
  );
  const events = db.prepare<{ type: string }, [string]>(
    'SELECT type FROM events WHERE message_id = ? ORDER BY id',
  );
  const wrong = acknowledged.filter(({ id }) => {
    const types = events.all(id).map(({ type }) => type);
    const isWhole = ['email.queued', 'email.sent', 'email.delivered'].every(
      (type) => types.filter((one) => one === type).length === 1,
    );
    return status.get(id)?.status !== 'delivered' || !isWhole;
  });
  const check = db.prepare<{ integrity_check: string }, []>('PRAGMA integrity_check').get();
  db.close();
  expect(wrong).toEqual([]);
  expect(check?.integrity_check).toBe('ok');
}

/** A webhook id never stands for two events, and no event has two ids. */
function checkCalls({ hook }: World, kills: number): void {
  const bodies = new Map<string, string>();
  const ids = new Map<string, string>();
  for (const { headers, body } of hook.calls.items) {
    const id = String(headers['webhook-id']);
    expect(bodies.get(id) ?? body).toBe(body);
    bodies.set(id, body);
    const { type, data } = JSON.parse(body) as {
      type: string;
      data: { email_id: string; recipient: string };
    };
    const event = `${type} ${data.email_id} ${data.recipient}`;
    expect(ids.get(event) ?? id).toBe(id);
    ids.set(event, id);
  }
  expect(bodies.size).toBeGreaterThan(kills);
}
