/**
 * What all attempts of a process share, made from the config: signatures, sessions, sites, memories.
 *
 * Holds no behaviour of its own. Throws `OperatorError` when the extra CA file can not be read.
 */
import type { Listen } from '../base/config.ts';
import { GuardedAgent } from '../wire/guarded-agent.ts';
import { Ipv6Check } from '../wire/ipv6.ts';
import { MtaSts } from '../wire/mta-sts.ts';
import type { PolicyMemory } from '../wire/mta-sts.ts';
import { parseNetworks } from '../wire/public-address.ts';
import { PRODUCTION_DEADLINES } from '../wire/smtp-deadlines.ts';
import type { Deadlines } from '../wire/smtp-deadlines.ts';
import type { Context } from './context.ts';
import type { DeliverTools } from './deliver.ts';
import { SignedMessages } from './deliver-message.ts';
import { Sites } from './deliver-site.ts';
import { readExtraCa } from './extra-ca.ts';
import type { Room } from './room.ts';
import { Sessions } from './sessions.ts';
import { Fallback } from './smarthost.ts';
import { Sources } from './sources.ts';
import { BrokenTls } from './tls-policy.ts';

export interface DeliverOptions {
  /** Where the capture receiver listens; null outside capture mode. */
  captureAt: Listen | null;
  deadlines?: Deadlines;
}

/** A name in the store's settings. */
const POLICIES = 'mta_sts';

function policyMemory({ store }: Context): PolicyMemory {
  return {
    read: () => store.setting(POLICIES),
    write: (text) => store.setSetting(POLICIES, text),
  };
}

/** `room` tells when strangers get less patience; `signal` ends every session by force. */
export function makeTools(
  ctx: Context,
  options: DeliverOptions,
  room: Room,
  signal: AbortSignal,
): DeliverTools & { policyAgent: GuardedAgent } {
  const { clock, log, resolver, config } = ctx;
  const { mode, smarthost, sourceAddresses, allowNetworks } = config.delivery;
  const hasSmarthost = mode === 'direct' && smarthost !== null;
  const fallback = new Fallback({ clock, log, hasSmarthost });
  const ca = readExtraCa(config);
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
  });
  return {
    ctx,
    signal,
    room,
    fallback,
    sites,
    policyAgent,
    messages: new SignedMessages(ctx),
    sessions: new Sessions(clock),
    brokenTls: new BrokenTls(clock),
    deadlines: options.deadlines ?? PRODUCTION_DEADLINES,
    extraCa: ca.length === 0 ? undefined : ca,
  };
}
