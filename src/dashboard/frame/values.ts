/**
 * How single values are written: states, times, sizes, what is to be copied.
 *
 * A time stands in UTC; `enhance.js` shows it in the reader's zone and keeps UTC as its title. A copy button appears
 * with that script only, since it cannot work without.
 */
import { readTime } from '../../base/iso-time.ts';
import { html, type Html, type HtmlValue } from './html.ts';

export type Tone = 'good' | 'fair' | 'bad' | 'neutral';

const TONES: Readonly<Record<string, Tone>> = {
  delivered: 'good',
  verified: 'good',
  found: 'good',
  active: 'good',
  ok: 'good',
  done: 'good',
  sent: 'good',
  accepted: 'good',
  live: 'good',
  bounced: 'bad',
  complained: 'bad',
  failed: 'bad',
  error: 'bad',
  disabled: 'bad',
  revoked: 'bad',
  wrong: 'bad',
  missing: 'bad',
  suppressed: 'fair',
  delivery_delayed: 'fair',
  deferred: 'fair',
  pending: 'fair',
  paused: 'fair',
  payment_required: 'fair',
  warning: 'fair',
};

/** The colour of the meaning of a state or an outcome. */
export function toneOf(word: string): Tone {
  return TONES[word] ?? 'neutral';
}

/** A state in the colour of its meaning. `tone`: for words that have none of their own. */
export function badge(word: string, tone: Tone = toneOf(word)): Html {
  return html`<span class="badge ${tone}">${word.replaceAll('_', ' ')}</span>`;
}

/** A time, to the second. */
export function time(atMs: number | null): Html | null {
  if (atMs === null) return null;
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** When the UTC day of a filter begins, such as `2026-11-22`; null for what is none, as the 31st of November. */
export function startOfDay(day: string): number | null {
  return /^[\d-]+$/.test(day) ? readTime(day) : null;
}

/** How `flow/deliver` begins the reason of a recipient that waits for a provider's pause to end. */
const SLOWED = /^Slowed down until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/;

/** Why a recipient waits or failed: our own times in it are written as all others; a receiver's words stay as they are. */
export function reasonWords(reason: string): HtmlValue {
  const [said = '', until = ''] = SLOWED.exec(reason) ?? [];
  const untilMs = Date.parse(until);
  if (Number.isNaN(untilMs)) return reason;
  return html`Slowed down until ${time(untilMs)}${reason.slice(said.length)}`;
}

/** A text to copy, such as a record or an id, with a button for it. Breaks anywhere, never the layout. */
export function copyable(text: string, what = 'Copy'): Html {
  return html`<span class="copyable"
    ><code>${text}</code
    ><button type="button" class="copy" data-copy="${text}" aria-label="${what}" hidden>
      Copy
    </button></span
  >`;
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** A size with at most one decimal: `1.2 MB`. Thousands, as disks count. */
export function bytes(count: number): string {
  let [value, unit] = [count, 0];
  // What would be rounded to 1,000 is one of the next unit.
  while (Math.round(value) >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  if (unit === 0) return count === 1 ? '1 byte' : `${count} bytes`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit] ?? ''}`;
}

/** A whole number: `1,200`. */
export function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** A number with its noun: `1 recipient`, `1,200 recipients`. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** A share in per cent, with the digits that a line of 0.1 % needs; a dash when there is nothing to divide by. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '–';
  const share = (part / whole) * 100;
  return `${Number(share.toFixed(share < 1 ? 2 : 1))} %`;
}

/** Lines that belong together, without those that have no value. */
export function lines(list: readonly HtmlValue[]): Html {
  return html`${list
    .filter((line) => line !== null && line !== undefined && line !== false && line !== '')
    .map((line) => html`<span class="line">${line}</span>`)}`;
}

/** The first `most` characters, and a line that says so where something is left out. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}\n…`;
}

/** The same of bytes in UTF-8, of which no more are decoded than that takes: three for a character at most. */
export function cutBytes(raw: Buffer, most: number): string {
  return cutText(raw.toString('utf8', 0, 3 * (most + 1)), most);
}
