/**
 * The system's resolvers, from /etc/resolv.conf.
 *
 * Promises at least one server: without a file or an entry it is the one on loopback, as resolv.conf(5)
 * says. Reads `nameserver` lines only: search lists and options have no meaning for mail.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Listen } from '../../base/config.ts';

const DNS_PORT = 53;
/** MAXNS of resolv.conf(5). */
const MAX_SERVERS = 3;

/** The servers that `text` names, in its order, at most three. */
export function parseResolvConf(text: string): Listen[] {
  const servers: Listen[] = [];
  for (const line of text.split('\n')) {
    const host = /^nameserver\s+(\S+)/.exec(line)?.[1];
    if (host !== undefined && isIP(host) !== 0) servers.push({ host, port: DNS_PORT });
  }
  return servers.length > 0
    ? servers.slice(0, MAX_SERVERS)
    : [{ host: '127.0.0.1', port: DNS_PORT }];
}

/** Reads the file; a missing or unreadable one counts as empty. */
export function readResolvConf(path = '/etc/resolv.conf'): Listen[] {
  try {
    return parseResolvConf(readFileSync(path, 'utf8'));
  } catch {
    return parseResolvConf('');
  }
}
