/**
 * The compiled binary while its wall clock is set back and forth, as libfaketime does to it: running, and between two of
 * its processes. The time that passes is not faked.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { faketimeLibrary } from '../rig/faketime.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const DAY_MS = 86_400_000;

describeWith(['openssl', 'libfaketime'], 'a wall clock that is set', () => {
  const offsetFile = join(tmpdir(), `postrider-clock-steps-${process.pid}`);
  let world: World;
  let waitsFor = '';
  let firstAnswer = '';

  const send = (to: string, key: string): Promise<Response> =>
    world.appliance.api(
      'POST',
      '/emails',
      { from: `news@${world.domain}`, to, subject: 'Hello', text: 'Hello.' },
      { 'idempotency-key': key },
    );
  const repeated = async (): Promise<string> => (await send('ann@example.net', 'again')).text();

  /** When the deferred message is tried again, from the time that the process shows now: milliseconds. */
  const waitsMs = async (days: number): Promise<number> => {
    const shown = (await world.appliance.json(['queue', 'show', waitsFor])) as {
      recipients: { next_attempt_at: string }[];
    };
    const next = Date.parse(shown.recipients[0]?.next_attempt_at ?? '');
    return next - (Date.now() + days * DAY_MS);
  };

  beforeAll(async () => {
    writeFileSync(offsetFile, '+0');
    world = await startWorld({
      env: {
        LD_PRELOAD: faketimeLibrary(),
        FAKETIME_TIMESTAMP_FILE: offsetFile,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    });
    firstAnswer = await repeated();
    await world.receiver.messages.first(({ to }) => to.includes('ann@example.net'));
    world.receiver.script.rcpt = () => '451 4.7.1 greylisted, come back';
    const answer = (await (await send('bob@example.net', 'bob')).json()) as { id: string };
    waitsFor = answer.id;
    await world.appliance.log.first(
      ({ event, status }) => event === 'attempt' && status === 'delivery_delayed',
    );
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    rmSync(offsetFile, { force: true });
  });

  test.each([1, -1, 365, -365])(
    'by %p days, running, restarted and killed: nothing is sent again, and what waits does not wait longer',
    async (days) => {
      writeFileSync(offsetFile, `${days < 0 ? '' : '+'}${days}d`);
      const check = async (): Promise<void> => {
        const leftMs = await waitsMs(days);
        // A minute; on a slow machine it may be the second or the third wait of the schedule. A step would show as a day.
        expect(leftMs).toBeLessThan(30 * 60_000);
        expect(await repeated()).toBe(firstAnswer);
      };
      await check();
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        await world.appliance.signal(signal);
        await world.appliance.start();
        await check();
      }
      const toAnn = world.receiver.messages.items.filter(({ to }) =>
        to.includes('ann@example.net'),
      );
      expect(toAnn).toHaveLength(1);
    },
    60_000,
  );
});
