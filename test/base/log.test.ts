/** Lines of the log: one JSON object each, with nothing secret in a field that is named as one. */
import { expect, test } from 'bun:test';

import { createLog, LineGatherer } from '../../src/base/log.ts';

function start() {
  const lines: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    () => Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  );
  return { log, lines };
}

test('time, level and event come first, then the fields', () => {
  const { log, lines } = start();
  log.info('started');
  log.warn('odd', { count: 2, big: 2n ** 60n });
  log.error('broken', { hint: 'Repair it.', error: new TypeError('why') });
  const time = '2026-01-02T03:04:05.006Z';
  expect(lines[0]).toEqual({ time, level: 'info', event: 'started' });
  expect(lines[1]).toEqual({
    time,
    level: 'warn',
    event: 'odd',
    count: 2,
    big: '1152921504606846976',
  });
  const { error, ...rest } = lines[2] ?? {};
  expect(rest).toEqual({ time, level: 'error', event: 'broken', hint: 'Repair it.' });
  expect(error).toEqual({
    name: 'TypeError',
    message: 'why',
    stack: expect.stringContaining('log.test.ts') as string,
  });
  expect(Object.keys(lines[1] ?? {})).toEqual(['time', 'level', 'event', 'count', 'big']);
});

test.each([
  'token',
  'key',
  'secret',
  'password',
  'authorization',
  'api_key',
  'old_password',
  'Token',
  'API_KEY',
])('the field %s is hidden', (name) => {
  const { log, lines } = start();
  // Twice: what is known of a name must not change.
  for (let n = 0; n < 2; n += 1) log.info('seen', { [name]: 'visible', [`${name}s_left`]: 3 });
  for (const line of lines) {
    expect(line).toMatchObject({ [name]: '[hidden]', [`${name}s_left`]: 3 });
  }
  expect(lines).toHaveLength(2);
});

test.each(['keys', 'monkey', 'token_count', 'secretary', 'keyname'])(
  'the field %s is no secret',
  (name) => {
    const { log, lines } = start();
    log.warn('seen', { [name]: 'visible' });
    expect(lines).toMatchObject([{ [name]: 'visible' }]);
  },
);

test('lines gathered in one round of the event loop are written together, each with its end', async () => {
  const written: string[] = [];
  const gatherer = new LineGatherer((text) => written.push(text));
  gatherer.add('one');
  gatherer.add('two');
  await new Promise((resolve) => setImmediate(resolve));
  gatherer.add('three');
  gatherer.flush();
  gatherer.flush();
  expect(written).toEqual(['one\ntwo\n', 'three\n']);
});

test('a line that stays alone is written too, at the end of its round', async () => {
  const written: string[] = [];
  const gatherer = new LineGatherer((text) => written.push(text));
  gatherer.add('one');
  expect(written).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(written).toEqual(['one\n']);
});

test('a line that comes while others are being written is written after them', async () => {
  const written: string[] = [];
  const gatherer = new LineGatherer((text) => {
    if (written.push(text) === 1) gatherer.add('meanwhile');
  });
  gatherer.add('one');
  gatherer.flush();
  await new Promise((resolve) => setImmediate(resolve));
  expect(written).toEqual(['one\n', 'meanwhile\n']);
});
