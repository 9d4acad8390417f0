/** What watches the appliance, on the compiled binary: a real Prometheus, promtool, and who may read what. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { freePorts } from '../rig/ports.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const ROOT = join(import.meta.dir, '../..');

/**
 * Resolves when the appliance's own numbers say that no call waits and that each call has been counted: it counts one
 * after the hook has answered, and what it says of the backlog may be some seconds old.
 */
async function callsAreCounted({ appliance, hook }: World): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const text = await (await fetch(`${appliance.url}/metrics`)).text();
    const counted = Array.from(
      text.matchAll(/^postrider_webhook_call_seconds_count\S* (\d+)$/gm),
      ([, count]) => Number(count),
    ).reduce((sum, count) => sum + count, 0);
    const backlog = /^postrider_webhook_backlog (\d+)$/m.exec(text)?.[1];
    if (backlog === '0' && counted >= hook.calls.items.length) return;
    if (Date.now() > deadline)
      throw new Error(`${counted} of ${hook.calls.items.length} calls counted, backlog ${backlog}`);
    await Bun.sleep(100);
  }
}

describeWith(['openssl', 'prometheus'], 'metrics', () => {
  let world: World;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'metrics-'));
    world = await startWorld();
    await world.appliance.api('POST', '/webhooks', { endpoint: world.hook.url });
    const sent = await world.appliance.api('POST', '/emails', {
      from: 'a@example.org',
      to: 'b@example.net',
      subject: 'counted',
      text: 'x',
    });
    expect(sent.status).toBe(200);
    await world.hook.calls.first(({ body }) => body.includes('email.delivered'));
    await callsAreCounted(world);
  }, 30_000);
  afterAll(async () => {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a real Prometheus scrapes them, and they say what happened', async () => {
    const target = new URL(world.appliance.url).host;
    writeFileSync(
      join(folder, 'prometheus.yml'),
      `global: { scrape_interval: 1s }
rule_files: ["${join(ROOT, 'packaging/prometheus-rules.yml')}"]
scrape_configs:
  - job_name: postrider
    static_configs: [{ targets: ["${target}"] }]
`,
    );
    const address = `127.0.0.1:${(await freePorts(1))[0]}`;
    const prometheus = Bun.spawn(
      [
        '/usr/bin/prometheus',
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
      ],
      { stdout: 'ignore', stderr: 'ignore' },
    );
    try {
      // A look that takes longer than a second counts as none, and its series end; the last value stands all the same.
      const last = (name: string): string => `last_over_time(${name}[1m])`;
      const query = async (expression: string): Promise<number | null> => {
        const url = `http://${address}/api/v1/query?query=${encodeURIComponent(expression)}`;
        const answer = await fetch(url).catch(() => null);
        if (answer?.ok !== true) return null;
        const { data } = (await answer.json()) as {
          data: { result: { value: [number, string] }[] };
        };
        const value = data.result[0]?.value[1];
        return value === undefined ? null : Number(value);
      };
      const deadline = Date.now() + 15_000;
      while ((await query('up{job="postrider"}')) !== 1) {
        if (Date.now() > deadline) throw new Error('Prometheus never saw the appliance');
        await Bun.sleep(200);
      }
      expect(await query(`sum(${last('postrider_messages_accepted_total')})`)).toBe(1);
      expect(await query(`sum(${last('postrider_attempts_total{outcome="delivered"}')})`)).toBe(1);
      expect(await query(`sum(${last('postrider_delivery_seconds_count')})`)).toBe(1);
      expect(await query(`sum(${last('postrider_webhook_call_seconds_count')})`)).toBeGreaterThan(
        0,
      );
      expect(await query(`sum(${last('postrider_commit_seconds_count')})`)).toBeGreaterThan(2);
      expect(
        await query(`sum(${last('postrider_http_request_seconds_count{method="POST"}')})`),
      ).toBeGreaterThan(1);
      expect(await query(`sum(${last('postrider_event_loop_lag_seconds_count')})`)).toBeGreaterThan(
        0,
      );
      expect(await query(last('postrider_webhook_backlog'))).toBe(0);
      expect(await query(last('postrider_halted'))).toBe(0);
      expect(await query(last('process_open_fds'))).toBeGreaterThan(5);
    } finally {
      prometheus.kill();
      await prometheus.exited;
    }
  });

  test('promtool finds nothing to say against numbers and rules', async () => {
    const text = await (await fetch(`${world.appliance.url}/metrics`)).text();
    const lint = Bun.spawnSync(['/usr/bin/promtool', 'check', 'metrics'], {
      stdin: Buffer.from(text),
      stderr: 'pipe',
    });
    expect([lint.exitCode, lint.stderr.toString()]).toEqual([0, '']);
    const rules = Bun.spawnSync([
      '/usr/bin/promtool',
      'check',
      'rules',
      join(ROOT, 'packaging/prometheus-rules.yml'),
    ]);
    expect(rules.exitCode).toBe(0);
  });

  test('of two nodes an alert about the service comes once, and numbers of a node have its name', () => {
    const file = join(import.meta.dir, 'alerts-of-nodes.yml');
    const run = Bun.spawnSync(['/usr/bin/promtool', 'test', 'rules', file], { stderr: 'pipe' });
    expect([run.exitCode, run.stderr.toString()]).toEqual([0, '']);
  });

  test('every number of the rules and the dashboard is one that the appliance has', async () => {
    const text = await (await fetch(`${world.appliance.url}/metrics`)).text();
    const known = new Set((text.match(/^# TYPE (\S+)/gm) ?? []).map((line) => line.slice(7)));
    for (const file of ['prometheus-rules.yml', 'grafana-dashboard.json']) {
      const named = (await Bun.file(join(ROOT, 'packaging', file)).text()).match(/postrider_\w+/g);
      for (const name of named ?? []) {
        expect([...known]).toContain(name.replace(/_(bucket|sum|count)$/, ''));
      }
    }
  });

  test('a request that came through a proxy that is not trusted reads no numbers', async () => {
    const { url } = world.appliance;
    const headers = { 'X-Forwarded-For': '127.0.0.1' };
    const untrusted = await fetch(`${url}/metrics`, { headers });
    expect(untrusted.status).toBe(404);
    expect(await untrusted.json()).toMatchObject({ code: 'not_found' });
    expect(await (await fetch(`${url}/health`, { headers })).json()).toEqual({ status: 'ok' });
  });

  test('/ready says when sends would be refused', async () => {
    const { appliance } = world;
    expect((await fetch(`${appliance.url}/ready`)).status).toBe(200);
    await appliance.json(['halt', '--reason', 'test']);
    expect((await fetch(`${appliance.url}/ready`)).status).toBe(503);
    await appliance.json(['resume']);
    expect((await fetch(`${appliance.url}/ready`)).status).toBe(200);
  });
});
