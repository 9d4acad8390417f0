/**
 * What all attempts of a process share, made from the config: signatures, sessions, sites, and what was learnt of hosts.
 *
 * Only puts parts together. Throws `OperatorError` when the extra CA file cannot be read.
 */
import type { Listen } from '../../base/config.ts';
import { GuardedAgent } from '../../wire/https/guarded-agent.ts';
import { Ipv6Check } from '../../wire/dns/ipv6.ts';
import { MtaSts } from '../../wire/tls/mta-sts.ts';
import type { PolicyMemory } from '../../wire/tls/mta-sts.ts';
import { parseNetworks } from '../../wire/addresses/networks.ts';
import { PRODUCTION_DEADLINES } from '../../wire/smtp/deadlines.ts';
import type { Deadlines } from '../../wire/smtp/deadlines.ts';
import type { Context } from '../context.ts';
import type { DeliverTools } from './deliver.ts';
import { SignedMessages } from './signed-messages.ts';
import { Sites } from './site.ts';
import { ExtraTrust } from '../../wire/smtp/tls.ts';
import { readExtraCa } from '../extra-ca.ts';
import type { Concurrency } from '../pacing/concurrency.ts';
import { Sessions } from './session-pool.ts';
import { Fallback } from '../pacing/fallback.ts';
import { Sources } from './source-address.ts';
import { BrokenTls } from './tls-policy.ts';

export interface DeliverOptions {
  /** Where the capture receiver listens; null outside capture mode. */
  captureAt: Listen | null;
  deadlines?: Deadlines;
}

/** A name in the store's settings. */
const POLICIES = 'mta_sts';

function policyMemory({ store, revision }: Context): PolicyMemory {
  return {
    isShared: revision.number !== null,
    read: () => store.setting(POLICIES),
    write: (text) => store.setSetting(POLICIES, text),
  };
}

/** `concurrency` says when unproven sites are waited for less; `signal` ends every session by force. */
export function makeTools(
  ctx: Context,
  options: DeliverOptions,
  concurrency: Concurrency,
  signal: AbortSignal,
): DeliverTools & { policyAgent: GuardedAgent } {
  const { clock, log, resolver, config } = ctx;
  const { mode, sourceAddresses, allowNetworks } = config.startup.delivery;
  const hasSmarthost = mode === 'direct' && config.live.delivery.smarthost !== null;
  const fallback = new Fallback({ clock, log, hasSmarthost });
  const ca = readExtraCa(config.startup.tls.extraCaFile);
  const policyAgent = new GuardedAgent({
    resolver,
    allowNetworks: parseNetworks(allowNetworks),
    ca,
  });
  const sites = new Sites({
    ctx,
    captureAt: options.captureAt,
    sources: new Sources(sourceAddresses, new Ipv6Check(resolver, clock, sourceAddresses)),
    fallback,
    mtaSts: new MtaSts({ resolver, clock, agent: policyAgent, memory: policyMemory(ctx) }),
    dialing: {
      heloName: config.startup.hostname,
      deadlines: options.deadlines ?? PRODUCTION_DEADLINES,
      trust: ca.length === 0 ? undefined : new ExtraTrust(ca),
      signal,
    },
  });
  return {
    ctx,
    concurrency,
    fallback,
    sites,
    policyAgent,
    messages: new SignedMessages(ctx),
    sessions: new Sessions(clock),
    brokenTls: new BrokenTls(clock),
  };
}
