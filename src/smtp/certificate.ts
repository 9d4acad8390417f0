/**
 * Which certificate the SMTP listeners present: the one configured under [smtp], else under [http], else the one
 * obtained by ACME, else a self-signed one that is created once and kept in the data directory.
 *
 * Promises a private key that matches its certificate chain, or throws `OperatorError`. A self-signed certificate is
 * enough between mail servers, which use TLS opportunistically; clients that submit mail must be told to trust it.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Config } from '../base/config.ts';
import { EXIT_CONFIG, OperatorError } from '../base/errors.ts';
import { certificateFile } from '../flow/upkeep/certificates.ts';
import { selfSigned } from './self-signed.ts';

/** PEM texts. */
export interface TlsPair {
  cert: string;
  key: string;
}

/** The pair that is on disk now. Creates the self-signed one if there is no other. Throws `OperatorError` when a file
 * cannot be used. `now`: epoch milliseconds. */
export function tlsPair(config: Config, now: number): TlsPair {
  const named = (['smtp', 'http'] as const).find((table) => config.live[table].tlsCert !== '');
  if (named !== undefined) return readPair(config, named);
  const fetched = certificateFile(config.startup.dataDir);
  const own = join(config.startup.dataDir, 'smtp-self-signed.pem');
  const file = existsSync(fetched) ? fetched : own;
  if (!existsSync(file)) {
    const made = selfSigned(config.startup.hostname, now);
    writeFileSync(`${own}.new`, made.key + made.cert, { mode: 0o600 });
    renameSync(`${own}.new`, own);
  }
  const both = read(file);
  return checkPair(both, both, file);
}

/** The pair that this config table names, in two files or one. Throws `OperatorError` when it cannot be used. */
export function readPair(config: Config, table: 'http' | 'smtp'): TlsPair {
  const { tlsCert, tlsKey } = config.live[table];
  try {
    return checkPair(read(tlsCert), read(tlsKey), tlsCert);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    // The config names files that cannot be used: a config error, even if the files changed after it was read.
    throw new OperatorError(
      `${table}.tls_cert, tls_key: ${error.message}`,
      error.hint,
      EXIT_CONFIG,
    );
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error;
    throw new OperatorError(
      `the certificate file ${file} cannot be read (${String(code)})`,
      'Check that the file exists and that the service can read it.',
    );
  }
}

/**
 * The pair in these PEM texts, which may be the same text that contains both. `file`: for the error message. Throws
 * `OperatorError` when they are unusable or do not match.
 */
export function checkPair(certText: string, keyText: string, file: string): TlsPair {
  const cert = blocks(certText, 'CERTIFICATE');
  const key = blocks(keyText, '(?:[A-Z]+ )?PRIVATE KEY');
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
      // Parses the rest of the chain too, as the listeners do later.
      createSecureContext({ cert, key });
      return { cert, key };
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `${file} does not contain a usable certificate and private key (${reason})`,
      'Provide PEM: the certificate with its chain, and its private key without a passphrase.',
    );
  }
  throw new OperatorError(
    `the private key does not match the certificate in ${file}`,
    'Use the certificate and the private key that were issued together.',
  );
}

/** The PEM blocks with this label: Bun reads nothing from a file whose first block has another label. */
function blocks(text: string, label: string): string {
  const found = text.match(new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`, 'g'));
  return (found ?? []).map((block) => `${block}\n`).join('');
}
