/** The one internal module of mailauth we use that ships no types (mailauth has no exports map). */
declare module 'mailauth/lib/dkim/body/relaxed.js' {
  /** Hash of a body under "relaxed" canonicalisation (RFC 6376 section 3.4.4). */
  export class RelaxedHash {
    constructor(algorithm: 'sha256');
    update(chunk: Buffer): void;
    digest(encoding: 'base64'): string;
  }
}
