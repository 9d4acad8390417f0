/**
 * The result of one question of the host check, in the shape that the terminal, `/health` and the dashboard share.
 *
 * Promises that every finding which is not `ok` says what to do. Holds no logic beyond that.
 */
import type { Config } from '../base/config.ts';
import type { Context } from '../flow/context.ts';

export type Level = 'ok' | 'warning' | 'error' | 'unchecked';

export interface Finding {
  /** Names the question: `reverse_dns_ipv4`, `port_25`, … */
  check: string;
  level: Level;
  /** What was seen, in one sentence. */
  summary: string;
  /** What to do, as an instruction; null when there is nothing to do. */
  advice: string | null;
}

/** The parts of the context that the host check uses. */
export type DoctorContext = Pick<Context, 'config' | 'clock' | 'resolver'>;

export const ok = (check: string, summary: string): Finding => ({
  check,
  level: 'ok',
  summary,
  advice: null,
});

/** A finding that asks the operator to do something. */
export function finding(
  check: string,
  level: 'warning' | 'error' | 'unchecked',
  summary: string,
  advice: string,
): Finding {
  return { check, level, summary, advice };
}

/** Whether the appliance itself connects to receivers, so that its addresses and port 25 matter. */
export function isDirect(config: Config): boolean {
  return config.startup.delivery.mode === 'direct';
}
