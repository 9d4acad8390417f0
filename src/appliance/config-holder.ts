/**
 * The config of a running appliance: what needs a restart as it was at the start, and what a reload replaced last.
 *
 * Promises that `live` changes only here, as a whole, and that no value of either part changes. All other parts
 * see it as a `Config`, which has no way to replace anything. Never fails.
 */
import type { Config, Live, Startup } from '../base/config.ts';
import { freezeDeep } from '../base/config-parts.ts';
import { listenerUrlOf } from '../base/config-rules.ts';

export class ConfigHolder implements Config {
  readonly startup: Startup;
  /** Base URL of the listener that runs, where the config gives no public one. */
  readonly listenerUrl: string;
  #live: Live;

  constructor({ startup, live }: Config) {
    this.startup = freezeDeep(startup);
    this.#live = freezeDeep(live);
    this.listenerUrl = listenerUrlOf({ ...startup.http, tlsCert: live.http.tlsCert });
  }

  get live(): Live {
    return this.#live;
  }

  replaceLive(next: Live): void {
    this.#live = freezeDeep(next);
  }
}
