/**
 * Which certificate the SMTP doors show: that of [smtp], else of [http], else the one fetched by ACME,
 * else a self-signed one that is made once and kept.
 *
 * Promises key and chain that belong together or an `OperatorError`. A self-signed one is what mail
 * servers expect of each other at the least; clients that submit must be told to trust it.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Config } from '../base/config.ts';
import { EXIT_CONFIG } from '../base/config-file.ts';
import { OperatorError } from '../base/errors.ts';
import { certificateFile } from '../flow/certificates.ts';
import { selfSigned } from './self-signed.ts';

/** PEM texts. */
export interface TlsPair {
  cert: string;
  key: string;
}

/** The pair as it lies on disk now. Throws `OperatorError` when a file can not be used. */
export function tlsPair(config: Config, now: number): TlsPair {
  const named = (['smtp', 'http'] as const).find((table) => config[table].tlsCert !== '');
  if (named !== undefined) return readPair(config, named);
  const fetched = certificateFile(config.dataDir);
  const own = join(config.dataDir, 'smtp-self-signed.pem');
  const file = existsSync(fetched) ? fetched : own;
  if (!existsSync(file)) {
    const made = selfSigned(config.hostname, now);
    writeFileSync(`${own}.new`, made.key + made.cert, { mode: 0o600 });
    renameSync(`${own}.new`, own);
  }
  const both = read(file);
  return checkPair(both, both, file);
}

/** The pair that this table names, in two files or one. Throws `OperatorError` when it can not be used. */
export function readPair(config: Config, table: 'http' | 'smtp'): TlsPair {
  const { tlsCert, tlsKey } = config[table];
  try {
    return checkPair(read(tlsCert), read(tlsKey), tlsCert);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    // What the config names will not do: wrong config, for all that the files may have changed since it was read.
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
    throw new OperatorError(
      `the certificate file ${file} can not be read (${(error as NodeJS.ErrnoException).code})`,
      'See that it exists and that the service may read it.',
    );
  }
}

/** `certText` and `keyText` may be one file that holds both. */
export function checkPair(certText: string, keyText: string, file: string): TlsPair {
  const cert = blocks(certText, 'CERTIFICATE');
  const key = blocks(keyText, '(?:[A-Z]+ )?PRIVATE KEY');
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
      // Reads the rest of the chain too, as the listeners will.
      createSecureContext({ cert, key });
      return { cert, key };
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `${file} is no certificate with key (${reason})`,
      'PEM files are needed: the certificate with its chain, and its private key without a passphrase.',
    );
  }
  throw new OperatorError(
    `the key does not belong to the certificate in ${file}`,
    'Give the pair that was issued together.',
  );
}

/** The PEM blocks with this label: Bun reads nothing from a file that begins with another. */
function blocks(text: string, label: string): string {
  const found = text.match(new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`, 'g'));
  return (found ?? []).map((block) => `${block}\n`).join('');
}
