/**
 * The host check: finds what would keep mail from arriving, before the first mail is lost.
 *
 * Promises one finding for each question, with what to do about it, and that a question which could not be asked (no
 * internet, a resolver that a blocklist refuses) is reported as unchecked, not as passed or failed. Never changes
 * anything on the host and never throws for what the network does. Runs in `postrider doctor`, and hourly in the
 * service.
 */
import type { DoctorContext, Finding } from './finding.ts';
import { examineConfig } from './config.ts';
import { examineDatabase } from './database.ts';
import { examineIdentity } from './identity.ts';
import { examineMachine } from './machine.ts';
import { examineBlocklists, examineClock, examinePorts } from './network.ts';
import { examineResolver } from './resolver.ts';
import { examineSmarthost } from './smarthost.ts';

/**
 * Runs every examination; `onFinding` is called with each finding as it comes, for a terminal that shows progress.
 * Takes up to about half a minute where a firewall drops packets.
 */
export async function examine(
  ctx: DoctorContext,
  onFinding: (finding: Finding) => void = () => undefined,
): Promise<Finding[]> {
  const all: Finding[] = [];
  const add = (found: Finding[]): void => {
    for (const one of found) onFinding(one);
    all.push(...found);
  };
  add(await examineMachine(ctx));
  add(await examineConfig(ctx));
  add(await examineDatabase(ctx));
  const resolving = await examineResolver(ctx);
  add(resolving.findings);
  const identity = await examineIdentity(ctx);
  add(identity.findings);
  const isOnline = resolving.isResolving;
  const network = [
    examinePorts(ctx, isOnline, identity.addresses),
    examineSmarthost(ctx),
    examineBlocklists(ctx, isOnline, identity.addresses),
    examineClock(ctx, isOnline),
  ];
  for (const part of network) add(await part);
  return all;
}
