/** The labs of packaging/cluster and docs/cluster.md: what their files say is run here, without containers and systemd. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BINARY, runBinary } from '../rig/binary.ts';
import { PostgresServer } from '../rig/postgres.ts';
import { describeWith } from '../rig/programs.ts';

const ROOT = join(import.meta.dir, '../..');

interface Compose {
  services: Record<string, { command: string[] | string }>;
  configs: { balancer: { content: string } };
}

const compose = Bun.YAML.parse(
  readFileSync(join(ROOT, 'packaging/cluster/compose.yaml'), 'utf8'),
) as Compose;

describeWith(['haproxy', 'postgresql', 'systemd-analyze'], 'a lab of three nodes', () => {
  let server: PostgresServer;
  let folder: string;

  beforeAll(async () => {
    server = await PostgresServer.start();
    folder = mkdtempSync(join(tmpdir(), 'postrider-lab-'));
    mkdirSync(join(folder, 'bin'));
    symlinkSync(BINARY, join(folder, 'bin/postrider'));
  }, 60_000);

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What the container `first` runs, with the lab's folders and database in place of the container's. */
  function firstScript(): string {
    const { command = [] } = compose.services['first'] ?? {};
    const [shell, flags, script = ''] = command;
    expect([shell, flags]).toEqual(['sh', '-ec']);
    return script.replaceAll('$$', '$').replaceAll('/nodes/', `${folder}/`);
  }

  async function runFirst(url: string): Promise<string> {
    const child = Bun.spawn(['sh', '-ec', firstScript()], {
      env: { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`, STORE: url },
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const said = await new Response(child.stdout).text();
    expect(await child.exited).toBe(0);
    return said;
  }

  test('the first container makes three nodes of one service, once', async () => {
    const url = await server.freshDatabase();
    expect((await runFirst(url)).match(/API key, full access/g)).toHaveLength(1);
    for (const at of [1, 2, 3]) {
      const config = join(folder, String(at), 'postrider.toml');
      const { store, http, delivery, cluster, hostname } = Bun.TOML.parse(
        readFileSync(config, 'utf8'),
      ) as Record<string, Record<string, unknown>>;
      expect(hostname as unknown).toBe(`node${at}.lab.test`);
      expect([store?.['url'], http?.['listen']]).toEqual([url, '0.0.0.0:8025']);
      expect([delivery?.['mode'], cluster?.['name']]).toEqual(['capture', 'lab.test']);
      const { command } = compose.services[`node${at}`] ?? {};
      expect(command).toBe(`postrider serve --config /nodes/${at}/postrider.toml`);
      expect(await runBinary(['check', '--config', config])).toMatchObject({ code: 0 });
    }
    expect(await runFirst(url)).toBe('');
  }, 30_000);

  test('HAProxy takes the config of the lab', () => {
    const file = join(folder, 'haproxy.cfg');
    const { content } = compose.configs.balancer;
    writeFileSync(file, content.replaceAll(/server (node\d) node\d:/g, 'server $1 127.0.0.1:'));
    const done = Bun.spawnSync(['/usr/sbin/haproxy', '-c', '-f', file], { stderr: 'pipe' });
    expect([done.exitCode, done.stderr.toString()]).toEqual([0, '']);
  });

  test('systemd takes the unit of each node, which has folders of its own', () => {
    const text = readFileSync(join(ROOT, 'docs/cluster.md'), 'utf8');
    const [, script = ''] = /```sh\n(for n in 1 2 3; do\n[^`]*)```/.exec(text) ?? [];
    const units = join(folder, 'units');
    mkdirSync(units);
    const unit = readFileSync(join(ROOT, 'packaging/postrider.service'), 'utf8');
    writeFileSync(
      join(units, 'postrider.service'),
      unit
        .replaceAll('/usr/local/bin/postrider', BINARY)
        .replace(/^User=.*/m, 'User=root')
        .replace(/^Group=.*/m, 'Group=root'),
    );
    const command = script.replaceAll('/etc/systemd/system', units);
    expect(Bun.spawnSync(['sh', '-ec', command]).exitCode).toBe(0);
    for (const at of [1, 2, 3]) {
      const file = join(units, `postrider-${at}.service`);
      const made = readFileSync(file, 'utf8');
      for (const line of [
        `ExecStart=${BINARY} serve --config /etc/postrider-${at}/postrider.toml`,
        `ExecReload=${BINARY} reload --config /etc/postrider-${at}/postrider.toml`,
        `StateDirectory=postrider-${at}`,
        `ConfigurationDirectory=postrider-${at}`,
      ]) {
        expect(made.split('\n')).toContain(line);
      }
      const done = Bun.spawnSync(['systemd-analyze', 'verify', '--man=no', file], {
        stderr: 'pipe',
      });
      expect([done.exitCode, done.stderr.toString()]).toEqual([0, '']);
    }
  });
});
