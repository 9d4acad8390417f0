/** With `bodies = "0"`: two minutes after the end of its mail no byte of content is in any file, nor in a backup. */
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { createKey } from '../../src/flow/accounts/keys.ts';
import { TestClock } from '../rig/clock.ts';
import { startDashboardRig } from '../dashboard/dashboard-rig.ts';

const MARKER = 'Kx9marker';
const HIDDEN = Buffer.from(MARKER.repeat(20)).toString('base64');

function filesWith(dir: string, ...texts: string[]): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readFileSync(file);
      return texts.some((text) => bytes.includes(text));
    });
}

test('content of every input is gone from the raw files', async () => {
  const clock = new TestClock(Date.now());
  const rig = await startDashboardRig({ clock, config: '[retention]\nbodies = "0"' });
  const { ctx } = rig.rig.appliance;
  const { dataDir } = rig.rig;
  const sandbox = await createKey(ctx, rig.rig.account, {
    name: 'sandbox',
    permission: 'full_access',
    isTest: true,
  });
  const send = async (
    path: string,
    body: unknown,
    key = rig.rig.key,
    extra = {},
  ): Promise<number> =>
    (
      await fetch(rig.rig.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...extra },
        body: JSON.stringify(body),
      })
    ).status;
  const mail = (bytes: number): Record<string, unknown> => ({
    from: 'a@sender.example',
    to: ['b@recipient.example'],
    subject: 'Hello',
    html: `<p>${MARKER} ${'x'.repeat(bytes)}</p>`,
    text: `${MARKER} ${'y'.repeat(bytes)}`,
  });
  const full = {
    ...mail(2_000),
    headers: { 'X-Note': MARKER, 'X-Tags': `["${MARKER}"]` },
    attachments: [{ filename: `${MARKER}.txt`, content: HIDDEN }],
  };
  const statuses = [
    await send('/emails', mail(10)),
    await send('/emails', mail(60_000)),
    await send('/email/send', { ...mail(10), to: 'b@recipient.example' }),
    await send('/emails/batch', [full, full], rig.rig.key, { 'idempotency-key': 'one' }),
    await send('/emails/batch', [full], sandbox.token),
    await send('/emails/batch', [{ ...full, from: 'a@other.example' }]),
    await send('/emails', { ...mail(10), nonsense: 1 }),
    await send('/emails', { ...mail(10), to: ['bounced@sandbox.test'] }),
  ];
  expect(statuses).toEqual([200, 200, 202, 200, 200, 403, 422, 200]);
  expect(filesWith(dataDir, MARKER).length).toBeGreaterThan(0);
  await waitUntil(async () => (await ctx.store.queueCounts(null, 9)).largest.length === 0);
  for (let minute = 0; minute < 2; minute += 1) await clock.advance(60_000);
  // The checkpoint follows the report of its commit.
  await waitUntil(async () => {
    await ctx.store.setSetting('x', null);
    return filesWith(dataDir, MARKER, HIDDEN.slice(0, 30)).length === 0;
  });
  const backup = join(dataDir, '..', 'one.backup');
  await ctx.store.backUpTo(backup);
  expect(readFileSync(backup).includes(MARKER)).toBe(false);
  rmSync(backup);
  await rig.stop();
}, 60_000);

/** Asks again after each tick; the test's own time limit ends it. */
async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
}
