/**
 * Proves a domain's DKIM set-up: a signature made here verifies against the published record.
 *
 * Uses mailauth's verifier, not our signer's code. Never throws for bad signatures or records: the result is what a
 * receiver would find. mailauth is loaded at the first use, since that takes 0.1 s.
 */
import type { DkimIdentity } from './dkim.ts';
import { DkimSigner } from './dkim.ts';

export interface ProofResult {
  isProven: boolean;
  /** What a receiver would find: `pass`, or why not. */
  reason: string;
}

/** Returns the TXT records of a name, the strings of each joined; [] when there is none. */
export type LookupTxt = (name: string) => Promise<string[]>;

/**
 * Verifies every signature of `message` with TXT records from `lookupTxt`; proven when there is at
 * least one and all pass. A look-up that rejects proves nothing, and is the reason.
 */
export async function verifyOwn(message: Buffer, lookupTxt: LookupTxt): Promise<ProofResult> {
  const { dkimVerify } = await import('mailauth/lib/dkim/verify.js');
  const { results } = await dkimVerify(message, {
    resolver: async (name: string) => {
      const records = await lookupTxt(name);
      if (records.length > 0) return records.map((record) => [record]);
      throw Object.assign(new Error(`no TXT record at ${name}`), { code: 'ENOTFOUND' });
    },
  });
  const signed = results.filter((result) => result.signingDomain !== undefined);
  if (signed.length === 0) return { isProven: false, reason: 'no signature' };
  const bad = signed.find((result) => result.status.result !== 'pass');
  if (bad === undefined) return { isProven: true, reason: 'pass' };
  return { isProven: false, reason: bad.status.comment ?? bad.status.result };
}

/**
 * Signs a probe with the stored key and verifies it against the records published at
 * `<selector>._domainkey.<domain>`. Two records at one selector are never proof (RFC 6376 section 3.6.2.2).
 */
export async function proveKey(identity: DkimIdentity, published: string[]): Promise<ProofResult> {
  if (published.length > 1) {
    return { isProven: false, reason: `${published.length} TXT records where there must be one` };
  }
  const probe = Buffer.from(
    `From: probe@${identity.domain}\r\nSubject: probe\r\n\r\nA message that is never sent.\r\n`,
  );
  const signature = await new DkimSigner(identity).sign(probe);
  return verifyOwn(Buffer.concat([Buffer.from(signature), probe]), async () => published);
}
