/**
 * A walk over every page and form of the dashboard on a clock that stands still, and its transcript: status, headers and
 * text of each response as they are, but for ids and secrets, which are numbered, and what the machine is like.
 *
 *   bun test/dashboard/walk.ts
 *
 * writes the files of walk/ anew, one for each part of it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { TestClock } from '../rig/clock.ts';
import { startNames } from '../rig/names.ts';
import { startDashboardRig } from './dashboard-rig.ts';
import { furnish } from './walk-furniture.ts';
import { STEPS } from './walk-steps.ts';
import { Walk } from './walk-transcript.ts';

export const FOLDER = join(import.meta.dir, 'walk');

const TOML = '[api]\nsingle_send = "full"\n';
/** The blocks of each part, in the order of the steps. */
export async function walk(): Promise<Map<string, string[]>> {
  const clock = new TestClock(Date.parse('2026-11-21T09:30:00.000Z'));
  const names = await startNames();
  names.set('hook.example', 'A', ['8.8.8.8']);
  const { host, port } = names.listen;
  const dns = `[dns]\nservers = ["${host}:${port}"]\n`;
  const dashboard = await startDashboardRig({ clock, config: TOML + dns });
  try {
    return await new Walk(dashboard, await furnish(dashboard, clock)).takeAll(STEPS);
  } finally {
    await dashboard.stop();
    await names.stop();
  }
}

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [part, blocks] of await walk()) {
    writeFileSync(join(FOLDER, `${part}.txt`), blocks.join('\n'));
  }
}
