/**
 * What every step of a message's way is given: the appliance's parts and what it remembers while it runs. The story of
 * the flow:
 *
 * `accept` decides about a draft and commits it; `queue` picks what is due and `deliver` sends it, within the limits of
 * `pacing`; `outcome` turns the reply into delivered, deferred or failed, and one commit writes it with its events;
 * `webhooks` posts them. `reports` takes bounces and complaints that come later. `accounts`, `domains`, `suppressions`
 * and `content` are what these steps ask; `upkeep` keeps the appliance able to work.
 *
 * The files of this folder are the ground that all these folders share; they use none of them. A Context is made once, in
 * `appliance/context`, and handed down. A step names the parts it uses (`Pick<Context, 'store' | 'clock'>`), so that a
 * reader sees what it can touch.
 */
import type { Activities } from '../base/activities.ts';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { IdSource } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { SecretBox } from '../base/secret-box.ts';
import type { SigningPool } from '../mail/dkim/signing.ts';
import type { LargeMessages } from '../mail/large/large-messages.ts';
import type { Domain } from '../store/rows.ts';
import type { Nodes } from '../store/nodes.ts';
import type { Store } from '../store/store.ts';
import type { Resolver } from '../wire/dns/resolver.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { DiskSpace } from './disk-space.ts';
import type { Identity } from './draft.ts';
import type { Emulation } from './emulation.ts';
import type { EventFollowers } from './event-followers.ts';
import type { HaltSwitch } from './halt-switch.ts';
import type { KeyUses } from './key-uses.ts';
import type { NodeSession } from './node-session.ts';
import type { Revision } from './revision.ts';
import type { RowCache } from './row-cache.ts';
import type { Subscribers } from './subscribers.ts';

/** What the appliance is made of. */
export interface Parts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly resolver: Resolver;
  readonly secrets: SecretBox;
  readonly metrics: Metrics;
}

/** What the appliance remembers while it runs. */
export interface Memory {
  /** Of every id the appliance makes: rows, events, requests. */
  readonly ids: IdSource;
  readonly halt: HaltSwitch;
  /** What the rows kept here stand on, where several nodes share the store. */
  readonly revision: Revision;
  readonly disk: DiskSpace;
  /** Of everything that is on its way in, over all listeners. */
  readonly budget: ByteBudget;
  /** By the hash of a key's text. Forget them when a key, an account or a plan has changed. */
  readonly identities: RowCache<Identity>;
  readonly keyUses: KeyUses;
  /** By account and name, for the From address of every send. Forget them when a domain has changed. */
  readonly senderDomains: RowCache<Domain>;
  /** The accounts that may have webhook endpoints. Note an account before its endpoint is written. */
  readonly subscribers: Subscribers;
  /** Told of every event after its commit. */
  readonly followers: EventFollowers;
  /** What the main thread is at, for the log. */
  readonly doing: Activities;
}

export interface Context extends Parts, Memory {
  /** Composes and signs mail, on a thread of its own under load. */
  readonly signing: SigningPool;
  /** Reads large messages and bodies of requests beside the event loop. */
  readonly large: LargeMessages;
  /** Of a developer's emulator; null: an appliance. */
  readonly emulation: Emulation | null;
  /** This server among those that share the store; null: it has the store alone, or is a command. */
  readonly node: NodeSession | null;
  /** All that share the store; null: one process has it alone. */
  readonly nodes: Nodes | null;
}
