/**
 * The operator's own certificate authorities: `tls.extra_ca_file`, read when it is needed.
 *
 * Promises one PEM text for each certificate of the file. Fails with `OperatorError` when the file can
 * not be read or holds no certificate.
 */
import { readFileSync } from 'node:fs';
import type { Config } from '../base/config.ts';
import { OperatorError } from '../base/errors.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The certificates of the file, none when the config names no file. */
export function readExtraCa(config: Pick<Config, 'extraCaFile'>): string[] {
  if (config.extraCaFile === '') return [];
  const hint = 'Check tls.extra_ca_file: it must name a readable file of PEM certificates.';
  let text: string;
  try {
    text = readFileSync(config.extraCaFile, 'utf8');
  } catch (error) {
    throw new OperatorError(`tls.extra_ca_file can not be read: ${String(error)}`, hint, 78);
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) {
    throw new OperatorError('tls.extra_ca_file holds no certificate', hint, 78);
  }
  return certificates;
}
