/**
 * The appliance's own log: one JSON line an event on standard error.
 *
 * Promises a line per call with time, level and event name. Never writes secrets: callers pass named
 * fields, and a field whose name says secret is masked whatever its value. Mail is logged by the thousand, so a
 * line costs a few microseconds, and `LineGatherer` writes those of one tick of the event loop at once.
 */

export type Fields = Record<string, unknown>;

export interface Log {
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  /** `hint` tells the operator what to do next. */
  error(event: string, fields: Fields & { hint: string }): void;
}

const SECRET_FIELD = /(^|_)(token|key|secret|password|authorization)$/i;

/** A log that hands finished lines (without line end) to `write`. */
export function createLog(write: (line: string) => void, now: () => number): Log {
  // Remembered by field name: the names are our own, a few dozen.
  const secrecy = new Map<string, boolean>();
  const isSecret = (name: string): boolean => {
    let known = secrecy.get(name);
    if (known === undefined) {
      known = SECRET_FIELD.test(name);
      secrecy.set(name, known);
    }
    return known;
  };
  const put = (level: string, event: string, fields: Fields = {}): void => {
    const line: Fields = { time: new Date(now()).toISOString(), level, event };
    for (const name in fields) line[name] = isSecret(name) ? '[hidden]' : plain(fields[name]);
    write(JSON.stringify(line));
  };
  return {
    info: (event, fields) => put('info', event, fields),
    warn: (event, fields) => put('warn', event, fields),
    error: (event, fields) => put('error', event, fields),
  };
}

/**
 * Gathers lines and writes them together: at the end of a turn of the event loop, and on `flush`.
 *
 * A process that is killed loses the lines of its last tick; one that ends by itself must call `flush`.
 */
export class LineGatherer {
  readonly #write: (text: string) => void;
  #lines: string[] = [];

  /** `write` takes whole lines with their ends. */
  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(line: string): void {
    if (this.#lines.push(line) === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    if (this.#lines.length === 0) return;
    const text = `${this.#lines.join('\n')}\n`;
    this.#lines = [];
    this.#write(text);
  }
}

function plain(value: unknown): unknown {
  if (value instanceof Error)
    return { name: value.name, message: value.message, stack: value.stack };
  if (typeof value === 'bigint') return value.toString();
  return value;
}
