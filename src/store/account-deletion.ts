/**
 * The port for deleting an account with everything that it has.
 *
 * Goes in two parts, the second in steps with other writes between them. Promises that nothing is sent, called or
 * accepted for the account once `closeAccount` has resolved, but for what is under way, and that its row goes last, in
 * the commit that leaves nothing else of it: a deletion that was cut off is gone on with by calling both again.
 */

/** How many rows went. */
export interface DeletedRows {
  messages: number;
  /** Of the request log. */
  log_rows: number;
  suppressions: number;
  confirmed: number;
  domains: number;
  webhooks: number;
}

export interface AccountDeletionStore {
  /** Pauses the account with `reason`, deletes its keys, disables its endpoints. Returns how many keys went. */
  closeAccount(accountId: string, reason: string): Promise<number>;
  /**
   * Deletes everything of a closed account. `settings`: names of those that are its own. `progress` hears how many
   * messages are gone.
   */
  removeAccount(
    accountId: string,
    settings: readonly string[],
    progress: (messages: number) => void,
  ): Promise<DeletedRows>;
}
