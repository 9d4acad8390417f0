/**
 * The worst inputs that are known, all at once, do not starve the watchdog of systemd (docs/reliability.md R84): signs of
 * life come at a third of its time, and at most a second late, as 11 s would be with the unit's 30.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Arrivals } from '../rig/arrivals.ts';
import { bestOf } from '../rig/best-of.ts';
import { describeWith } from '../rig/programs.ts';
import { BODIES, REPORTS, SEED, SUBMITTED } from './event-loop-inputs.ts';
import { openTarget, type Target } from './open-target.ts';

/** What systemd would wait; a sign of life comes each second. */
const WATCHDOG_US = 3_000_000;
const EVERY_MS = 1_000;
const LATE_MS = 1_000;

/**
 * The runtime has no datagram sockets of its own (see `test/base/systemd.test.ts`). The time for which the kernel let the
 * appliance or the listener wait for a processor (proc_pid_schedstat(5)) is subtracted, as in `rig/ready-gap.ts`.
 */
const LISTENER = `
import socket, struct, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1])
print('bound', flush=True)
def waited(pid):
    return int(open(f'/proc/{pid}/schedstat').read().split()[1]) / 1e9
while True:
    state, credentials, _, _ = s.recvmsg(4096, socket.CMSG_SPACE(12))
    if b'WATCHDOG=1' in state:
        pid = struct.unpack('3i', credentials[0][2])[0]
        print(time.monotonic() - waited(pid) - waited('self'), flush=True)
`;

describeWith(['python3'], 'the watchdog', () => {
  const folder = mkdtempSync(join(tmpdir(), 'watchdog-'));
  /** When each sign of life came, in seconds. */
  const signs = new Arrivals<number>('signs of life');
  let listener: ReturnType<typeof Bun.spawn>;
  let target: Target;

  beforeAll(async () => {
    const path = join(folder, 'notify');
    const child = Bun.spawn(['/usr/bin/python3', '-c', LISTENER, path], { stdout: 'pipe' });
    listener = child;
    const bound = Promise.withResolvers<void>();
    void (async () => {
      let text = '';
      for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
        const lines = (text + part).split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) {
          if (line === 'bound') bound.resolve();
          else signs.push(Number(line));
        }
      }
    })();
    await bound.promise;
    target = await openTarget({ NOTIFY_SOCKET: path, WATCHDOG_USEC: String(WATCHDOG_US) });
  }, 60_000);
  afterAll(async () => {
    await target.world.stop();
    listener.kill();
    rmSync(folder, { recursive: true });
  });

  /** The longest time between two signs while `work` is under way and up to the next, in milliseconds. */
  async function longestSilence(work: () => Promise<unknown>): Promise<number> {
    await signs.atLeast(1);
    const before = signs.items.length - 1;
    await work();
    await signs.atLeast(signs.items.length + 1);
    const times = signs.items.slice(before);
    return Math.max(...times.slice(1).map((at, n) => (at - (times[n] ?? at)) * 1_000));
  }

  test('an appliance that stands still for three seconds is noticed', async () => {
    const { pid } = target.world.appliance;
    const silence = await longestSilence(async () => {
      process.kill(pid, 'SIGSTOP');
      await Bun.sleep(EVERY_MS + LATE_MS + 1_000);
      process.kill(pid, 'SIGCONT');
    });
    expect(silence).toBeGreaterThan(EVERY_MS + LATE_MS);
  });

  test('the worst inputs together leave it its signs of life', async () => {
    const bodies = BODIES.map(([, make]) => Buffer.from(make()));
    const reports = REPORTS.map(([, make]) => make());
    const messages = SUBMITTED.map(([, make]) => make());
    const silence = await bestOf(EVERY_MS + LATE_MS, () =>
      longestSilence(async () => {
        await Promise.all([
          ...bodies.map((body) => target.post(body)),
          ...reports.map((message) => target.report(message)),
          ...messages.map((message) => target.submit(message)),
        ]);
      }),
    );
    process.stdout.write(`      longest silence ${Math.round(silence)} ms (seed ${SEED})\n`);
    expect(silence).toBeLessThanOrEqual(EVERY_MS + LATE_MS);
  }, 300_000);
});
