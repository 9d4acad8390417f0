/** Capture mode: mail for every domain ends in the receiver inside the appliance. */
import { afterEach, expect, test } from 'bun:test';

import { Capture } from '../../../src/flow/upkeep/capture.ts';
import { TestClock } from '../../rig/clock.ts';
import { startQueueRig } from '../queue/queue-rig.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

test('keeps mail for any domain, signed, and asks no name server', async () => {
  const capture = new Capture(new TestClock());
  const captureAt = await capture.start();
  ended.push(() => capture.stop());
  const rig = await startQueueRig({ delivery: { mode: 'capture' }, queue: { captureAt } });
  ended.push(() => rig.stop());
  const message = await rig.send(['ann@anywhere.example', 'bob@elsewhere.example']);
  const settled = await rig.attempted(message.id, 2);
  expect(settled.map(({ recipient }) => recipient.status)).toEqual(['delivered', 'delivered']);
  const captured = capture.captured();
  expect(captured.map((c) => c.recipient).sort()).toEqual([
    'ann@anywhere.example',
    'bob@elsewhere.example',
  ]);
  for (const { raw, returnPath } of captured) {
    expect(raw.toString().startsWith('DKIM-Signature: ')).toBe(true);
    expect(returnPath.endsWith('@send.sender.example')).toBe(true);
  }
  expect(rig.names.queries).toEqual([]);
});

test('newest first, and only so many', async () => {
  const capture = new Capture(new TestClock());
  const captureAt = await capture.start();
  ended.push(() => capture.stop());
  const rig = await startQueueRig({ delivery: { mode: 'capture' }, queue: { captureAt } });
  ended.push(() => rig.stop());
  const to = Array.from({ length: 50 }, (_, index) => `r${index}@many.example`);
  for (let batch = 1; batch <= 5; batch += 1) {
    const message = await rig.send(to);
    await rig.attempted(message.id, to.length);
  }
  const numbers = capture.captured().map((c) => c.number);
  expect(numbers).toHaveLength(200);
  expect(numbers[0]).toBe(250);
  expect(numbers.at(-1)).toBe(51);
}, 20_000);
