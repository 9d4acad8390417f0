/**
 * Which accounts may have a webhook endpoint: only their events need the text that a webhook call carries.
 *
 * Promises yes for every account that has an endpoint, from before the endpoint's row is written until the process
 * ends; never asks the store while mail is accepted. A wrong yes only costs a text that is never sent, so no account is
 * ever removed. The store creates calls only for endpoints that exist at the commit.
 */
import type { WebhookStore } from '../store/webhooks.ts';

export class Subscribers {
  readonly #accounts: Set<string>;

  constructor(accountIds: Iterable<string> = []) {
    this.#accounts = new Set(accountIds);
  }

  /** Starts with the accounts that have an endpoint now. */
  static async read(store: Pick<WebhookStore, 'accountsWithEndpoints'>): Promise<Subscribers> {
    return new Subscribers(await store.accountsWithEndpoints());
  }

  /** An endpoint of this account is about to be written: call it before, so that no event in between is missed. */
  note(accountId: string): void {
    this.#accounts.add(accountId);
  }

  mayHave(accountId: string): boolean {
    return this.#accounts.has(accountId);
  }
}
