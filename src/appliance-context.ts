/**
 * Opens what every part is given: store, key, resolver, clock and log, for the server and for commands without one.
 *
 * Promises that the data directory's lock is held from here on, so that a second process is refused at once, and that
 * a failure halfway leaves nothing open.
 */
import type { Clock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import type { Log } from './base/log.ts';
import { Metrics } from './base/metrics.ts';
import { SecretBox } from './base/secret-box.ts';
import type { Context } from './flow/context.ts';
import { loadHalt } from './flow/halt.ts';
import { flushKeyUses } from './flow/keys.ts';
import { masterKey } from './store/key-file.ts';
import { openStore } from './store/sqlite.ts';
import { createResolver } from './wire/dns.ts';
import type { Resolver } from './wire/resolver.ts';

export interface ContextOptions {
  clock: Clock;
  log: Log;
  /** In place of the house's own. */
  resolver?: Resolver;
}

/** Throws `OperatorError` when the directory is in use, or the disk or the key will not do. */
export async function openContext(config: Config, options: ContextOptions): Promise<Context> {
  const { clock, log } = options;
  const metrics = new Metrics();
  const onCommit = (commitMs: number, writes: number): void => {
    metrics.commitSeconds.observe(commitMs / 1000);
    metrics.commitWrites.observe(writes);
  };
  const store = await openStore({ dataDir: config.dataDir, clock, log, onCommit });
  try {
    const ctx: Context = {
      config,
      clock,
      log,
      store,
      resolver: options.resolver ?? createResolver({ servers: config.dnsServers, clock }),
      secrets: new SecretBox(masterKey(config.dataDir)),
      metrics,
    };
    await loadHalt(ctx);
    return ctx;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Writes what is kept back, and frees the directory. */
export async function closeContext(ctx: Context): Promise<void> {
  await flushKeyUses(ctx);
  await ctx.store.close();
}
