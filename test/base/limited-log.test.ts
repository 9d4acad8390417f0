/** What an unauthenticated client can cause is written a bounded number of times a minute, and the rest is counted. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { LIMITED_EVENTS, LimitedLog } from '../../src/base/limited-log.ts';
import { createLog } from '../../src/base/log.ts';
import { TestClock } from '../rig/clock.ts';

interface Line {
  event: string;
  level: string;
  [field: string]: unknown;
}

function make() {
  const lines: Line[] = [];
  const clock = new TestClock();
  const write = (line: string): void => void lines.push(JSON.parse(line) as Line);
  const log = new LimitedLog(
    createLog(write, () => clock.now()),
    clock,
  );
  return { lines, clock, log };
}

const MINUTE = 60_000;

test('a flood from 10,000 public addresses is 20 lines and one that counts the others', async () => {
  const { lines, clock, log } = make();
  for (let at = 0; at < 10_000; at += 1) {
    const peer = `203.0.${at >> 8}.${at & 255}`;
    log.warn('dashboard_sign_in_refused', { peer, reason: 'wrong' });
  }
  expect(lines).toHaveLength(20);
  expect(clock.pending()).toHaveLength(1);
  await clock.advance(MINUTE - 1);
  expect(lines).toHaveLength(20);
  await clock.advance(1);
  expect(lines).toHaveLength(21);
  expect(lines[20]).toMatchObject({
    event: 'lines_left_out',
    level: 'warn',
    of: 'dashboard_sign_in_refused',
    peers: 'public',
    count: 9_980,
    summary: '9980 more in the last minute',
  });
  // The next minute begins with its first line.
  log.warn('dashboard_sign_in_refused', { peer: '203.0.113.9' });
  expect(lines.at(-1)?.event).toBe('dashboard_sign_in_refused');
  await clock.advance(MINUTE);
  expect(lines).toHaveLength(22);
  expect(clock.pending()).toEqual([]);
});

test('it hides neither other events nor peers of another class', () => {
  const { lines, log } = make();
  const refused = (peer: string): void => log.warn('dashboard_sign_in_refused', { peer });
  for (let at = 0; at < 100; at += 1) refused('2001:db8::1');
  const before = lines.length;
  for (const peer of [
    '127.0.0.1',
    '::ffff:127.0.0.1',
    '::1',
    '10.1.2.3',
    '::ffff:10.1.2.3',
    'fd00::7',
    'no address',
  ]) {
    refused(peer);
  }
  log.error('smtp_command_failed', { hint: 'x' });
  for (let at = 0; at < 100; at += 1) log.info('accepted', {});
  expect(lines).toHaveLength(before + 108);
});

test('the end of the process writes what was counted', async () => {
  const { lines, clock, log } = make();
  for (let at = 0; at < 25; at += 1) log.error('request_failed', { hint: 'x' });
  log.flush();
  expect(lines.at(-1)).toMatchObject({ of: 'request_failed', peers: 'unknown', count: 5 });
  const count = lines.length;
  await clock.advance(MINUTE);
  expect(lines).toHaveLength(count);
});

test('the list is that of docs/logging.md, and each of its events exists', () => {
  const text = readFileSync(join(import.meta.dir, '../../docs/logging.md'), 'utf8');
  const section = text.split('## Lines that anyone can cause')[1]?.split('. Of each')[0] ?? '';
  const named = Array.from(section.matchAll(/`([a-z_]+)`/g), ([, name = '']) => name);
  expect(named).toEqual([...LIMITED_EVENTS]);
  for (const name of LIMITED_EVENTS) expect(text).toContain(`| \`${name}\` |`);
});

test.each([
  ['127.0.0.1', 'this_machine'],
  ['127.255.255.255', 'this_machine'],
  ['::1', 'this_machine'],
  ['::2', 'public'],
  ['10.0.0.1', 'private'],
  ['11.0.0.1', 'public'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['172.32.0.1', 'public'],
  ['192.168.0.1', 'private'],
  ['192.169.0.1', 'public'],
  ['169.254.1.1', 'private'],
  ['100.64.0.1', 'private'],
  ['100.127.255.255', 'private'],
  ['100.128.0.1', 'public'],
  ['fd00::1', 'private'],
  ['fe80::1', 'private'],
  ['febf::1', 'private'],
  ['fec0::1', 'public'],
  ['2001:db8::1', 'public'],
  ['mail.example', 'unknown'],
  [7, 'unknown'],
])('the peer %p is of the class %s', (peer, peers) => {
  const { lines, log } = make();
  for (let at = 0; at < 21; at += 1) log.info('request_failed', { peer });
  log.flush();
  expect(lines.at(-1)).toMatchObject({ event: 'lines_left_out', peers, count: 1 });
});

test('without anything left out, nothing is said at the end of the minute', async () => {
  const { lines, clock, log } = make();
  for (let at = 0; at < 20; at += 1) log.info('request_failed', {});
  await clock.advance(MINUTE);
  expect(lines).toHaveLength(20);
  // The next minute has 20 of its own.
  for (let at = 0; at < 20; at += 1) log.info('request_failed', {});
  expect(lines).toHaveLength(40);
});
