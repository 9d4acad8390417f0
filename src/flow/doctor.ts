/**
 * The host check: what would keep mail from arriving, found before the first mail is lost.
 *
 * Promises one finding a question, each with what to do, and that a question which could not be asked
 * (no internet, a resolver that is refused) says so instead of passing or failing. Never changes
 * anything and never throws for what the network does. Runs in the command, and hourly in the service.
 */
import type { DoctorContext, Finding } from './doctor-finding.ts';
import { examineConfig } from './doctor-config.ts';
import { examineIdentity } from './doctor-identity.ts';
import { examineMachine } from './doctor-machine.ts';
import { examineBlocklists, examineClock, examinePorts } from './doctor-network.ts';
import { examineResolver } from './doctor-resolver.ts';
import { examineSmarthost } from './doctor-smarthost.ts';

/**
 * Runs every examination; `onFinding` hears each finding as it comes, for a terminal that shows progress.
 * Takes up to about half a minute where a firewall swallows packets.
 */
export async function examine(
  ctx: DoctorContext,
  onFinding: (finding: Finding) => void = () => undefined,
): Promise<Finding[]> {
  const all: Finding[] = [];
  const hear = (found: Finding[]): void => {
    for (const one of found) onFinding(one);
    all.push(...found);
  };
  hear(await examineMachine(ctx));
  hear(await examineConfig(ctx));
  const resolving = await examineResolver(ctx);
  hear(resolving.findings);
  const identity = await examineIdentity(ctx);
  hear(identity.findings);
  const isOnline = resolving.isResolving;
  const network = [
    examinePorts(ctx, isOnline, identity.addresses),
    examineSmarthost(ctx),
    examineBlocklists(ctx, isOnline, identity.addresses),
    examineClock(ctx, isOnline),
  ];
  for (const part of network) hear(await part);
  return all;
}
