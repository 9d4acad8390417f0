/**
 * Takes over a changed config file and changed certificates while the appliance runs.
 *
 * Promises all or nothing: a file with a problem, or a certificate that can not be used, changes nothing, and what it is
 * goes to the log and to whoever asked. Requests, sessions and connections under way go on. Keys that need a restart
 * keep their old values and are named.
 */
import type { HttpListener } from './appliance-http.ts';
import type { MailDoors } from './appliance-mail.ts';
import type { Config } from './base/config.ts';
import { OperatorError } from './base/errors.ts';
import type { Reloaded } from './control/operation.ts';
import type { Context } from './flow/context.ts';
import { forgetKeys } from './flow/keys.ts';

/** Where certificates are shown. */
export interface Listeners {
  http: HttpListener;
  mailDoors: MailDoors;
}

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
  'delivery.sourceAddresses',
  'delivery.allowNetworks',
  'delivery.providers',
  'webhooks.allowNetworks',
];

/** Takes over what `load` gives, or throws `OperatorError` with everything as it was. Logs either. */
export function reload(ctx: Context, listeners: Listeners, load: () => Config): Reloaded {
  try {
    const next = load();
    const waiting = AT_START.filter((path) => keepOld(ctx.config, next, path.split('.')));
    if (keepWhetherRelayed(ctx.config, next)) waiting.push('delivery.smarthost');
    const certificates = prepareCertificates(next, listeners);
    if (certificates.isWaiting) waiting.push('http.tlsCert');
    const isNew = certificates.takeOver();
    // In place, as everybody holds it. Nothing below can fail.
    Object.assign(ctx.config, next);
    // Identities carry their plan.
    forgetKeys(ctx);
    const done: Reloaded = { needs_restart: waiting.map(nameInFile), new_certificate: isNew };
    ctx.log.info('reloaded', { ...done });
    return done;
  } catch (error) {
    const refusal = refusalOf(error);
    ctx.log.error('reload refused', { error: refusal, hint: refusal.hint });
    throw refusal;
  }
}

/** Shows a certificate that was renewed. Where it will not do, the old one stays, and the log says why. */
export function renewCertificates(ctx: Context, listeners: Listeners): void {
  try {
    prepareCertificates(ctx.config, listeners).takeOver();
  } catch (error) {
    const { hint } = refusalOf(error);
    ctx.log.error('certificates_refused', { error, hint });
  }
}

/**
 * Reads every certificate that `config` names. `takeOver` shows them, or throws with none changed; `isWaiting`: HTTP
 * would change between plain and TLS. Throws `OperatorError`.
 */
function prepareCertificates(
  config: Config,
  { http, mailDoors }: Listeners,
): { isWaiting: boolean; takeOver(): boolean } {
  const change = http.prepare(config);
  const takeOverMail = mailDoors.prepare(config);
  return {
    isWaiting: change.kind === 'restart',
    takeOver() {
      // The one step that can fail for want of a socket comes first.
      if (change.kind === 'pair') http.change(change.pair);
      return takeOverMail() || change.kind === 'pair';
    },
  };
}

function refusalOf(error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new OperatorError(message, 'Nothing has changed; the old config stays in force.');
}

type Tree = Record<string, unknown>;

/** Puts the old value of a key into `next`; whether it was another. */
function keepOld(config: object, next: object, path: string[]): boolean {
  const [key = '', ...rest] = path;
  const [old, fresh] = [(config as Tree)[key], (next as Tree)[key]];
  if (rest.length > 0) return keepOld(old as object, fresh as object, rest);
  if (JSON.stringify(old) === JSON.stringify(fresh)) return false;
  (next as Tree)[key] = old;
  return true;
}

/** Whether there is a smarthost beside direct delivery is known from the start; which one it is may change. */
function keepWhetherRelayed({ delivery: old }: Config, { delivery: next }: Config): boolean {
  const isSame = (old.smarthost === null) === (next.smarthost === null);
  if (old.mode !== 'direct' || isSame) return false;
  next.smarthost = old.smarthost;
  return true;
}

/** `http.tlsCert` → `http.tls_cert`. */
function nameInFile(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
