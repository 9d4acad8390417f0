/**
 * A command that runs until a signal (`serve`, `dev`), in this process: what it prints, signals that reach it alone, and
 * the listeners that it adds to the process, which go when it has ended.
 */
import { COMMANDS } from '../../src/commands/list.ts';
import { runProgram } from '../../src/commands/program.ts';

const EVENTS = ['exit', 'uncaughtException', 'unhandledRejection', 'SIGINT', 'SIGTERM', 'SIGHUP'];

/** A loop that was late, which is no fault of what is tested. */
export const BUSY_EVENTS: readonly string[] = ['loop_late', 'loop_blocked'];

type Listener = (...args: unknown[]) => void;
/** The names of signals are not among the events that the types of `process` list. */
const emitter = process as unknown as {
  listeners(event: string): Listener[];
  removeListener(event: string, listener: Listener): void;
};

export class Foreground {
  out = '';
  err = '';
  /** The exit code; it comes when the command has ended by itself or by a signal. */
  readonly ended: Promise<number>;
  /** Resolves when something stands on standard output that contains what the command prints last. */
  readonly ready: Promise<void>;
  readonly #before = new Map(EVENTS.map((event) => [event, emitter.listeners(event)]));

  /** `last`: what the command says when it is ready. */
  constructor(words: readonly string[], last: string) {
    const shown = Promise.withResolvers<void>();
    this.ready = shown.promise;
    this.ended = runProgram(COMMANDS, words, {
      print: (text) => {
        this.out += `${text}\n`;
        if (text.includes(last)) shown.resolve();
      },
      write: (text) => (this.out += text) !== '',
      say: (text) => void (this.err += `${text}\n`),
      note: (text) => void (this.err += text),
    });
    void this.ended.then(() => shown.reject(new Error(this.err))).catch(() => undefined);
  }

  /** What the command listens to: an event with the number of its listeners. */
  listening(): Record<string, number> {
    return Object.fromEntries(
      EVENTS.map((event) => [event, this.#added(event).length] as const).filter(([, n]) => n > 0),
    );
  }

  /** Calls the listeners that the command added: a signal, or the end of the process. */
  emit(event: string): void {
    for (const listener of this.#added(event)) listener(event);
  }

  /** The lines of the log, without their times; those that a busy machine causes are left out. */
  log(): Record<string, unknown>[] {
    const lines = this.err.split('\n').filter((line) => line.startsWith('{'));
    const all = lines.map((line) => {
      const { time: _, ...rest } = JSON.parse(line) as Record<string, unknown>;
      return rest;
    });
    return all.filter(({ event }) => !BUSY_EVENTS.includes(String(event)));
  }

  /** Takes the listeners away. */
  close(): void {
    for (const event of EVENTS) {
      for (const listener of this.#added(event)) emitter.removeListener(event, listener);
    }
  }

  #added(event: string): Listener[] {
    const before = this.#before.get(event) ?? [];
    return emitter.listeners(event).filter((listener) => !before.includes(listener));
  }
}
