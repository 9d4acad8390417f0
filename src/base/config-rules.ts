/**
 * What two keys of the config file say together, and the values that follow from more than one key.
 *
 * Promises that keys which contradict each other are refused, each at the key to change, and that a key which was
 * refused already causes no second problem. Reads no file and never fails.
 */
import { UNLIMITED } from './config.ts';
import type { ConfigFile, Plan, Route } from './config.ts';
import type { Frozen } from './config-node.ts';
import type { Problems } from './config-table.ts';

/** Adds to `problems` what contradicts. */
export function checkTogether(file: ConfigFile, problems: Problems): void {
  checkPair(file.http, 'http', problems);
  checkPair(file.smtp, 'smtp', problems);
  checkDelivery(file.delivery, problems);
  checkPlans(file.plans, problems);
  if (file.store.requireStandby && file.store.url === '' && !problems.concern('store.url')) {
    problems.refuse('store.require_standby', 'needs url: files have no standby');
  }
  if (file.acme?.acceptTerms === false && !problems.concern('acme.accept_terms')) {
    problems.refuse(
      'acme.accept_terms',
      "must be true when acme.listen is set: you accept the authority's terms of service",
    );
  }
}

function checkPair(
  { tlsCert, tlsKey }: { tlsCert: string; tlsKey: string },
  path: string,
  problems: Problems,
): void {
  const [cert, key] = [`${path}.tls_cert`, `${path}.tls_key`];
  if ((tlsCert === '') === (tlsKey === '') || problems.concern(cert, key)) return;
  if (tlsCert === '') problems.refuse(key, 'needs tls_cert too: set both or neither');
  else problems.refuse(cert, 'needs tls_key too: set both or neither');
}

function checkDelivery(delivery: ConfigFile['delivery'], problems: Problems): void {
  const { mode, smarthost, routes } = delivery;
  if (smarthost !== null) checkLogin(smarthost, 'delivery.smarthost', problems);
  const isMissing = smarthost === null && !problems.concern('delivery.smarthost.host');
  if (isMissing && mode === 'smarthost') {
    problems.refuse('delivery.mode', 'is "smarthost", but delivery.smarthost.host is empty');
  }
  for (const [index, route] of routes.entries()) {
    const path = `delivery.routes[${index}]`;
    checkLogin(route, path, problems);
    if (isMissing && route.host === null && !problems.concern(`${path}.host`)) {
      problems.refuse(
        `${path}.host`,
        'is missing, and there is no [delivery.smarthost] to use instead',
      );
    }
  }
}

function checkLogin(
  { username, password }: { username: string; password: string },
  path: string,
  problems: Problems,
): void {
  if ((username === '') === (password === '')) return;
  if (problems.concern(`${path}.username`, `${path}.password`)) return;
  problems.refuse(`${path}.username`, 'and password belong together: set both or neither');
}

function checkPlans(plans: readonly Plan[], problems: Problems): void {
  const ids = new Set<string>();
  for (const [index, { id }] of plans.entries()) {
    const path = `plans[${index}].id`;
    if (problems.concern(path)) continue;
    if (id === UNLIMITED.id) problems.refuse(path, 'is "unlimited", which is built in');
    else if (ids.has(id)) problems.refuse(path, `is "${id}", as in a plan above`);
    ids.add(id);
  }
}

/** Where clients reach the API. */
export function publicUrlOf(http: ConfigFile['http']): string {
  return http.publicUrl === '' ? listenerUrlOf(http) : http.publicUrl;
}

/** The same when the config does not say. */
export function listenerUrlOf({
  listen,
  tlsCert,
}: Frozen<Pick<ConfigFile['http'], 'listen' | 'tlsCert'>>): string {
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  return `${tlsCert === '' ? 'http' : 'https'}://${host}:${listen.port}`;
}

/** The service's own name: this machine's when the config does not say. */
export function clusterNameOf({
  cluster,
  hostname,
}: Pick<ConfigFile, 'cluster' | 'hostname'>): string {
  return cluster.name === '' ? hostname : cluster.name;
}

/** The routes with their destinations; one without a host leads to the smarthost. */
export function routesOf({ routes, smarthost }: ConfigFile['delivery']): Route[] {
  return routes.flatMap(({ domains, host, ...login }) => {
    const target = host === null ? smarthost : { host, ...login };
    return target === null ? [] : [{ domains, target }];
  });
}

/** By id, the built-in plan first. */
export function plansOf(plans: readonly Plan[]): Map<string, Plan> {
  return new Map([UNLIMITED, ...plans].map((plan) => [plan.id, plan]));
}
