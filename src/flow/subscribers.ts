/**
 * Which accounts may have a webhook endpoint: only their events need the text that a webhook call carries.
 *
 * Promises yes for every account that has an endpoint, from before the endpoint's row is written until the process
 * ends; never asks the store while mail is accepted. A wrong yes only costs a text that is never sent, so no account is
 * ever removed; where other nodes make endpoints too, it is yes for all. The store creates calls only for endpoints that
 * exist at the commit, and keeps the text only where there is one.
 */
import type { WebhookStore } from '../store/webhooks.ts';

export class Subscribers {
  /** Null: any account. */
  readonly #accounts: Set<string> | null;

  private constructor(accounts: Set<string> | null) {
    this.#accounts = accounts;
  }

  /** Starts with the accounts that have an endpoint now. `isShared`: other nodes make endpoints on this store, too. */
  static async read(
    store: Pick<WebhookStore, 'accountsWithEndpoints'>,
    isShared: boolean,
  ): Promise<Subscribers> {
    return new Subscribers(isShared ? null : new Set(await store.accountsWithEndpoints()));
  }

  /** An endpoint of this account is about to be written: call it before, so that no event in between is missed. */
  note(accountId: string): void {
    this.#accounts?.add(accountId);
  }

  mayHave(accountId: string): boolean {
    return this.#accounts?.has(accountId) ?? true;
  }
}
