/**
 * One certificate from an ACME authority (RFC 8555) by the HTTP-01 challenge (section 8.3).
 *
 * The protocol is acme-client's, with its own HTTP client instead of guarded-agent, because an authority may be in the
 * operator's own network. Promises instead that the host in `directoryUrl`, which the operator chose, is the only one
 * that may be inside: every other host that the authority names must be https at public addresses, all of them checked
 * before one is dialled. Never follows a redirect, ignores proxies of the environment, never writes a file. Throws an
 * Error whose message is the authority's own reason.
 */
import { createHash, createPublicKey } from 'node:crypto';
import type { JsonWebKeyInput } from 'node:crypto';
import { Agent } from 'node:https';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';

import type { Client } from 'acme-client';

import { AddressGuard } from '../addresses/address-guard.ts';
import { parseNetworks } from '../addresses/networks.ts';
import type { Resolver } from '../dns/resolver.ts';

export interface CertificateOrder {
  directoryUrl: string;
  /** PEM. The authority makes an account for a key that it does not know. */
  accountKey: string;
  /** Empty: no contact. */
  email: string;
  /** Host names, the first one is the subject's common name. */
  names: string[];
  resolver: Resolver;
  /** PEM of a private authority's own root; null: the public roots. */
  ca: string | null;
  /** Publishes `answer` at `/.well-known/acme-challenge/<token>` on port 80 of every name. */
  answer(token: string, answer: string): void;
  /** Removes it again. */
  forget(token: string): void;
}

/** The library is large and needed every two months, so it is loaded when an order is made. */
async function loadClient() {
  return import('acme-client');
}

/** A new account key in PEM. */
export async function newAccountKey(): Promise<string> {
  const { crypto } = await loadClient();
  return (await crypto.createPrivateEcdsaKey('P-256')).toString();
}

/**
 * What `/.well-known/acme-challenge/<token>` answers for the account of this key: the token and the key's thumbprint
 * (RFC 8555 section 8.1, RFC 7638). `accountKey`: PEM or JWK. Throws for what is no key.
 */
export function keyAuthorization(token: string, accountKey: string | JsonWebKeyInput): string {
  const { crv, e, kty, n, x, y } = createPublicKey(accountKey).export({ format: 'jwk' });
  // The members that RFC 7638 section 3.2 requires, in the order of their names.
  const required = kty === 'EC' ? { crv, kty, x, y } : { e, kty, n };
  const thumbprint = createHash('sha256').update(JSON.stringify(required)).digest('base64url');
  return `${token}.${thumbprint}`;
}

/** Orders, proves, fetches. Returns PEM: the new private key, and the chain with the leaf first. */
export async function orderCertificate(
  order: CertificateOrder,
): Promise<{ key: string; chain: string }> {
  const { axios, Client, crypto } = await loadClient();
  const home = hostOf(order.directoryUrl);
  // No network is allowed in addition to the public internet.
  const guard = new AddressGuard(parseNetworks([]));
  let trouble = 'the authority could not be reached';
  const agent = new Agent({
    lookup: lookupBy(order.resolver, home, guard, (reason) => (trouble = reason)),
    ...(order.ca === null ? {} : { ca: order.ca }),
  });
  axios.defaults.httpsAgent = agent;
  axios.defaults.proxy = false;
  axios.defaults.maxRedirects = 0;
  const interceptor = axios.interceptors.request.use((request) => {
    refuseInside(request.url ?? '', home, guard);
    return request;
  });
  try {
    const client = new Client({ directoryUrl: order.directoryUrl, accountKey: order.accountKey });
    await openAccount(client, order.email);
    const keyPair = await crypto.createPrivateEcdsaKey('P-256');
    const request = { commonName: order.names[0] ?? '', altNames: order.names };
    const [key, csr] = await crypto.createCsr(request, keyPair);
    const chain = await client.auto({
      csr,
      challengePriority: ['http-01'],
      // The library would ask the runtime's own resolver, whose answers are not checked.
      skipChallengeVerification: true,
      challengeCreateFn: (authorization, challenge, answer) => {
        // The priority is no rule: without an HTTP-01 challenge the library takes another one.
        if (challenge.type === 'http-01')
          return Promise.resolve(order.answer(challenge.token, answer));
        const name = authorization.identifier.value;
        return Promise.reject(new Error(`the authority does not let ${name} be proved by HTTP`));
      },
      challengeRemoveFn: (_authorization, challenge) =>
        Promise.resolve(order.forget(challenge.token)),
    });
    return { key: key.toString(), chain };
  } catch (error) {
    // Without any response the library fails with a TypeError of its own, which does not say why.
    throw error instanceof TypeError ? new Error(trouble, { cause: error }) : error;
  } finally {
    axios.interceptors.request.eject(interceptor);
    agent.destroy();
  }
}

/** Makes the account, or finds it by its key. */
async function openAccount(client: Client, email: string): Promise<void> {
  const contact = email === '' ? {} : { contact: [`mailto:${email}`] };
  try {
    await client.createAccount({ termsOfServiceAgreed: true, ...contact });
  } catch (error) {
    // For an account that exists the library sends an update, which authorities refuse when it changes
    // nothing (RFC 8555 section 7.3.2). By then the account's URL is known, which is all that is needed.
    if (!hasAccountUrl(client)) throw error;
  }
}

function hasAccountUrl(client: Client): boolean {
  try {
    return client.getAccountUrl() !== '';
  } catch {
    return false;
  }
}

/** Lower case, an IP address without brackets; empty for what is no https URL. */
function hostOf(text: string): string {
  const url = URL.parse(text);
  return url?.protocol === 'https:' ? url.hostname.replace(/^\[(.*)\]$/, '$1') : '';
}

/** Throws for a URL that is not https, or whose host is an address that is not public: those need no lookup. */
function refuseInside(url: string, home: string, guard: AddressGuard): void {
  const host = hostOf(url);
  const isNamed = isIP(host) === 0;
  if (host !== '' && (host === home || isNamed || guard.allows(host))) return;
  throw new Error('the authority names a URL that is not https or not on the public internet');
}

/** Node and Bun connect to what this returns and to nothing else (test/regress/bun-outbound-lookup). */
function lookupBy(
  resolver: Resolver,
  home: string,
  guard: AddressGuard,
  noteTrouble: (reason: string) => void,
): LookupFunction {
  const refuse = (reason: string): Error => {
    noteTrouble(reason);
    return new Error(reason);
  };
  return (hostname, options, reply) => {
    void Promise.all([resolver.a(hostname), resolver.aaaa(hostname)]).then(([a, aaaa]) => {
      const found = [
        ...(a.kind === 'found' ? a.records.map((address) => ({ address, family: 4 })) : []),
        ...(aaaa.kind === 'found' ? aaaa.records.map((address) => ({ address, family: 6 })) : []),
      ];
      const [first] = found;
      if (first === undefined) {
        return reply(refuse(`${hostname} has no address in DNS`), '', 0);
      }
      if (hostname !== home && !found.every(({ address }) => guard.allows(address))) {
        return reply(refuse(`${hostname} does not lead to a public address`), '', 0);
      }
      if (options.all === true) return reply(null, found);
      return reply(null, first.address, first.family);
    });
  };
}
