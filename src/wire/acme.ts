/**
 * One certificate from an ACME authority (RFC 8555) by the HTTP-01 challenge (section 8.3).
 *
 * The protocol is acme-client's; names are resolved by our own resolver, proxies of the environment are
 * ignored. Never writes a file. Throws an Error whose message is the authority's own reason.
 */
import { Agent } from 'node:https';
import type { LookupFunction } from 'node:net';

import type { Client } from 'acme-client';

import type { Resolver } from './resolver.ts';

export interface CertificateOrder {
  directoryUrl: string;
  /** PEM; the account is made at the authority when it does not know the key. */
  accountKey: string;
  /** Empty: no contact. */
  email: string;
  /** Host names, the first one is the subject's common name. */
  names: string[];
  resolver: Resolver;
  /** PEM of a private authority's own root; null: the public ones. */
  ca: string | null;
  /** Publishes `answer` at `/.well-known/acme-challenge/<token>` on port 80 of every name. */
  answer(token: string, answer: string): void;
  /** Takes it back. */
  forget(token: string): void;
}

/** The library is large and needed every two months: loaded when an order is made. */
async function loadClient() {
  return import('acme-client');
}

/** A new account key in PEM. */
export async function newAccountKey(): Promise<string> {
  const { crypto } = await loadClient();
  return (await crypto.createPrivateEcdsaKey('P-256')).toString();
}

/** Orders, proves, fetches. Returns PEM: the new private key, and the chain with the leaf first. */
export async function orderCertificate(
  order: CertificateOrder,
): Promise<{ key: string; chain: string }> {
  const { axios, Client, crypto } = await loadClient();
  const agent = new Agent({
    lookup: lookupBy(order.resolver),
    ...(order.ca === null ? {} : { ca: order.ca }),
  });
  axios.defaults.httpsAgent = agent;
  axios.defaults.proxy = false;
  try {
    const client = new Client({ directoryUrl: order.directoryUrl, accountKey: order.accountKey });
    await openAccount(client, order.email);
    const keyPair = await crypto.createPrivateEcdsaKey('P-256');
    const request = { commonName: order.names[0] ?? '', altNames: order.names };
    const [key, csr] = await crypto.createCsr(request, keyPair);
    const chain = await client.auto({
      csr,
      challengePriority: ['http-01'],
      // It would ask with the runtime's own resolver, whose answers are not to be trusted.
      skipChallengeVerification: true,
      challengeCreateFn: (_authorization, challenge, answer) =>
        Promise.resolve(order.answer(challenge.token, answer)),
      challengeRemoveFn: (_authorization, challenge) =>
        Promise.resolve(order.forget(challenge.token)),
    });
    return { key: key.toString(), chain };
  } finally {
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
    // nothing (RFC 8555 section 7.3.2). By then the account's URL is known, and that is all it takes.
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

function lookupBy(resolver: Resolver): LookupFunction {
  return (hostname, options, reply) => {
    void Promise.all([resolver.a(hostname), resolver.aaaa(hostname)]).then(([a, aaaa]) => {
      const found = [
        ...(a.kind === 'found' ? a.records.map((address) => ({ address, family: 4 })) : []),
        ...(aaaa.kind === 'found' ? aaaa.records.map((address) => ({ address, family: 6 })) : []),
      ];
      const [first] = found;
      if (first === undefined) {
        return reply(new Error(`${hostname} has no address in DNS`), '', 0);
      }
      if (options.all === true) return reply(null, found);
      return reply(null, first.address, first.family);
    });
  };
}
