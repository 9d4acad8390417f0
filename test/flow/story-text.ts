/**
 * What a story left behind, as text: rows and lines one by one, without what differs from run to run.
 *
 * Ids are numbered in the order in which they appear; ports of loopback and the codes of return paths and unsubscribe links are dots. Times
 * stay: a story has a clock that stands still.
 */
export class StoryText {
  readonly #lines: string[] = [];
  readonly #numbers = new Map<string, string>();

  /** `value` as JSON behind its title; of a list, each item in a line of its own. */
  add(title: string, value: unknown): void {
    const rows = Array.isArray(value) ? value : [value];
    this.#lines.push(...rows.map((row) => `${title} ${JSON.stringify(plain(row))}`));
    if (rows.length === 0) this.#lines.push(`${title}: none`);
  }

  toString(): string {
    return this.#masked(`${this.#lines.join('\n')}\n`);
  }

  #masked(text: string): string {
    return text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
        const known = this.#numbers.get(id) ?? `id${this.#numbers.size + 1}`;
        this.#numbers.set(id, known);
        return known;
      })
      .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:…')
      .replaceAll(/<b-[0-9a-f]{32}-[0-9a-f]{16}@/g, '<b-…@')
      .replaceAll(/(unsubscribe\/)[\w.-]+/g, '$1…');
  }
}

/** Bytes as the text that they are, for people to read. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}
