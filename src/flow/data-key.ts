/**
 * The secret key of a data directory, fitted to the store that it belongs to.
 *
 * The store keeps the fingerprint of its key. Promises that a store is opened only with the key that its secrets are
 * sealed under: a missing, foreign or damaged key is an `OperatorError` with exit code 78, and never replaced by a new
 * one. A store of before, without a fingerprint, gets one when a secret of it opens. Finishes what a crash has
 * interrupted: of the key and the staged key, the one whose fingerprint the store has is the key. The caller holds the
 * directory's lock.
 */
import { SecretBox } from '../base/secret-box.ts';
import {
  FINGERPRINT_SETTING,
  dropStagedKey,
  foreignKey,
  keyIn,
  masterKey,
  missingKey,
  promoteKey,
  stagedKey,
} from '../store/key-file.ts';
import type { SealedSecret, SecretStore } from '../store/secrets.ts';
import type { SettingStore } from '../store/settings.ts';
import { labelOf } from './seal-labels.ts';

/** Base64 of the sealed key of HMACs; absent while it follows from the secret key. */
export const MAC_KEY_SETTING = 'mac_key';

type KeyStore = SettingStore & SecretStore;

/** The box under the key of `dataDir`; makes the key where the store holds no secret yet. Throws `OperatorError`. */
export async function unlock(dataDir: string, store: KeyStore): Promise<SecretBox> {
  const fingerprint = await store.setting(FINGERPRINT_SETTING);
  // Deciding without a fingerprint costs a look at every secret, once.
  const secrets = fingerprint === null ? await store.sealedSecrets() : [];
  if (fingerprint === null && secrets.length === 0) {
    const box = new SecretBox(masterKey(dataDir));
    await store.setSetting(FINGERPRINT_SETTING, box.fingerprint);
    return box;
  }
  const key = rightKey(dataDir, (box) => isRight(box, fingerprint, secrets));
  const box = new SecretBox(key);
  if (fingerprint === null) await store.setSetting(FINGERPRINT_SETTING, box.fingerprint);
  const macKey = await store.setting(MAC_KEY_SETTING);
  return macKey === null ? box : box.withSealedMacKey(key, Buffer.from(macKey, 'base64'));
}

function isRight(
  box: SecretBox,
  fingerprint: string | null,
  secrets: readonly SealedSecret[],
): boolean {
  if (fingerprint !== null) return box.fingerprint === fingerprint;
  return secrets.some((secret) => box.opens(secret.sealed, labelOf(secret)));
}

/** Of the key and the staged key the right one, under its final name when this returns. */
function rightKey(dataDir: string, fits: (box: SecretBox) => boolean): Uint8Array {
  let refusal: unknown;
  try {
    const key = keyIn(dataDir);
    if (key !== null && fits(new SecretBox(key))) {
      dropStagedKey(dataDir);
      return key;
    }
    refusal = key === null ? missingKey(dataDir) : foreignKey(dataDir);
  } catch (error) {
    refusal = error;
  }
  const staged = stagedKey(dataDir);
  if (staged === null || !fits(new SecretBox(staged))) throw refusal;
  promoteKey(dataDir);
  return staged;
}
