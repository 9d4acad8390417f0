/**
 * The port for settings of the whole appliance: small texts by name.
 *
 * Whoever owns a setting owns its name and the form of its text; no name is written in two files. One whose name begins
 * with `EXPIRING` has a time as its text, and goes some time after it. One whose name begins with `SEALED` has a sealed
 * secret as its text, in hex, and is among those of `SecretStore`; its name is the label that it is sealed under.
 */

/** What begins the names of settings that expire; their text: epoch milliseconds, by steady time. */
export const EXPIRING = 'until:';

/** What begins the names of settings whose text is a sealed secret, in lower-case hex. */
export const SEALED = 'sealed:';

export interface SettingStore {
  setting(name: string): Promise<string | null>;
  /** Null removes it. `isRemembered`: nodes keep it in memory, so that the change raises the revision. */
  setSetting(name: string, value: string | null, how?: { isRemembered: boolean }): Promise<void>;
}
