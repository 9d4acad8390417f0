/**
 * Where the address that clients use and the way the API listens contradict each other.
 *
 * Reads the config alone. Serves `check`, which prints the warnings, and the host check. Never refuses: each of these
 * configs can be meant, with a proxy or a tunnel that the appliance does not see.
 */
import type { Config } from '../base/config.ts';
import { isLoopback } from '../wire/dns/dns.ts';

export interface UrlWarning {
  /** What contradicts, in one sentence. */
  summary: string;
  advice: string;
}

export function publicUrlWarnings({ startup, live }: Config): UrlWarning[] {
  const { publicUrl, tlsCert, trustedProxies } = live.http;
  const isHttps = publicUrl.startsWith('https:');
  const isHere = isLoopback(startup.http.listen.host);
  // ACME serves an address that clients reach themselves.
  const isTls = tlsCert !== '' || (startup.acme !== null && isHttps && !isHere);
  const warnings: UrlWarning[] = [];
  const isPublic = !isLoopback(new URL(publicUrl).hostname.replace(/^\[|\]$/g, ''));
  if (isTls && !isHttps) {
    warnings.push({
      summary: `[http] public_url is ${publicUrl}, but the API listens with TLS.`,
      advice: 'Write https in public_url: the links in mail and in the API begin with it.',
    });
  }
  if (!isTls && !isHere && trustedProxies.length === 0) {
    warnings.push({
      summary: 'The API listens without TLS on an address that other machines reach.',
      advice:
        'API keys and the dashboard password cross the network in clear text. Set [http] tls_cert or [acme], or listen on 127.0.0.1 behind a reverse proxy and name it in trusted_proxies.',
    });
  }
  if (!isTls && isHere && isPublic && trustedProxies.length === 0) {
    warnings.push({
      summary: `Clients reach the API at ${publicUrl} through a proxy, but [http] trusted_proxies is empty.`,
      advice:
        'All clients share one address then, and one who guesses the dashboard password keeps you out. Name the proxy, for example trusted_proxies = ["127.0.0.1/32"].',
    });
  }
  return warnings;
}
