/**
 * Stands in for an appliance on a developer's machine: who sends with any key, and domains that verify by themselves.
 *
 * `startAppliance` makes one when the command `dev` asks for it; no config file can. Promises real rows behind
 * everything it lets through (an account, a key, a domain with its DKIM key), so that the rest of the appliance works
 * as it always does, and that it never opens where a listener could be reached from another machine. Fails with
 * `OperatorError` there.
 */
import type { Config } from '../base/config.ts';
import { OperatorError } from '../base/errors.ts';
import { createAccount } from '../flow/accounts/accounts.ts';
import { createKey } from '../flow/accounts/keys.ts';
import { planOf } from '../flow/accounts/plans.ts';
import type { Context } from '../flow/context.ts';
import { newDomain, verifyDomain } from '../flow/domains/domains.ts';
import type { Identity } from '../flow/draft.ts';
import type { Emulation } from '../flow/emulation.ts';
import type { Domain } from '../store/rows.ts';
import { isLoopback } from '../wire/dns/dns.ts';

/** What the developer chose. */
export interface EmulatorOptions {
  /** The one key that is taken beside those made over the API; null: any. */
  key: string | null;
}

const NAME = 'default';
const KEY_NAME = 'postrider dev';

export class Emulator implements Emulation {
  readonly #ctx: Context;
  readonly #options: EmulatorOptions;
  /** Domains that are being made, by account and name: requests that come together get one. */
  readonly #underWay = new Map<string, Promise<Domain>>();

  private constructor(ctx: Context, options: EmulatorOptions) {
    this.#ctx = { ...ctx, emulation: this };
    this.#options = options;
  }

  /** The context with an emulator, whose account and key exist. Throws `OperatorError` for an address that is not loopback. */
  static async open(ctx: Context, options: EmulatorOptions): Promise<Context> {
    refuseOpenAddresses(ctx.config);
    const emulator = new Emulator(ctx, options);
    await emulator.identify(options.key);
    return emulator.#ctx;
  }

  /** See `Emulation`. A client without a key is the developer's own too. */
  async identify(token: string | null): Promise<Identity | null> {
    const { key } = this.#options;
    if (key !== null && token !== null && token !== key) return null;
    return this.#ctx.identities.find(KEY_NAME, () => this.#developer());
  }

  /** See `Emulation`. */
  verified(accountId: string, name: string): Promise<Domain> {
    const label = `${accountId} ${name}`;
    const known = this.#underWay.get(label);
    if (known !== undefined) return known;
    const made = this.#verify(accountId, name).finally(() => this.#underWay.delete(label));
    this.#underWay.set(label, made);
    return made;
  }

  async #verify(accountId: string, name: string): Promise<Domain> {
    const ctx = this.#ctx;
    let domain = await ctx.store.domainByName(accountId, name);
    if (domain === null) {
      domain = await newDomain(ctx, accountId, name);
      await ctx.store.createDomain(domain, Number.MAX_SAFE_INTEGER);
    }
    return (await verifyDomain(ctx, accountId, domain.id)).domain;
  }

  async #developer(): Promise<Identity> {
    const ctx = this.#ctx;
    const account = (await ctx.store.account(NAME)) ?? (await createAccount(ctx, { name: NAME }));
    const keys = await ctx.store.keys(account.id);
    const known = keys.find(({ name, revokedAt }) => name === KEY_NAME && revokedAt === null);
    const key =
      known ??
      (await createKey(ctx, account.id, { name: KEY_NAME, permission: 'full_access' })).key;
    return { key, account, plan: planOf(ctx.config.live.plans, account), revision: null };
  }
}

function refuseOpenAddresses({ startup: { http, smtp } }: Config): void {
  const inbound = smtp.inbound === null ? [] : [smtp.inbound];
  const all = [http.listen, ...inbound, ...smtp.submission, ...smtp.submissions];
  const open = all.find(({ host }) => !isLoopback(host));
  if (open === undefined) return;
  throw new OperatorError(
    `An emulator listens on loopback only, not on ${open.host}.`,
    'To be reached from other machines, run `postrider serve`.',
  );
}
