/**
 * The port for sealed secrets: all of them at once, for the checks of the secret key and for its replacement.
 *
 * Promises that a replacement is one commit: either every secret is sealed under the new key, or none is. The store
 * never opens one.
 */

/** One sealed value, and the row that it belongs to. */
export interface SealedSecret {
  kind: 'dkim' | 'next_dkim' | 'webhook' | 'previous_webhook' | 'totp' | 'setting';
  /** Of the domain, the endpoint or the operator; of a setting its name. */
  id: string;
  sealed: Uint8Array;
}

export interface SecretStore {
  /** Those of every account, deleted rows too. */
  sealedSecrets(): Promise<SealedSecret[]>;
  /** Replaces the given ones, and the settings (null removes one), in one commit. */
  replaceSecrets(
    secrets: readonly SealedSecret[],
    settings: Readonly<Record<string, string | null>>,
  ): Promise<void>;
}
