/**
 * What the compiled binary tells systemd (sd_notify(3)): ready, a reload and its end, whatever came of it, and that it
 * stops. A reload without its end would leave the unit `reloading` for ever.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Arrivals } from '../rig/arrivals.ts';
import { BinaryAppliance } from '../rig/binary.ts';
import { describeWith } from '../rig/programs.ts';

/** The runtime has no datagram sockets of its own (see `test/base/systemd.test.ts`). */
const LISTENER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True: print(s.recv(4096).decode().strip(), flush=True)
`;

describeWith(['python3'], 'what systemd is told', () => {
  const folder = mkdtempSync(join(tmpdir(), 'notify-'));
  const told = new Arrivals<string>('states');
  let listener: ReturnType<typeof Bun.spawn>;
  let appliance: BinaryAppliance;

  beforeAll(async () => {
    const path = join(folder, 'notify');
    const child = Bun.spawn(['/usr/bin/python3', '-c', LISTENER, path], { stdout: 'pipe' });
    listener = child;
    void (async () => {
      let text = '';
      for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
        const lines = (text + part).split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) told.push(line);
      }
    })();
    await told.atLeast(1);
    appliance = await BinaryAppliance.start({ env: { NOTIFY_SOCKET: path } });
  }, 60_000);
  afterAll(async () => {
    await appliance.stop();
    listener.kill();
    rmSync(folder, { recursive: true });
  });

  test('that the start may take its time, ready, each reload with its end, the stop', async () => {
    const start = ['EXTEND_TIMEOUT_USEC=120000000', 'READY=1'];
    expect(await told.atLeast(3)).toEqual(['bound', ...start]);
    appliance.hangUp();
    expect((await told.atLeast(5)).slice(3)).toEqual(['RELOADING=1', 'READY=1']);

    const { config } = appliance.made;
    const sound = readFileSync(config, 'utf8');
    writeFileSync(config, 'no config');
    appliance.hangUp();
    expect((await told.atLeast(7)).slice(5)).toEqual(['RELOADING=1', 'READY=1']);
    await appliance.log.first(({ event }) => event === 'reload_refused');
    writeFileSync(config, sound);

    expect(await appliance.signal('SIGTERM')).toBe(0);
    expect((await told.atLeast(8)).slice(7)).toEqual(['STOPPING=1']);
  }, 60_000);
});
