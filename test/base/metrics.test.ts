/** The appliance's metrics as text; a real Prometheus and promtool read them in test/e2e/metrics.test.ts. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { Metrics } from '../../src/base/metrics.ts';
import { METRICS_FILE, metricsText } from './metrics-text.ts';

/** The sample lines (no comments) whose name begins with `name`. */
async function samples(metrics: Metrics, name: string): Promise<string[]> {
  return (await metrics.render()).split('\n').filter((line) => line.startsWith(name));
}

test('a histogram cumulates its buckets and counts what is above the last bound', async () => {
  const metrics = new Metrics();
  for (const value of [1, 2, 7, 5000]) metrics.commitWrites.observe(value);
  const lines = await samples(metrics, 'postrider_commit_writes');
  expect(lines).toContain('postrider_commit_writes_bucket{le="1"} 1');
  expect(lines).toContain('postrider_commit_writes_bucket{le="2"} 2');
  expect(lines).toContain('postrider_commit_writes_bucket{le="10"} 3');
  expect(lines).toContain('postrider_commit_writes_bucket{le="1000"} 3');
  expect(lines).toContain('postrider_commit_writes_bucket{le="+Inf"} 4');
  expect(lines).toContain('postrider_commit_writes_sum 5010');
  expect(lines).toContain('postrider_commit_writes_count 4');
});

test('labels are escaped', async () => {
  const metrics = new Metrics();
  metrics.accepted.inc({ status: 'a"b\\c\nd' });
  metrics.accepted.inc({ status: 'a"b\\c\nd' }, 2);
  expect(await samples(metrics, 'postrider_messages_accepted_total')).toEqual([
    'postrider_messages_accepted_total{status="a\\"b\\\\c\\nd"} 3',
  ]);
});

test('a label that is not declared is refused, so that no family grows by accident', () => {
  const labels: Record<string, string> = { recipient: 'someone@example.net' };
  expect(() => new Metrics().accepted.inc(labels)).toThrow('recipient');
});

test('gauges that were reset forget label sets that are gone', async () => {
  const metrics = new Metrics();
  metrics.queueRecipients.set({ destination: 'gmail' }, 1);
  metrics.queueRecipients.reset();
  metrics.queueRecipients.set({ destination: 'other' }, 2);
  expect(await samples(metrics, 'postrider_queue_recipients')).toEqual([
    'postrider_queue_recipients{destination="other"} 2',
  ]);
});

test('two appliances in one process do not share numbers', async () => {
  const [one, other] = [new Metrics(), new Metrics()];
  one.isHalted.set(1);
  expect(await samples(other, 'postrider_halted')).toEqual(['postrider_halted 0']);
});

test('names, help, types, labels and buckets are those of metrics.txt', async () => {
  // When this fails and the change is meant: bun test/base/metrics-text.ts, and read the difference.
  expect(await metricsText()).toBe(readFileSync(METRICS_FILE, 'utf8'));
});

test('every metric of the appliance has its help and its type, once', async () => {
  const text = await new Metrics().render();
  const types = text.match(/^# TYPE \S+/gm) ?? [];
  expect(types.length).toBeGreaterThan(15);
  expect(new Set(types).size).toBe(types.length);
  expect(text.match(/^# HELP \S+ \S/gm) ?? []).toHaveLength(types.length);
});
