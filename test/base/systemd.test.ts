/** sd_notify against a datagram socket of another program (Python), because the runtime has none. */
import { expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createNotifier } from '../../src/base/systemd.ts';

const LISTENER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = sys.argv[1]
s.bind('\\0' + name[1:] if name.startswith('@') else name)
s.settimeout(10)
print('bound', flush=True)
sys.stdout.buffer.write(s.recv(4096) + b'\\n')
`;

async function hear(path: string, state: string): Promise<{ isSent: boolean; heard: string }> {
  const listener = Bun.spawn(['/usr/bin/python3', '-c', LISTENER, path], { stdout: 'pipe' });
  const reader = listener.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = '';
  while (!printed.startsWith('bound\n')) printed += (await reader.read()).value ?? '';
  const isSent = createNotifier({ NOTIFY_SOCKET: path }, process.pid).notify(state);
  for (let part = await reader.read(); !part.done; part = await reader.read())
    printed += part.value;
  return { isSent, heard: printed.slice('bound\n'.length) };
}

test('a state arrives at a socket with a path', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'notify-'));
  const result = await hear(join(folder, 'nötify'), 'READY=1\nSTATUS=listening ✓');
  rmSync(folder, { recursive: true });
  expect(result).toEqual({ isSent: true, heard: 'READY=1\nSTATUS=listening ✓\n' });
});

test('a state arrives at an abstract socket', async () => {
  const result = await hear(`@postrider-test-${process.pid}`, 'STOPPING=1');
  expect(result).toEqual({ isSent: true, heard: 'STOPPING=1\n' });
});

test.each([
  [{}, false],
  [{ NOTIFY_SOCKET: '/nowhere/notify' }, false],
  [{ NOTIFY_SOCKET: 'relative' }, false],
  [{ NOTIFY_SOCKET: `/${'x'.repeat(200)}` }, false],
])('nobody listens: %p', (environment, isSent) => {
  expect(createNotifier(environment, 1).notify('READY=1')).toBe(isSent);
});

test('the watchdog counts only when it is meant for this process', () => {
  const ask = (environment: Record<string, string>): number | null =>
    createNotifier(environment, 42).watchdogMs;
  expect(ask({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '42' })).toBe(30_000);
  expect(ask({ WATCHDOG_USEC: '30000000' })).toBe(30_000);
  expect(ask({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' })).toBeNull();
  expect(ask({})).toBeNull();
  expect(ask({ WATCHDOG_USEC: '1' })).toBe(0.001);
  // A watchdog of no time would be fed without a pause.
  expect(ask({ WATCHDOG_USEC: '0' })).toBeNull();
});

test('a path of 107 bytes still fits, one of 108 does not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'notify-'));
  const path = join(folder, 'n'.repeat(107 - folder.length - 1));
  expect(Buffer.byteLength(path)).toBe(107);
  expect((await hear(path, 'READY=1')).isSent).toBe(true);
  expect(createNotifier({ NOTIFY_SOCKET: `${path}n` }, 1).notify('READY=1')).toBe(false);
  rmSync(folder, { recursive: true });
});

test('a state that nobody hears leaves no descriptor open', () => {
  const notifier = createNotifier({ NOTIFY_SOCKET: '/nowhere/notify' }, 1);
  const open = (): number => readdirSync('/proc/self/fd').length;
  notifier.notify('READY=1');
  const before = open();
  for (let count = 0; count < 50; count += 1) notifier.notify('WATCHDOG=1');
  expect(open()).toBeLessThan(before + 50);
});
