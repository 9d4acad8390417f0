/** Times that people and programs write. */

const TIME =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:Z|([+-]\d\d):?(\d\d))?)?$/i;

/**
 * A day, or a day and a time, in ISO 8601, as epoch milliseconds; without an offset it is UTC. Null for any other text, in
 * which `Date.parse` would find some time: "5" is May 2001 to it, and the 30th of February the 2nd of March.
 */
export function readTime(text: string): number | null {
  const [, day = '', clock = '00:00', hours, minutes = ''] = TIME.exec(text) ?? [];
  const offset = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  const isDay = !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  const at = isDay ? Date.parse(`${day}T${clock}${offset}`) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
