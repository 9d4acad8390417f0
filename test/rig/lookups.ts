/**
 * A test's DNS servers and resolvers, made with the patience of production and closed together.
 */
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { Listen } from '../../src/base/config.ts';
import { PATIENCE } from '../../src/wire/dns/query.ts';
import type { Patience } from '../../src/wire/dns/query.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import type { Resolver } from '../../src/wire/dns/resolver.ts';
import { startNames } from './names.ts';
import type { Names } from './names.ts';
import { startRawDns } from './raw-dns.ts';
import type { Asked, RawDns } from './raw-dns.ts';

/** For tests of silence. */
export const SHORT: Patience = { rounds: [200, 400], loneRounds: [200, 400, 400], tcp: 600 };

export class Lookups {
  readonly #closing: (() => unknown)[] = [];

  async names(): Promise<Names> {
    const server = await startNames();
    this.#closing.push(() => server.stop());
    return server;
  }

  async raw(respond: (asked: Asked) => Buffer[], host?: string): Promise<RawDns> {
    const server = await startRawDns(respond, host);
    this.#closing.push(() => server.stop());
    return server;
  }

  resolver(
    servers: { listen: Listen }[],
    clock: Clock = systemClock,
    patience: Patience = PATIENCE,
  ): Resolver & { close(): void } {
    const made = createResolver({ servers: servers.map((s) => s.listen), clock, patience });
    this.#closing.push(() => made.close());
    return made;
  }

  /** Call after each test. */
  async close(): Promise<void> {
    for (const close of this.#closing.splice(0)) await close();
  }
}
