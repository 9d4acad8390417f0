/**
 * What the host check says: one finding a question, in a shape that the terminal, `/health` and the page share.
 */
import type { Config } from '../base/config.ts';
import type { Context } from './context.ts';

export type Level = 'ok' | 'warning' | 'error' | 'unchecked';

export interface Finding {
  /** Which question, a fixed word: `reverse_dns_ipv4`, `port_25`, … */
  check: string;
  level: Level;
  /** What was seen, in one sentence. */
  summary: string;
  /** What to do next; null when nothing needs doing. */
  advice: string | null;
}

/** What an examination needs of the context. */
export type DoctorContext = Pick<Context, 'config' | 'clock' | 'resolver'>;

export const ok = (check: string, summary: string): Finding => ({
  check,
  level: 'ok',
  summary,
  advice: null,
});

/** A finding that wants something done. */
export function finding(
  check: string,
  level: 'warning' | 'error' | 'unchecked',
  summary: string,
  advice: string,
): Finding {
  return { check, level, summary, advice };
}

/** Whether mail leaves the machine by our own sessions to receivers, so that address and port 25 matter. */
export function isDirect(config: Config): boolean {
  return config.delivery.mode === 'direct';
}
