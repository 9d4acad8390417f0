/**
 * The port for erasing a person: everything that names one address.
 *
 * Goes in steps with other writes between them. Promises that a message with other recipients stays for them, without
 * its content, and that mail which still waits for delivery is left alone and counted. Suppressions stay, because the
 * person must not be mailed again. What went before a failure is gone; running it again goes on.
 */

/** How many rows went, or were left. */
export interface Erased {
  /** Messages to this address alone, with all that hung on them. */
  messages: number;
  /** Messages with other recipients: this one, its events and the content went. */
  shared: number;
  /** Messages that were left, because a recipient still waits. */
  waiting: number;
  log_rows: number;
  confirmed: number;
  /** Suppressions that stay, without note and source. */
  suppressions_kept: number;
}

export interface ErasureStore {
  /** `address` in lower case; `accountId` null: in every account. */
  eraseAddress(address: string, accountId: string | null): Promise<Erased>;
}
