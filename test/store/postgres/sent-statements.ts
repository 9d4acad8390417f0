/**
 * Every statement that the store on PostgreSQL sends, verb by verb and in the order in which it sends them, as text:
 * sent-statements.txt. A statement that stands there already is shown by its beginning.
 */
import { spyOn } from 'bun:test';
import { createHash } from 'node:crypto';
import { join } from 'node:path';

import { Connection } from '../../../src/store/postgres/connection.ts';

export const SENT_FILE = join(import.meta.dir, 'sent-statements.txt');

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const DAY = /_20\d{6}\b/g;
/** Longer than any statement but a step of the schema. */
const STEP_LENGTH = 8_000;
const BEGINNING_LENGTH = 70;
/** The rest of it is the server's own text. */
const INDEX = /^(CREATE (?:UNIQUE )?INDEX \S+ ON (?:ONLY )?\S+) .*/;

/** Days, and ids in statements that take no parameters, depend on the clock. */
function textOf(sql: string): string {
  if (sql.length > STEP_LENGTH) {
    return `a step of the schema, ${createHash('sha256').update(sql).digest('hex')}`;
  }
  return sql
    .replaceAll(ID, 'ID')
    .replaceAll(DAY, '_DAY')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(INDEX, '$1');
}

/** A number above it is a time, which may be that of the clock. */
const MOST = 1e10;

/** Numbers that a statement is given, such as limits and locks, and how long its answer may take. */
function numbersOf([text, params = [], answerMs]: Parameters<Connection['ask']>): string {
  // Each transaction has its own.
  if (text.startsWith('INSERT INTO commits')) return '';
  const numbers = params.filter((each) => typeof each === 'number' && each < MOST);
  const given = [
    ...(numbers.length === 0 ? [] : [numbers.join(', ')]),
    ...(answerMs === undefined ? [] : [answerMs === null ? 'any time' : `${answerMs} ms`]),
  ];
  return given.length === 0 ? '' : ` -- ${given.join('; ')}`;
}

/** The server names its indexes in any order. */
function sortedIndexes(texts: readonly string[]): string[] {
  const isIndex = (text: string): boolean => / INDEX /.test(text.slice(0, 30));
  const first = texts.findIndex(isIndex);
  if (first === -1) return [...texts];
  const after = texts.slice(first);
  const end = after.findIndex((text) => !isIndex(text));
  const count = end === -1 ? after.length : end;
  return [
    ...texts.slice(0, first),
    ...after.slice(0, count).toSorted(),
    ...sortedIndexes(after.slice(count)),
  ];
}

export class Sent {
  readonly #sent: string[] = [];
  readonly #known = new Set<string>();
  readonly #blocks = new Set<string>();
  readonly #spies: { mockRestore(): void }[] = [];

  constructor() {
    // oxlint-disable-next-line typescript/unbound-method -- each is called with its connection
    const { ask, copyIn, copyOut } = Connection.prototype;
    const sent = this.#sent;
    const note = (text: string, numbers = ''): void => {
      const one = textOf(text) + numbers;
      // What is asked until something has ended is asked a number of times that nobody knows.
      if (sent.at(-1) !== one) sent.push(one);
    };
    this.#spies.push(
      spyOn(Connection.prototype, 'ask').mockImplementation(function (this: Connection, ...args) {
        note(args[0], numbersOf(args));
        return ask.apply(this, args) as never;
      }),
      spyOn(Connection.prototype, 'copyIn').mockImplementation(function (this: Connection, text) {
        note(text);
        return copyIn.call(this, text);
      }),
      spyOn(Connection.prototype, 'copyOut').mockImplementation(function (this: Connection, text) {
        note(text);
        return copyOut.call(this, text);
      }),
    );
  }

  /** What `work` sends, which is written down unless it was before. */
  async of<T>(title: string, work: () => Promise<T>): Promise<T> {
    this.#sent.length = 0;
    const answer = await work();
    if (this.#sent.length > 0) {
      this.#blocks.add([`== ${title}`, ...sortedIndexes(this.#sent)].join('\n'));
    }
    return answer;
  }

  /** An object whose methods are noted by their names. */
  noting<T extends object>(of: T): T {
    return new Proxy(of, {
      get: (_, name: string & keyof T) => {
        const method = of[name];
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) =>
          this.of(name, async () => Reflect.apply(method, of, args) as unknown);
      },
    });
  }

  /** The text of the file. */
  text(): string {
    const lines = [...this.#blocks].flatMap((block) => block.split('\n'));
    return lines.map((line) => this.#once(line)).join('\n') + '\n';
  }

  end(): void {
    for (const spy of this.#spies) spy.mockRestore();
  }

  #once(line: string): string {
    const [text = '', numbers] = line.split(' -- ');
    if (line.startsWith('==') || text.length <= BEGINNING_LENGTH) return line;
    if (!this.#known.has(text)) {
      this.#known.add(text);
      return line;
    }
    const beginning = `${text.slice(0, BEGINNING_LENGTH)} …`;
    return numbers === undefined ? beginning : `${beginning} -- ${numbers}`;
  }
}
