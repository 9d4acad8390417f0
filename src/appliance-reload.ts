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

/** Read once, at the start; everything else is read anew at each use. */
const AT_START = [
  'hostname',
  'dataDir',
  'dnsServers',
  'extraCaFile',
  'acme',
  'http.listen',
  'http.metricsNetworks',
  'smtp.inbound',
  'smtp.submission',
  'smtp.submissions',
  'delivery.mode',
  'delivery.allowNetworks',
  'webhooks.allowNetworks',
];

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

type Tree = Record<string, unknown>;

/** Changes `config` in place, as everybody holds it; returns the changed keys that wait for a restart. */
function takeOver(config: Config, next: Config): string[] {
  const waiting = AT_START.filter((path) => keepOld(config, next, path.split('.')));
  Object.assign(config, next);
  return waiting;
}

/** Puts the old value of a key into `next`; whether it was another. */
function keepOld(config: object, next: object, path: string[]): boolean {
  const [key = '', ...rest] = path;
  const [old, fresh] = [(config as Tree)[key], (next as Tree)[key]];
  if (rest.length > 0) return keepOld(old as object, fresh as object, rest);
  if (JSON.stringify(old) === JSON.stringify(fresh)) return false;
  (next as Tree)[key] = old;
  return true;
}
