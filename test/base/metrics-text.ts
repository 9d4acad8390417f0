/**
 * What `/metrics` shows once each metric has one value, under each of its labels.
 *
 *   bun test/base/metrics-text.ts
 *
 * writes metrics.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Metrics } from '../../src/base/metrics.ts';

export const METRICS_FILE = join(import.meta.dir, 'metrics.txt');

export async function metricsText(): Promise<string> {
  const all = new Metrics();
  const destination = 'gmail';
  all.accepted.inc({ status: 'queued' });
  all.attempts.inc({ outcome: 'deferred', class: 'rate', destination });
  all.attemptSeconds.observe({ outcome: 'deferred' }, 0.002);
  all.deliverySeconds.observe(0.003);
  all.requestSeconds.observe({ method: 'POST', status: '2xx' }, 0.004);
  all.callSeconds.observe({ result: 'ok' }, 0.005);
  all.commitSeconds.observe(0.006);
  all.commitWrites.observe(7);
  all.claimSeconds.observe({ step: 'take' }, 0.008);
  all.loopLagSeconds.observe(0.009);
  all.loopBlocked.inc(10);
  all.queueRecipients.set({ destination }, 11);
  all.queueOldestSeconds.set({ destination }, 12);
  all.webhookBacklog.set(13);
  all.findings.set({ level: 'error' }, 14);
  all.isHalted.set(1);
  all.isDiskLow.set(1);
  all.nodes.set({ state: 'live' }, 17);
  all.node.set({ node: 'one', service: 'mail.example.com', version: '1.2.3' }, 1);
  all.databaseConnections.set({ state: 'busy' }, 19);
  all.databaseWaiting.set(20);
  all.isDatabaseAway.set(1);
  all.databaseCommitAge.set(22);
  all.signingThreadRestarts.inc(23);
  all.build.set({ version: '1.2.3', commit: 'abc', bun: '4.5.6' }, 1);
  all.memory.set(25);
  all.descriptors.set(26);
  all.startedAt.set(27);
  return await all.render();
}

if (import.meta.main) writeFileSync(METRICS_FILE, await metricsText());
