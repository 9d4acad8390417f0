/**
 * The operator's own certificate authorities: `tls.extra_ca_file`, read when it is needed.
 *
 * Promises one PEM text for each certificate of the file. Fails with `OperatorError` when the file cannot
 * be read or contains no certificate.
 */
import { readFileSync } from 'node:fs';
import { EXIT_CONFIG, OperatorError } from '../base/errors.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The certificates of the file, none when the config names no file. */
export function readExtraCa(file: string): string[] {
  if (file === '') return [];
  const hint = 'Check tls.extra_ca_file: it must name a readable file of PEM certificates.';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperatorError(
      `tls.extra_ca_file cannot be read: ${String(error)}`,
      hint,
      EXIT_CONFIG,
    );
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) {
    throw new OperatorError('tls.extra_ca_file contains no certificate', hint, EXIT_CONFIG);
  }
  return certificates;
}
