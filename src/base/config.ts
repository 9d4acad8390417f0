/**
 * The configuration, as the rest of the code base reads it: every key present, units in the names.
 *
 * The types follow from `config-schema.ts`, which declares each key with its default. Times are milliseconds, sizes
 * bytes.
 */
import type { Static } from '@sinclair/typebox';

import type { Frozen, PartOf } from './config-node.ts';
import { CONFIG_FILE } from './config-schema.ts';
import { defaultsOf } from './config-table.ts';

/** Everything that the file says, with the defaults. */
export type ConfigFile = Static<typeof CONFIG_FILE>;
/** A host and port to listen on. */
export type Listen = Frozen<ConfigFile['http']['listen']>;
export type Smarthost = Frozen<NonNullable<ConfigFile['delivery']['smarthost']>>;
/** What the operator knows of a provider's limits; before the built-in table. */
export type Provider = Frozen<ConfigFile['delivery']['providers'][number]>;
export type Plan = Frozen<ConfigFile['plans'][number]>;

export interface Route {
  /** `corp.example` or `*.corp.example`, lower-case A-labels. */
  readonly domains: readonly string[];
  readonly target: Smarthost;
}

/** Keys that need a restart: read once, the same as long as the process lives. */
export type Startup = PartOf<typeof CONFIG_FILE, 'startup'>;

type LiveKeys = PartOf<typeof CONFIG_FILE, 'live'>;

/** Keys that a reload replaces, all at once: read them at each use, never keep them. */
export interface Live extends Omit<LiveKeys, 'delivery' | 'plans'> {
  readonly delivery: Omit<LiveKeys['delivery'], 'routes'> & { readonly routes: readonly Route[] };
  /** By id; always has `unlimited`. */
  readonly plans: ReadonlyMap<string, Plan>;
}

/** Both frozen. `live` is another value after a reload. */
export interface Config {
  readonly startup: Startup;
  readonly live: Live;
}

/** The names under which this appliance is reached, the service's first; a name that is both stands once. */
export function ownNames({ cluster, hostname }: Pick<Startup, 'cluster' | 'hostname'>): string[] {
  return [...new Set([cluster.name, hostname])];
}

/** The plan every account has by default. */
export const UNLIMITED: Plan = {
  ...defaultsOf(CONFIG_FILE.properties.plans.items),
  id: 'unlimited',
};
