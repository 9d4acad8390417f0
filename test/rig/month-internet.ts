/**
 * The internet of the month (`month.ts`) on loopback, for an appliance that really delivers: DNS with the mail hosts of
 * its destinations and the records of its domains, a receiver that plays all of them, an endpoint for webhook calls.
 *
 * Promises that nothing leaves the machine. Yahoo asks to slow down, `slow.example` takes no connection; everything else
 * is accepted. A domain that is `new.` publishes a wrong return path and no DMARC record.
 */
import { allRecords } from '../../src/flow/domains/records.ts';
import type { Domain } from '../../src/store/rows.ts';
import { testAuthority } from './certificates.ts';
import { startHook } from './hook.ts';
import { DESTINATIONS, YAHOO_DEFERS } from './month-plan.ts';
import { type Names, startNames } from './names.ts';
import { startReceiver } from './receiver.ts';

/** Nobody listens there. */
const NOWHERE = '127.0.0.99';

export interface MonthInternet {
  names: Names;
  /** TOML for the appliance: `[delivery]`, `[dns]`, `[tls]`, `[webhooks]`. */
  config: string;
  publish(hostname: string, domains: readonly Domain[]): void;
  stop(): Promise<void>;
}

export async function startMonthInternet(): Promise<MonthInternet> {
  const names = await startNames();
  const receiver = await startReceiver({ hostname: 'gmail-smtp-in.l.google.com' });
  const hook = await startHook('hooks.rig.test');
  names.set('hooks.rig.test', 'A', [hook.host]);
  for (const { domain, host } of DESTINATIONS) {
    if (host === '') continue;
    names.set(domain, 'MX', [`10 ${host}`]);
    names.set(host, 'A', [domain === 'slow.example' ? NOWHERE : receiver.host]);
  }
  const [code, enhanced, words] = YAHOO_DEFERS;
  receiver.script.rcpt = (to) =>
    to.endsWith('@yahoo.com') ? `${code} ${enhanced} ${words}` : null;
  return {
    names,
    config: `[delivery]
port = ${receiver.port}
allow_networks = ["127.0.0.0/8"]
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"
[webhooks]
allow_networks = ["127.0.0.0/8"]`,
    publish(hostname, domains) {
      names.set(hostname, 'A', ['127.0.0.1']);
      for (const domain of domains) {
        const isNew = domain.name.startsWith('new.');
        for (const { record, type, name, value } of allRecords(hostname, domain)) {
          if (isNew && record === 'DMARC') continue;
          const isWrong = isNew && record === 'SPF';
          names.set(name, type, [isWrong ? value.replace('mail.', 'smtp.') : value]);
        }
      }
    },
    async stop() {
      await Promise.all([names.stop(), receiver.stop(), hook.stop()]);
    },
  };
}
