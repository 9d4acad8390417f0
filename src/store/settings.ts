/**
 * The port for settings of the whole appliance: small texts by name.
 *
 * Whoever owns a setting owns its name and the form of its text; no name is written in two files.
 */

export interface SettingStore {
  setting(name: string): Promise<string | null>;
  /** Null removes it. `isRemembered`: nodes keep it in memory, so that the change raises the revision. */
  setSetting(name: string, value: string | null, how?: { isRemembered: boolean }): Promise<void>;
}
