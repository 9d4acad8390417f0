/**
 * The port for settings of the whole appliance: small texts by name.
 *
 * Whoever owns a setting owns its name and the form of its text; no name is written in two files.
 */

export interface SettingStore {
  setting(name: string): Promise<string | null>;
  /** Null removes it. */
  setSetting(name: string, value: string | null): Promise<void>;
}
