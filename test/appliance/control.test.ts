/** A command asks the running server over its socket: by whom, on its own queue and context, and with a long answer in pieces. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';

import { askServer } from '../../src/control/client.ts';
import { addSuppression } from '../../src/flow/suppressions/suppressions.ts';
import { startRigAppliance } from '../rig/appliance.ts';
import type { RigAppliance } from '../rig/appliance.ts';

let rig: RigAppliance;
beforeAll(async () => {
  rig = await startRigAppliance();
});
afterAll(() => rig.stop());

/** The result of an operation that ann runs, and the pieces that came before it. */
async function ask(operation: string, args: object): Promise<unknown[]> {
  const pieces: string[] = [];
  const sink = {
    progress: (text: string) => void pieces.push(text),
    chunk: async (text: string) => void pieces.push(text),
  };
  const answer = await askServer(rig.dataDir, { operation, args, by: 'ann' }, sink);
  return [answer?.value, ...pieces];
}

test('a halt stops the queue of the server, and the audit log names who made it', async () => {
  const { ctx, queue } = rig.appliance;
  const rests = spyOn(queue, 'setResting');
  const [halted] = await ask('halt', { reason: 'Moving.' });
  expect(halted).toMatchObject({ halted: true, reason: 'Moving.' });
  expect([ctx.halt.state?.reason, rests.mock.calls]).toEqual(['Moving.', [[true]]]);
  expect(await ask('resume', {})).toEqual([{ halted: false, was_halted: true }]);
  expect(rests.mock.calls).toEqual([[true], [false]]);
  const entries = await ctx.store.audit({ limit: 10, before: null, who: null });
  expect(entries.map(({ via, who, action }) => [via, who, action])).toEqual([
    ['command', 'ann', 'resume'],
    ['command', 'ann', 'halt'],
  ]);
});

test('a reload is that of the server', async () => {
  expect(await ask('reload', {})).toEqual([{ needs_restart: [], new_certificate: false }]);
  expect(rig.log.items.filter(({ event }) => event === 'reloaded')).toHaveLength(1);
});

test('a long answer comes in pieces, and what was asked is in the log of the server', async () => {
  await addSuppression(rig.appliance.ctx, rig.account, { email: 'ann@receiver.example' });
  const [value, ...pieces] = await ask('suppression.export', { account: rig.account });
  expect(value).toBeNull();
  expect(pieces.join('')).toStartWith(
    'email,reason,source,note,created_at\r\nann@receiver.example,manual,,,',
  );
});
