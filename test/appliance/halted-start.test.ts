/** A halt outlives a restart: what waited is read, and not attempted before the operator resumes. */
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAppliance } from '../../src/appliance/appliance.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import { accepted, newMessage } from '../store/samples.ts';

test('mail that waits at the start of a halted appliance is begun by the resume', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-halted-'));
  const text = `hostname = "mail.rig.test"\ndata_dir = "${folder}"\n[http]\nlisten = "127.0.0.1:0"\n[delivery]\nmode = "capture"\n`;
  const log = createLog(() => undefined, Date.now);
  const start = () => startAppliance(parseConfig(text, 'rig'), { clock: systemClock, log });

  const first = await start();
  await first.ctx.halt.halt('Moving.');
  const account = await createAccount(first.ctx, { name: 'default' });
  const { recipients } = await accepted(first.ctx.store, newMessage(account.id));
  await first.stop();

  const second = await start();
  const { ctx, queue } = second;
  const read = async () => {
    const row = await ctx.store.recipientById(recipients[0]?.id ?? '');
    return [row?.status, row?.attempts];
  };
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  while (queue.counts().inLines === 0) await tick();
  // In its line, with its site found: nothing but the halt is in its way.
  for (let round = 0; round < 200; round += 1) {
    await tick();
    expect(queue.counts()).toEqual({ inLines: 1, inFlight: 0 });
  }
  expect(await read()).toEqual(['queued', 0]);
  await ctx.halt.resume();
  queue.setResting(false);
  // The message has no domain to be signed with: its attempt ends at once.
  while ((await read())[0] === 'queued') await tick();
  expect(await read()).toEqual(['failed', 1]);
  await second.stop();
  rmSync(folder, { recursive: true });
});
