/**
 * What every step of the journey is given: seven things, made once by the appliance.
 *
 * Holds no state of its own and no behaviour.
 */
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { SecretBox } from '../base/secret-box.ts';
import type { Store } from '../store/store.ts';
import type { Resolver } from '../wire/resolver.ts';

export interface Context {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly resolver: Resolver;
  readonly secrets: SecretBox;
  readonly metrics: Metrics;
}
