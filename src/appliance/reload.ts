/**
 * Takes over a changed config file and changed certificates while the appliance runs.
 *
 * Promises all or nothing: a file with a problem, or a certificate that cannot be used, changes nothing, and the
 * reason goes to the log and to the caller. Requests, sessions and connections under way go on. Keys that need a restart
 * keep their old values and are named.
 */
import type { ConfigHolder } from './config-holder.ts';
import type { HttpListener } from './http-listener.ts';
import type { MailListeners } from './mail-listeners.ts';
import type { Config, Live } from '../base/config.ts';
import { differencesAtStartup } from '../base/config-parts.ts';
import { listenerUrlOf } from '../base/config-rules.ts';
import { CONFIG_FILE } from '../base/config-schema.ts';
import { OperatorError } from '../base/errors.ts';
import type { Reloaded } from '../control/operation.ts';
import type { Context } from '../flow/context.ts';

/** Where certificates are shown. */
export interface Listeners {
  http: HttpListener;
  mailListeners: MailListeners;
}

/** What a reload replaces and where the new config comes from. */
export interface ReloadParts {
  listeners: Listeners;
  holder: ConfigHolder;
  /** Reads the config file. Throws `OperatorError`. */
  load: () => Config;
}

/** Takes over what `load` gives, or throws `OperatorError` with everything as it was. Logs either. */
export function reload(ctx: Context, { listeners, holder, load }: ReloadParts): Reloaded {
  try {
    const next = load();
    const waiting = differencesAtStartup(CONFIG_FILE, holder.startup, next.startup);
    const { live, isWaiting } = withOldRelay(holder, withRunningUrl(holder, next));
    if (isWaiting) waiting.push('delivery.smarthost');
    const certificates = prepareCertificates({ startup: holder.startup, live }, listeners);
    if (certificates.isWaiting) waiting.push('http.tls_cert');
    const isNew = certificates.takeOver();
    // Nothing below can fail.
    holder.replaceLive(live);
    // Identities carry their plan.
    ctx.identities.forget();
    const done: Reloaded = { needs_restart: waiting, new_certificate: isNew };
    ctx.log.info('reloaded', { ...done });
    return done;
  } catch (error) {
    const refusal = refusalOf(error);
    ctx.log.error('reload_refused', { error: refusal, hint: refusal.hint });
    throw refusal;
  }
}

/** Shows a certificate that was renewed. Where it cannot be used, the old one stays, and the log says why. */
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
  { http, mailListeners }: Listeners,
): { isWaiting: boolean; takeOver(): boolean } {
  const change = http.prepare(config);
  const takeOverMail = mailListeners.prepare(config);
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

/** Without a public URL links lead to the listener, and that one stays what it is until a restart. */
function withRunningUrl({ listenerUrl }: ConfigHolder, { startup, live }: Config): Live {
  const { http } = live;
  if (http.publicUrl !== listenerUrlOf({ ...startup.http, tlsCert: http.tlsCert })) return live;
  return { ...live, http: { ...http, publicUrl: listenerUrl } };
}

/**
 * In mode "direct" the queue learns at the start whether there is a smarthost; which one it is may change. Keeps the old
 * one where that would begin or end having one.
 */
function withOldRelay(old: Config, next: Live): { live: Live; isWaiting: boolean } {
  const { smarthost } = old.live.delivery;
  const isSame = (smarthost === null) === (next.delivery.smarthost === null);
  if (old.startup.delivery.mode !== 'direct' || isSame) return { live: next, isWaiting: false };
  return { live: { ...next, delivery: { ...next.delivery, smarthost } }, isWaiting: true };
}
