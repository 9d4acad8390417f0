/**
 * A walk over the dashboard of a busy server at midnight: full lists, operators of every role, the frame around pages.
 *
 *   bun test/dashboard/busy-walk.ts
 *
 * writes the files of busy/ anew, one for each part of it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { TestClock } from '../rig/clock.ts';
import { furnish } from './busy-furniture.ts';
import { STEPS } from './busy-steps.ts';
import { startDashboardRig } from './dashboard-rig.ts';
import { Walk } from './walk-transcript.ts';

export const FOLDER = join(import.meta.dir, 'busy');

const TOML = `[api]
single_send = "full"
[dns]
servers = ["127.0.0.1:9"]
[[plans]]
id = "small"
included_emails = 100
overage_sen_per_thousand = 400
daily_limit = 10
max_domains = 3
log_retention_days = 7
rate_per_second = 1000
storage_bytes = "2 MB"
`;
/** The first moment of a day: a day that is a little too long is another one. */
const NOW = Date.parse('2026-11-21T00:00:00.000Z');

/** The blocks of each part, in the order of the steps. */
export async function busyWalk(): Promise<Map<string, string[]>> {
  const clock = new TestClock(NOW);
  const dashboard = await startDashboardRig({ clock, config: TOML });
  try {
    const { named, cookies } = await furnish(dashboard, NOW);
    named.set('rich', await rich(dashboard));
    return await new Walk(dashboard, named, cookies).takeAll(STEPS);
  } finally {
    await dashboard.stop();
  }
}

/** An email with two attachments, that was captured. */
async function rich(dashboard: Awaited<ReturnType<typeof startDashboardRig>>): Promise<string> {
  const content = (text: string): string => Buffer.from(text).toString('base64');
  const id = await dashboard.send({
    from: 'Shop <hello@sender.example>',
    to: 'ann@receiver.example',
    subject: 'Two files',
    html: '<p>See <img src="cid:logo"> it</p>',
    text: 'See it',
    attachments: [
      { filename: 'a "b" ü.txt', content: content('file') },
      { filename: 'logo.png', content: content('picture'), content_id: 'logo' },
    ],
  });
  await dashboard.rig.log.atLeast(1, ({ event }) => event === 'attempt');
  return id;
}

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [part, blocks] of await busyWalk()) {
    writeFileSync(join(FOLDER, `${part}.txt`), blocks.join('\n'));
  }
}
