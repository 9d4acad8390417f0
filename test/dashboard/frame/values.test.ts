/** Numbers, times and states as people read them: units and rounding at their borders, plurals, tones, escapes. */
import { expect, test } from 'bun:test';
import {
  badge,
  bytes,
  copyable,
  count,
  lines,
  percent,
  reasonWords,
  startOfDay,
  time,
  toneOf,
} from '../../../src/dashboard/frame/values.ts';
import { noticeOf } from '../../../src/dashboard/frame/notices.ts';
import { html } from '../../../src/dashboard/frame/html.ts';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [2, '2 bytes'],
  [999, '999 bytes'],
  [1_000, '1.0 KB'],
  [1_550, '1.6 KB'],
  [9_900, '9.9 KB'],
  [10_000, '10 KB'],
  [10_400, '10 KB'],
  [999_499, '999 KB'],
  [999_500, '1.0 MB'],
  [999_999_999, '1.0 GB'],
  [1_000_000, '1.0 MB'],
  [2_500_000_000, '2.5 GB'],
  [3e12, '3.0 TB'],
  [5e15, '5000 TB'],
])('%d bytes are %s', (size, words) => {
  expect(bytes(size)).toBe(words);
});

test('a count has its plural and groups of three digits', () => {
  expect(count(0, 'email')).toBe('0 emails');
  expect(count(1, 'email')).toBe('1 email');
  expect(count(2, 'email')).toBe('2 emails');
  expect(count(1_234_567, 'email')).toBe('1,234,567 emails');
  expect([count(1, 'entry', 'entries'), count(3, 'entry', 'entries')]).toEqual([
    '1 entry',
    '3 entries',
  ]);
});

test.each([
  [0, 0, '–'],
  [0, 10, '0 %'],
  [1, 10_000, '0.01 %'],
  [1, 300, '0.33 %'],
  [99, 10_000, '0.99 %'],
  [1, 100, '1 %'],
  [1, 3, '33.3 %'],
  [1, 2, '50 %'],
  [10, 10, '100 %'],
])('%d of %d is %s', (part, whole, words) => {
  expect(percent(part, whole)).toBe(words);
});

test('a time is shown to the second in UTC, and given in full to programs', () => {
  const at = Date.parse('2026-03-01T23:59:58.765Z');
  expect(String(time(at))).toBe(
    '<time datetime="2026-03-01T23:59:58.765Z">2026-03-01 23:59:58 UTC</time>',
  );
  expect(time(null)).toBeNull();
  expect(String(time(0))).toContain('1970-01-01 00:00:00 UTC');
});

test('each state has its tone, and words instead of underscores', () => {
  const tones = {
    good: 'delivered verified found active ok done sent accepted live',
    bad: 'bounced complained failed error disabled revoked wrong missing',
    fair: 'suppressed delivery_delayed deferred pending paused payment_required warning',
    neutral: 'queued sandbox none anything',
  };
  for (const [tone, states] of Object.entries(tones)) {
    for (const state of states.split(' '))
      expect([state, toneOf(state)]).toEqual([state, tone as never]);
  }
  expect(String(badge('payment_required'))).toBe(
    '<span class="badge fair">payment required</span>',
  );
  expect(String(badge('delivery_delayed_x'))).toBe(
    '<span class="badge neutral">delivery delayed x</span>',
  );
  expect(String(badge('failed', 'good'))).toBe('<span class="badge good">failed</span>');
  expect(String(badge('<b>'))).toContain('&lt;b&gt;');
});

test('the time in a reason is shown as a time, what follows stays', () => {
  const words = html`${reasonWords('Slowed down until 2026-03-01T10:00:00.000Z: 421 <later>')}`;
  expect(String(words)).toBe(
    'Slowed down until <time datetime="2026-03-01T10:00:00.000Z">2026-03-01 10:00:00 UTC</time>: 421 &lt;later&gt;',
  );
  for (const plain of ['550 no', 'Slowed down until 2026-13-41T10:00:00.000Z', 'x Slowed down']) {
    expect(reasonWords(plain)).toBe(plain);
  }
});

test('what can be copied is text wherever it stands, whatever it holds', () => {
  const shown = String(copyable('a"<b>', 'Copy "it"')).replaceAll(/\s+>/g, '>');
  expect(shown).toContain('<code>a&quot;&lt;b&gt;</code>');
  expect(shown).toContain('data-copy="a&quot;&lt;b&gt;"');
  expect(shown).toContain('aria-label="Copy &quot;it&quot;"');
  expect(String(copyable('x'))).toContain('aria-label="Copy"');
});

test('lines leave out what is empty, and keep a zero', () => {
  expect(String(lines(['a', null, '', false, undefined, 0]))).toBe(
    '<span class="line">a</span><span class="line">0</span>',
  );
});

test.each([
  ['', null],
  ['done=', null],
  ['done=nothing', null],
  ['done=constructor', null],
  ['done=saved', 'Saved.'],
  ['done=removed', 'Removed.'],
  ['done=revoked', 'Key revoked. It no longer works.'],
  ['done=retried&count=12', 'Recipients scheduled for delivery now: 12.'],
  ['done=retried&count=0', 'Recipients scheduled for delivery now: 0.'],
  ['done=retried&count=123456789', 'Recipients scheduled for delivery now: 123456789.'],
  ['done=retried&count=1234567890', 'Recipients scheduled for delivery now'],
  ['done=failed&count=x', 'Recipients marked as failed'],
  ['done=failed&count=-1', 'Recipients marked as failed'],
  ['count=3', null],
])('the notice of ?%s is %p', (query, words) => {
  expect(noticeOf(new URLSearchParams(query))).toBe(words);
});

test('a day of a filter begins at midnight in UTC; what is no day of a calendar is none', () => {
  expect(startOfDay('2026-11-22')).toBe(Date.UTC(2026, 10, 22));
  expect(startOfDay('2024-02-29')).toBe(Date.UTC(2024, 1, 29));
  const none = ['', '5', '2026-11', '22.11.2026', '2026-11-31', '2026-02-29', '2026-11-22T10:00'];
  expect(none.map(startOfDay)).toEqual(none.map(() => null));
});
