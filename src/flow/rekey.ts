/**
 * Replaces the secret key of a data directory and seals everything under the new one.
 *
 * The new key is staged beside the old one, every secret is sealed under it in one commit together with its
 * fingerprint, and then it takes the old one's name. Promises that a crash at any line leaves a directory that the next
 * start opens: `data-key.ts` takes the key whose fingerprint the store has. Return paths and links of mail that was sent
 * stay valid, because the key of HMACs is carried over, unless that is to change too. Never touches a secret that the
 * old key does not open. The caller holds the directory's lock; no server runs.
 */
import { SecretBox } from '../base/secret-box.ts';
import { FINGERPRINT_SETTING, promoteKey, stageKey } from '../store/key-file.ts';
import type { SealedSecret } from '../store/secrets.ts';
import type { Context } from './context.ts';
import { MAC_KEY_SETTING } from './data-key.ts';
import { labelOf } from './seal-labels.ts';

/** What is on disk when a step is reported. */
export type RekeyStep = 'staged' | 'sealed' | 'named';

export interface RekeyOptions {
  /** Whether HMACs change too, so that links and return paths of mail that was sent end. */
  endsLinks: boolean;
  onStep?: (step: RekeyStep) => void;
}

export interface RekeyReport {
  /** How many secrets are sealed under the new key. */
  sealed: number;
  /** Those that the old key did not open: left as they are, and as useless as before. */
  unreadable: Pick<SealedSecret, 'kind' | 'id'>[];
}

/** Throws what disk and store throw; the directory is as it was, or finished by the next start. */
export async function rekey(
  ctx: Pick<Context, 'config' | 'store' | 'secrets' | 'log'>,
  { endsLinks, onStep = () => undefined }: RekeyOptions,
): Promise<RekeyReport> {
  const { dataDir } = ctx.config.startup;
  const key = stageKey(dataDir);
  onStep('staged');
  const fresh = endsLinks ? new SecretBox(key) : ctx.secrets.withMasterKey(key);
  const sealed: SealedSecret[] = [];
  const unreadable: RekeyReport['unreadable'] = [];
  for (const secret of await ctx.store.sealedSecrets()) {
    const label = labelOf(secret);
    if (ctx.secrets.opens(secret.sealed, label)) {
      const plain = ctx.secrets.open(secret.sealed, label);
      sealed.push({ ...secret, sealed: fresh.seal(plain, label) });
    } else unreadable.push({ kind: secret.kind, id: secret.id });
  }
  await ctx.store.replaceSecrets(sealed, {
    [FINGERPRINT_SETTING]: fresh.fingerprint,
    [MAC_KEY_SETTING]: endsLinks ? null : Buffer.from(fresh.sealMacKey()).toString('base64'),
  });
  onStep('sealed');
  promoteKey(dataDir);
  onStep('named');
  ctx.log.info('rekeyed', {
    sealed: sealed.length,
    unreadable: unreadable.length,
    ends_links: endsLinks,
  });
  return { sealed: sealed.length, unreadable };
}
