/**
 * One fixed story told to a store, and everything it answers as text: ids with names, times counted from the story's
 * beginning, keys in alphabetical order. Nothing in it depends on the clock or on chance, so each kind of store must
 * answer the same, to the letter.
 */
import { join } from 'node:path';

import type { Store } from '../../src/store/store.ts';

export const STORY_FILE = join(import.meta.dir, 'story.txt');

/** When the story begins (epoch milliseconds): three hours before a month ends. */
const BEGINNING = Date.UTC(2026, 0, 31, 21);
const YEAR_MS = 366 * 86_400_000;
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Verbs that promise no order among what is due at the same moment. */
const UNORDERED: ReadonlySet<string> = new Set([
  'callsDue',
  'beginCalls',
  'finish',
  'replayCalls',
  'sealedSecrets',
  'queueCounts',
]);

type Verb = Exclude<keyof Store, symbol>;

/** Epoch milliseconds so many seconds after the beginning. */
export const at = (seconds: number): number => BEGINNING + seconds * 1000;

export class Story {
  readonly blocks: string[] = [];
  readonly #store: Store;
  readonly #names = new Map<string, string>();
  readonly #ids = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The id of what is called `name`; at its first use it is made, for a moment so many seconds after the beginning. */
  id(name: string, seconds = 0): string {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const number = this.#ids.size + 1;
    const time = at(seconds).toString(16).padStart(12, '0');
    const tail = number.toString(16).padStart(12, '0');
    const id = `${time.slice(0, 8)}-${time.slice(8)}-7${tail.slice(-3)}-8000-${tail}`;
    this.#ids.set(name, id);
    this.#names.set(id, name);
    return id;
  }

  /** Calls a verb of the store, and writes down what it was asked and what it answered. */
  async ask<V extends Verb>(
    verb: V,
    ...args: Parameters<Store[V]>
  ): Promise<Awaited<ReturnType<Store[V]>>> {
    const answer = await this.#call(verb, args);
    this.blocks.push(
      `> ${verb}(${args.map((each) => this.line(each)).join(', ')})\n${this.#text(answer)}\n`,
    );
    return answer;
  }

  /** Calls a verb that changes something: what it was told stands in the steps, so only its answer is written down. */
  async tell<V extends Verb>(
    verb: V,
    ...args: Parameters<Store[V]>
  ): Promise<Awaited<ReturnType<Store[V]>>> {
    const answer = await this.#call(verb, args);
    this.blocks.push(`> ${verb}\n${this.#text(answer)}\n`);
    return answer;
  }

  /** Calls a verb once for each of `calls`, all in one moment, and writes down what became of each; null for a failure. */
  async tellTogether<V extends Verb>(
    verb: V,
    ...calls: Parameters<Store[V]>[]
  ): Promise<(Awaited<ReturnType<Store[V]>> | null)[]> {
    const ends = await Promise.allSettled(calls.map((args) => this.#call(verb, args)));
    const lines = ends.map((end) =>
      end.status === 'rejected' ? 'it fails' : this.#text(end.value).replaceAll('\n', ' '),
    );
    this.blocks.push(`> ${verb}, together\n${lines.join('\n')}\n`);
    return ends.map((end) => (end.status === 'fulfilled' ? end.value : null));
  }

  async #call<V extends Verb>(
    verb: V,
    args: Parameters<Store[V]>,
  ): Promise<Awaited<ReturnType<Store[V]>>> {
    const method = this.#store[verb] as (
      ...all: Parameters<Store[V]>
    ) => Promise<Awaited<ReturnType<Store[V]>>>;
    const answer = await method.apply(this.#store, args);
    if (UNORDERED.has(verb)) {
      const parts = answer as { calls?: unknown; largest?: unknown } | null;
      for (const list of [answer, parts?.calls, parts?.largest]) sortByText(list);
    }
    return answer;
  }

  /** Lists have a line for each row. */
  #text(answer: unknown): string {
    if (answer instanceof Set || answer instanceof Map) {
      const rows = [...answer];
      sortByText(rows);
      return this.#text(rows);
    }
    return Array.isArray(answer) && answer.length > 0
      ? answer.map((row) => this.line(row)).join('\n')
      : this.line(answer);
  }

  /** The value as one line. */
  line(value: unknown): string {
    const json = JSON.stringify(plain(value)) ?? 'nothing';
    return json.replaceAll(ID, (id) => this.#names.get(id) ?? this.#named(id));
  }

  /** Ids that a store makes itself are numbered as they come. */
  #named(id: string): string {
    const name = `made${this.#names.size - this.#ids.size + 1}`;
    this.#names.set(id, name);
    return name;
  }
}

function sortByText(list: unknown): void {
  const keyOf = (row: unknown): string => JSON.stringify(plain(row));
  if (Array.isArray(list)) list.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return 'octets ' + Buffer.from(value).toString('hex');
  if (typeof value === 'number' && Math.abs(value - BEGINNING) < YEAR_MS) {
    return `T${value < BEGINNING ? '' : '+'}${(value - BEGINNING) / 1000}s`;
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, plain(each)]));
}
