/**
 * The port for settings of the whole appliance: small texts by name.
 *
 * Whoever owns a setting owns its name and the form of its text; no name is written in two files. One whose name begins
 * with `EXPIRING` has a time as its text, and goes some time after it.
 */

/** What begins the names of settings that expire; their text: epoch milliseconds, by steady time. */
export const EXPIRING = 'until:';

export interface SettingStore {
  setting(name: string): Promise<string | null>;
  /** Null removes it. `isRemembered`: nodes keep it in memory, so that the change raises the revision. */
  setSetting(name: string, value: string | null, how?: { isRemembered: boolean }): Promise<void>;
}
