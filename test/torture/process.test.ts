/** The compiled binary as a process: one a data directory, deaf to its working directory, drained on SIGTERM. */
import { afterEach, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { bestOf, tookMs } from '../rig/best-of.ts';
import { BINARY, BinaryAppliance, runBinary } from '../rig/binary.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

test('a second process on the same data directory ends with 1 within a second and says whose it is', async () => {
  const appliance = await BinaryAppliance.start();
  undo.push(() => appliance.stop());
  const ms = await bestOf(1_000, () =>
    tookMs(async () => {
      const second = await appliance.run(['serve']);
      expect(second.code).toBe(1);
      expect(second.stderr).toContain(`pid ${appliance.pid}`);
    }),
  );
  expect(ms).toBeLessThan(1_000);
  expect((await appliance.api('GET', '/emails')).status).toBe(200);
});

test('after kill -9 the directory is free at once', async () => {
  const appliance = await BinaryAppliance.start();
  undo.push(() => appliance.stop());
  for (let round = 0; round < 3; round += 1) {
    await appliance.signal('SIGKILL');
    await appliance.start();
  }
  expect((await appliance.api('GET', '/emails')).status).toBe(200);
});

test('a port that another program holds is named, exit 1', async () => {
  const holder = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  undo.push(() => holder.stop(true));
  const appliance = await BinaryAppliance.create();
  undo.push(() => appliance.stop());
  const head = `hostname = "mail.rig.test"\ndata_dir = "${appliance.made.data_dir}"\n`;
  writeFileSync(appliance.made.config, `${head}[http]\nlisten = "127.0.0.1:${holder.port}"\n`);
  const run = await appliance.run(['serve']);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain(`port ${holder.port} is in use`);
});

test('no file of the data directory can be read by others', async () => {
  const appliance = await BinaryAppliance.start();
  undo.push(() => appliance.stop());
  const found = Bun.spawnSync(['find', appliance.made.data_dir, '-perm', '/077']);
  expect(found.stdout.toString()).toBe('');
  const config = Bun.spawnSync(['find', appliance.made.config, '-perm', '/027']);
  expect(config.stdout.toString()).toBe('');
});

test('no secret is in its arguments or environment, nor in what it leaves when it is aborted', async () => {
  const appliance = await BinaryAppliance.create();
  undo.push(() => appliance.stop());
  const { config, key, admin_password: password } = appliance.made;
  writeFileSync(
    config,
    readFileSync(config, 'utf8').replace(/^listen = .*$/m, 'listen = "127.0.0.1:0"'),
  );
  const keyFile = readFileSync(join(appliance.made.data_dir, 'secret.key'));
  // As in a container: nobody has set a limit or a mask.
  const start = `ulimit -c unlimited 2>/dev/null; umask 000; exec ${BINARY} serve --config ${config}`;
  const cwd = join(appliance.folder, 'cwd');
  mkdirSync(cwd);
  const child = Bun.spawn(['/bin/sh', '-c', start], { cwd, stdout: 'pipe', stderr: 'pipe' });
  undo.push(() => child.kill('SIGKILL'));
  const said = new Response(child.stderr).text();
  for await (const chunk of child.stdout) {
    const ready = /http:\S+/.exec(new TextDecoder().decode(chunk))?.[0];
    expect(ready).toBeString();
    // A request with the key, so that it is in memory.
    const authorization = `Bearer ${key}`;
    expect((await fetch(`${ready}/emails`, { headers: { authorization } })).status).toBe(200);
    break;
  }
  const proc = (name: string): string => readFileSync(`/proc/${child.pid}/${name}`, 'utf8');
  expect(proc('limits')).toMatch(/^Max core file size +0 +0 /m);
  expect(proc('status')).toMatch(/^Umask:\t0077$/m);
  const own = Bun.spawnSync(['find', appliance.made.data_dir, '-perm', '/077']);
  expect(own.stdout.toString()).toBe('');
  const seen = proc('cmdline') + proc('environ');
  child.kill('SIGABRT');
  await child.exited;
  const left = readdirSync(cwd).map((name) => readFileSync(join(cwd, name), 'latin1'));
  const text = [seen, await said, ...left].join('\n');
  for (const secret of [key, password, keyFile.toString('latin1'), keyFile.toString('base64')]) {
    expect(text.includes(secret)).toBe(false);
  }
  expect(left).toEqual([]);
}, 20_000);

test('SIGTERM under load: what was taken is finished, exit 0, nothing is left in an attempt', async () => {
  const world = await startWorld();
  undo.push(() => world.stop());
  const answers: Promise<Response>[] = [];
  for (let number = 0; number < 60; number += 1) {
    const batch = Array.from({ length: 10 }, (_, index) => ({
      from: 'drain@example.org',
      to: `r${number}-${index}@example.net`,
      subject: `drain ${number} ${index}`,
      text: 'x',
    }));
    answers.push(world.appliance.api('POST', '/emails/batch', batch));
  }
  const settled = Promise.allSettled(answers);
  await Promise.race(answers);
  expect(await world.appliance.signal('SIGTERM')).toBe(0);
  await settled;
  const listed = (await world.appliance.json(['queue', 'list'])) as {
    recipients: { attempts: number; next_attempt_at: string; address: string }[];
  };
  const now = Date.now();
  const inAttempt = listed.recipients.filter(({ next_attempt_at: next }) => Date.parse(next) > now);
  expect(inAttempt).toEqual([]);
  await world.appliance.start();
  const waiting = listed.recipients.map(({ address }) => address);
  for (const address of waiting) {
    await world.receiver.messages.first(({ to }) => to.includes(address));
  }
  const taken = world.receiver.messages.items.flatMap(({ to }) => to);
  expect(new Set(taken).size).toBe(taken.length);
});

describeWith(['strace'], 'a hostile working directory', () => {
  test('.env, bunfig.toml and its preload are not even opened', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
    undo.push(() => rmSync(folder, { recursive: true }));
    const loot = join(folder, 'loot');
    writeFileSync(join(folder, '.env'), 'POSTRIDER_CONFIG=/nowhere\nNODE_OPTIONS=--inspect\n');
    writeFileSync(join(folder, '.env.production'), 'POSTRIDER_CONFIG=/nowhere\n');
    writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./evil.ts"]\n');
    writeFileSync(
      join(folder, 'evil.ts'),
      `require('node:fs').writeFileSync(${JSON.stringify(loot)}, 'x')`,
    );
    writeFileSync(join(folder, 'package.json'), '{"type": "commonjs"}');
    writeFileSync(join(folder, 'tsconfig.json'), '{}');
    const trace = join(folder, 'trace');
    const run = Bun.spawnSync(
      ['/usr/bin/strace', '-f', '-e', 'trace=open,openat', '-o', trace, BINARY, 'version'],
      { cwd: folder, stdout: 'pipe' },
    );
    expect(run.exitCode).toBe(0);
    const opened = readFileSync(trace, 'utf8');
    expect(opened).toContain('openat');
    for (const name of ['.env', 'bunfig', 'evil.ts', 'package.json', 'tsconfig']) {
      expect([name, opened.includes(name)]).toEqual([name, false]);
    }
    expect(await Bun.file(loot).exists()).toBe(false);
    const wrong = await runBinary(['check'], { cwd: folder });
    expect(wrong.stderr).not.toContain('/nowhere');
  });
});
