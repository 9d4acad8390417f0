/**
 * The appliance's own log: one JSON line an event on standard error.
 *
 * Promises a line per call with time, level and event name. Never writes secrets: callers pass named
 * fields, and a field whose name says secret is masked whatever its value.
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
  const put = (level: string, event: string, fields: Fields = {}): void => {
    const line: Fields = { time: new Date(now()).toISOString(), level, event };
    for (const [name, value] of Object.entries(fields)) {
      line[name] = SECRET_FIELD.test(name) ? '[hidden]' : plain(value);
    }
    write(JSON.stringify(line));
  };
  return {
    info: (event, fields) => put('info', event, fields),
    warn: (event, fields) => put('warn', event, fields),
    error: (event, fields) => put('error', event, fields),
  };
}

function plain(value: unknown): unknown {
  if (value instanceof Error)
    return { name: value.name, message: value.message, stack: value.stack };
  if (typeof value === 'bigint') return value.toString();
  return value;
}
