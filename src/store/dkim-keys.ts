/**
 * The port for a domain's DKIM keys beside the one that signs: the next one, and the name of the one before.
 *
 * Promises that activating is one commit: the domain signs with the one key or the other, never with none.
 */

export interface NextDkimKey {
  selector: string;
  /** Base64 of the DER SubjectPublicKeyInfo. */
  dkimPublicKey: string;
  sealedDkimKey: Uint8Array;
  /** When it was made, epoch milliseconds. */
  since: number;
}

export interface PreviousDkimKey {
  selector: string;
  /** When it was replaced, epoch milliseconds. */
  since: number;
}

export interface DkimKeyStore {
  nextDkimKey(domainId: string): Promise<NextDkimKey | null>;
  previousDkimKey(domainId: string): Promise<PreviousDkimKey | null>;
  /** Does nothing where there is a next one already. */
  addNextDkimKey(domainId: string, key: NextDkimKey): Promise<void>;
  /** The next key signs from now on. False when the next key is another one, or the domain was removed. */
  activateDkimKey(domainId: string, selector: string, now: number): Promise<boolean>;
}
