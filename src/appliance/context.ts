/**
 * Opens what every part is given: store, key, resolver and memory, for the server and for commands that run without one.
 *
 * Promises that the data directory's lock is ours from here on, so that a second process is refused at once, and that
 * a failure halfway leaves nothing open.
 */
import { Activities } from '../base/activities.ts';
import type { MachineClock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { IdSource } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import type { SteadyClock } from '../base/steady-clock.ts';
import { ByteBudget } from '../flow/byte-budget.ts';
import type { Context, Parts } from '../flow/context.ts';
import { unlock } from '../flow/data-key.ts';
import { DiskSpace } from '../flow/disk-space.ts';
import type { Identity } from '../flow/draft.ts';
import { EventFollowers } from '../flow/event-followers.ts';
import { HaltSwitch } from '../flow/halt-switch.ts';
import { readClock } from '../flow/kept-clock.ts';
import { KeyUses } from '../flow/key-uses.ts';
import { Revision } from '../flow/revision.ts';
import { RowCache } from '../flow/row-cache.ts';
import { Subscribers } from '../flow/subscribers.ts';
import { SigningPool } from '../mail/dkim/signing.ts';
import { LargeMessages } from '../mail/large/large-messages.ts';
import type { Domain } from '../store/rows.ts';
import { beginSession } from './node.ts';
import { openStore } from './open-store.ts';
import { createResolver } from '../wire/dns/dns.ts';
import type { Resolver } from '../wire/dns/resolver.ts';

export interface ContextOptions {
  clock: MachineClock;
  log: Log;
  /** Instead of the appliance's own. */
  resolver?: Resolver;
  /** A server: where others share the store it has a session there. Default: a command, which has none. */
  server?: {
    /** Others have ended the session: the process must end. */
    ended: () => void;
  };
}

/** Throws `OperatorError` when the directory is in use, or the disk or the key cannot be used. */
export async function openContext(
  config: Config,
  options: ContextOptions,
): Promise<Context & { readonly clock: SteadyClock }> {
  const { clock: machine, log } = options;
  const metrics = new Metrics();
  const onCommit = (commitMs: number, writes: number): void => {
    metrics.commitSeconds.observe(commitMs / 1000);
    metrics.commitWrites.observe(writes);
  };
  const large = new LargeMessages({ log });
  const opened = await openStore(config.startup, {
    now: machine.now(),
    log,
    onCommit,
    decodeText: (bytes) => large.decode(bytes),
  });
  const { store } = opened;
  try {
    const clock = await readClock(machine, store);
    const ctx = await makeContext({
      config,
      clock,
      log,
      store,
      resolver: options.resolver ?? createResolver({ servers: config.startup.dns.servers, clock }),
      secrets: await unlock(config.startup.dataDir, store),
      metrics,
      large,
    });
    const node =
      opened.nodes === null || options.server === undefined
        ? null
        : await beginSession(config.startup, {
            clock,
            log,
            nodes: opened.nodes,
            ...options.server,
          });
    return { ...ctx, clock, node, nodes: opened.nodes };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** `large`: default: one of its own. */
type GivenParts = Parts & Partial<Pick<Context, 'large'>>;

/** Adds to the parts what the appliance remembers while it runs, read from the store where it outlives a restart. */
export async function makeContext({ large, ...parts }: GivenParts): Promise<Context> {
  const halt = new HaltSwitch(parts);
  const revision = await Revision.read({ store: parts.store, halt });
  const ctx: Context = {
    ...parts,
    ids: new IdSource(),
    halt,
    revision,
    disk: new DiskSpace(),
    budget: new ByteBudget(),
    identities: new RowCache<Identity>(parts.clock),
    keyUses: new KeyUses(parts),
    senderDomains: new RowCache<Domain>(parts.clock),
    subscribers: await Subscribers.read(parts.store, revision.number !== null),
    followers: new EventFollowers(),
    doing: new Activities(),
    signing: new SigningPool(parts),
    large: large ?? new LargeMessages(parts),
    emulation: null,
    node: null,
    nodes: null,
  };
  revision.onChange(() => {
    ctx.identities.forget();
    ctx.senderDomains.forget();
  });
  return ctx;
}

/** Writes what is only in memory yet, and frees the directory. */
export async function closeContext(ctx: Context): Promise<void> {
  await ctx.keyUses.flush();
  ctx.signing.stop();
  ctx.large.stop();
  await ctx.node?.end();
  await ctx.store.close();
}
