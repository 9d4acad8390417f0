/**
 * What the text of an API key looks like: `pr_live_<secret>`, `pr_test_<secret>` for the sandbox.
 *
 * The part in front is the operator's choice (`[api] key_prefix`), so every prefix that may be chosen is recognised
 * here, for keys that come in and for keys that must not be logged. Promises that a text it does not recognise is no
 * key of this appliance. Keeps nothing and never fails.
 */

/** `pr`, `re`, `acme1`: 2 to 10 lower-case letters and digits. */
export const KEY_PREFIX = /^[a-z][a-z0-9]{1,9}$/;
const KEY_TEXT = /^[a-z][a-z0-9]{1,9}_(?:live|test)_[A-Za-z0-9]{20,200}$/;
/** Any stretch of a text that may be a key, also one cut short. `prefix`, as lists show it, has four of the secret. */
const KEY_INSIDE = /\b([a-z][a-z0-9]{1,9}_(?:live|test)_)[A-Za-z0-9]{8,}/g;

/** Characters of the secret that `prefix` shows. */
const SHOWN_LENGTH = 4;

/** The text of a key: `prefix` as in the config, and the secret. */
export function keyText(prefix: string, isTest: boolean, secret: string): string {
  return `${prefix}_${isTest ? 'test' : 'live'}_${secret}`;
}

/** Whether `text` may be a key, whatever its prefix. */
export function isKeyText(text: string): boolean {
  return KEY_TEXT.test(text);
}

/** What lists show of a key: `pr_live_Ab3d`. */
export function shownPrefix(text: string): string {
  return text.slice(0, text.lastIndexOf('_') + 1 + SHOWN_LENGTH);
}

/** `text` with the secret of every key in it hidden. */
export function hideKeys(text: string): string {
  if (!text.includes('_live_') && !text.includes('_test_')) return text;
  return text.replaceAll(KEY_INSIDE, '$1[hidden]');
}
