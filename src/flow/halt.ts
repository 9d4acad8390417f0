/**
 * The kill switch: while it is on, sends answer `platform_halted` and the queue rests.
 *
 * Promises that the state survives a restart (it stands in the settings) and that `haltOf` answers at
 * once, from memory. Until `loadHalt` has run, the appliance counts as running.
 */
import { ApiError } from '../base/errors.ts';
import type { Context } from './context.ts';

export interface Halt {
  /** One sentence for people; shown to callers. */
  reason: string;
  /** Epoch milliseconds. */
  since: number;
}

const SETTING = 'halt';
/** Seconds after which a client may try again: operators halt for minutes, not for milliseconds. */
export const HALT_RETRY_SECONDS = 60;

const halts = new WeakMap<object, Halt>();

/** Reads the switch from the store. Call once, before anything accepts or delivers. */
export async function loadHalt(ctx: Pick<Context, 'store'>): Promise<Halt | null> {
  const text = await ctx.store.setting(SETTING);
  if (text === null) halts.delete(ctx.store);
  else halts.set(ctx.store, parseHalt(text));
  return haltOf(ctx);
}

/** The switch as it stands now; null while the appliance runs. */
export function haltOf(ctx: Pick<Context, 'store'>): Halt | null {
  return halts.get(ctx.store) ?? null;
}

/** Turns the switch on. In force when it resolves; a second halt keeps the first time and takes the new reason. */
export async function halt(
  ctx: Pick<Context, 'store' | 'clock' | 'log'>,
  reason: string,
): Promise<Halt> {
  const since = haltOf(ctx)?.since ?? ctx.clock.now();
  const state: Halt = { reason: reason.trim() || 'Halted by the operator.', since };
  // Memory first: a full disk must not keep an operator from stopping the appliance.
  halts.set(ctx.store, state);
  await ctx.store.setSetting(SETTING, JSON.stringify(state));
  ctx.log.warn('halted', { reason: state.reason });
  return state;
}

/** Turns the switch off. False when it was off. Waking the queue is the caller's part. */
export async function resume(ctx: Pick<Context, 'store' | 'log'>): Promise<boolean> {
  const wasOn = haltOf(ctx) !== null;
  await ctx.store.setSetting(SETTING, null);
  halts.delete(ctx.store);
  if (wasOn) ctx.log.info('resumed');
  return wasOn;
}

/** Throws `platform_halted` (503, with `Retry-After`) while the switch is on. */
export function refuseWhileHalted(ctx: Pick<Context, 'store'>): void {
  const state = haltOf(ctx);
  if (state === null) return;
  throw new ApiError('platform_halted', `Sending is halted: ${state.reason}`, {
    headers: { 'Retry-After': String(HALT_RETRY_SECONDS) },
  });
}

function parseHalt(text: string): Halt {
  const value = JSON.parse(text) as Partial<Halt>;
  return { reason: value.reason ?? 'Halted by the operator.', since: value.since ?? 0 };
}
