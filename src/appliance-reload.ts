/**
 * Takes over a changed config file and changed certificates while the appliance runs.
 *
 * Promises all or nothing: a file with a problem changes nothing and is logged with its lines. Keys that need a restart
 * keep their old values and are named in the log.
 */
import { takeOverCertificates } from './appliance.ts';
import type { Appliance } from './appliance.ts';
import type { Config } from './base/config.ts';
import { OperatorError } from './base/errors.ts';
import { forgetKeys } from './flow/keys.ts';

/** The rest is read anew at each use. */
const NEEDS_RESTART = ['hostname', 'dataDir', 'dnsServers', 'extraCaFile', 'acme'] as const;

/** Never throws: who sends SIGHUP reads the log. */
export function reload(appliance: Appliance, load: () => Config): void {
  const { ctx } = appliance;
  try {
    const next = load();
    const waiting = takeOver(ctx.config, next);
    // Identities carry their plan.
    forgetKeys(ctx);
    const hasNewCertificate = takeOverCertificates(ctx, appliance.http, appliance.mailDoors);
    ctx.log.info('reloaded', { needs_restart: waiting, new_certificate: hasNewCertificate });
  } catch (error) {
    const hint = error instanceof OperatorError ? error.hint : 'The old config stays in force.';
    ctx.log.error('reload refused', { error, hint });
  }
}

/** Changes `config` in place, as everybody holds it; returns the changed keys that wait for a restart. */
function takeOver(config: Config, next: Config): string[] {
  const waiting: string[] = NEEDS_RESTART.filter((key) => differs(config[key], next[key]));
  if (differs(config.http.listen, next.http.listen)) waiting.push('http.listen');
  if (differs(config.delivery.mode, next.delivery.mode)) waiting.push('delivery.mode');
  for (const key of ['inbound', 'submission', 'submissions'] as const) {
    if (differs(config.smtp[key], next.smtp[key])) waiting.push(`smtp.${key}`);
  }
  config.http = { ...next.http, listen: config.http.listen };
  config.delivery = { ...next.delivery, mode: config.delivery.mode };
  config.smtp = {
    ...next.smtp,
    inbound: config.smtp.inbound,
    submission: config.smtp.submission,
    submissions: config.smtp.submissions,
  };
  config.api = next.api;
  config.limits = next.limits;
  config.webhooks = next.webhooks;
  config.retention = next.retention;
  if (next.brake !== undefined) config.brake = next.brake;
  config.plans = next.plans;
  return waiting;
}

function differs(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}
