/**
 * Certificates for the rig's servers, made by the openssl command: one private CA a test process, and leaves for
 * whatever names and dates a test wants.
 *
 * Promises nothing of the machine's own trust store is touched. Fails when openssl is missing.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface Certificate {
  /** PEM. */
  key: string;
  /** PEM, the leaf alone: the CA signs it directly. */
  cert: string;
  keyFile: string;
  certFile: string;
}

export interface CertificateOptions {
  /** Not signed by the CA. */
  isSelfSigned?: boolean;
  /** Ended yesterday. */
  isExpired?: boolean;
  /** Began 80 days ago, and ends in ten. */
  isNearEnd?: boolean;
}

export interface CertificateAuthority {
  /** PEM of the CA certificate, for `extra_ca_file`. */
  cert: string;
  certFile: string;
  /** A leaf for these DNS names and IP addresses; the first is the common name. */
  issue(names: string[], options?: CertificateOptions): Certificate;
}

const DAY_MS = 86_400_000;
const NEW_KEY = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';

let shared: CertificateAuthority | undefined;

/** The CA of this test process, made at the first call. */
export function testAuthority(): CertificateAuthority {
  shared ??= makeAuthority();
  return shared;
}

/** A fresh CA that nobody trusts yet. */
export function makeAuthority(): CertificateAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-ca-'));
  const caKey = join(folder, 'ca.key');
  const certFile = join(folder, 'ca.pem');
  const extensions = '-addext basicConstraints=critical,CA:TRUE -addext keyUsage=keyCertSign';
  openssl(`req -x509 ${NEW_KEY} -days 30 ${extensions}`, {
    '-keyout': caKey,
    '-out': certFile,
    '-subj': '/CN=Rig CA',
  });
  let count = 0;
  return {
    certFile,
    cert: readFileSync(certFile, 'utf8'),
    issue(names, options = {}) {
      count += 1;
      const base = join(folder, `leaf-${count}`);
      const files = { keyFile: `${base}.key`, certFile: `${base}.pem` };
      issueLeaf(names, options, { caKey, caCert: certFile, base, ...files });
      return {
        ...files,
        key: readFileSync(files.keyFile, 'utf8'),
        cert: readFileSync(files.certFile, 'utf8'),
      };
    },
  };
}

interface LeafFiles {
  caKey: string;
  caCert: string;
  base: string;
  keyFile: string;
  certFile: string;
}

function issueLeaf(names: string[], options: CertificateOptions, files: LeafFiles): void {
  const alternatives = names.map((name) => (isIP(name) === 0 ? `DNS:${name}` : `IP:${name}`));
  const extensions = `subjectAltName=${alternatives.join(',')}\nbasicConstraints=CA:FALSE\n`;
  writeFileSync(`${files.base}.ext`, extensions);
  openssl(`req ${NEW_KEY}`, {
    '-keyout': files.keyFile,
    '-out': `${files.base}.csr`,
    '-subj': `/CN=${names[0] ?? 'localhost'}`,
  });
  if (options.isNearEnd === true) return issueNearEnd(files);
  openssl(`x509 -req -days ${options.isExpired === true ? -1 : 20} -CAcreateserial`, {
    '-in': `${files.base}.csr`,
    '-out': files.certFile,
    '-extfile': `${files.base}.ext`,
    ...(options.isSelfSigned === true
      ? { '-signkey': files.keyFile }
      : { '-CA': files.caCert, '-CAkey': files.caKey }),
  });
}

/** `openssl x509` cannot choose the beginning (before OpenSSL 3.4), `openssl ca` can, with a database of its own. */
function issueNearEnd({ base, caKey, caCert, certFile }: LeafFiles): void {
  const tables = `[ca]\ndefault_ca=rig\n[rig]\nrand_serial=yes\npolicy=any\ndatabase=${base}.index\nnew_certs_dir=${dirname(base)}\n`;
  writeFileSync(`${base}.conf`, `${tables}[any]\ncommonName=supplied\n`);
  writeFileSync(`${base}.index`, '');
  // YYYYMMDDHHMMSSZ.
  const inDays = (days: number): string =>
    `${new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 19).replaceAll(/\D/g, '')}Z`;
  openssl('ca -batch -notext -md sha256', {
    '-config': `${base}.conf`,
    '-startdate': inDays(-80),
    '-enddate': inDays(10),
    '-cert': caCert,
    '-keyfile': caKey,
    '-in': `${base}.csr`,
    '-out': certFile,
    '-extfile': `${base}.ext`,
  });
}

/** `flags` are split at spaces; `values` may hold any text. */
function openssl(flags: string, values: Record<string, string>): void {
  const args = [...flags.split(' '), ...Object.entries(values).flat()];
  const run = Bun.spawnSync(['openssl', ...args], { stderr: 'pipe' });
  if (run.exitCode !== 0) throw new Error(`openssl ${flags}: ${run.stderr.toString()}`);
}
