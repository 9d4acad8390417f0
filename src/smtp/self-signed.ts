/**
 * A self-signed certificate (RFC 5280) for one host name, with a new P-256 key.
 *
 * Writes the few DER structures itself, so that no openssl is needed. Good for opportunistic TLS between mail servers,
 * which do not check the name; never for clients that verify certificates.
 */
import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const VALID_MS = 10 * 365 * 86_400_000;
const OID_ECDSA_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex');
const OID_COMMON_NAME = Buffer.from('0603550403', 'hex');
const OID_SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex');
const OID_BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex');

/** Tags of X.690 section 8. */
const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
/** `[0]` and `[3]` of TBSCertificate (RFC 5280 section 4.1), `[2]` of GeneralName. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const DNS_NAME = 0x82;

/** PEM texts of a certificate valid for ten years from `now` (epoch milliseconds). */
export function selfSigned(hostname: string, now: number): { cert: string; key: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const algorithm = der(SEQUENCE, OID_ECDSA_SHA256);
  // RFC 5280 limits a common name to 64 characters; clients check the subject alternative name instead.
  const commonName = der(UTF8_STRING, Buffer.from(hostname.slice(0, 64)));
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, OID_COMMON_NAME, commonName)));
  const alternative = der(SEQUENCE, der(DNS_NAME, Buffer.from(hostname, 'latin1')));
  const extensions = der(
    SEQUENCE,
    der(SEQUENCE, OID_SUBJECT_ALT_NAME, der(OCTET_STRING, alternative)),
    der(SEQUENCE, OID_BASIC_CONSTRAINTS, der(OCTET_STRING, der(SEQUENCE))),
  );
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x01;
  const certificate = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.of(2))),
    der(INTEGER, serial),
    algorithm,
    name,
    der(SEQUENCE, time(now - 86_400_000), time(now + VALID_MS)),
    name,
    spki,
    der(EXTENSIONS, extensions),
  );
  const signature = sign('sha256', certificate, { key: privateKey, dsaEncoding: 'der' });
  const whole = der(
    SEQUENCE,
    certificate,
    algorithm,
    der(BIT_STRING, Buffer.concat([Buffer.of(0), signature])),
  );
  const base64 = whole.toString('base64').replace(/.{64}/g, '$&\n').trimEnd();
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

/** One value in DER: tag, length, content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.of(tag, body.length), body]);
  // DER takes the shortest form of a length only (X.690 section 10.1).
  const hex = body.length.toString(16);
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | length.length), length, body]);
}

/** RFC 5280 section 4.1.2.5: two digits of the year up to 2049, four from then on. */
function time(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replace(/[-:T]|\.\d+/g, '');
  if (text >= '2050') return der(GENERALIZED_TIME, Buffer.from(text, 'latin1'));
  return der(UTC_TIME, Buffer.from(text.slice(2), 'latin1'));
}
