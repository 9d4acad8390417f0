/**
 * Certificate chains that something is wrong with, made by `openssl ca` in a folder of their own.
 *
 * Promises that each has exactly the one fault of its name and is good otherwise: the right name, in date, under
 * the CA that `roots` gives. Fails when openssl is missing.
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Chain {
  key: string;
  /** PEM: leaf first, then what the server sends with it. */
  cert: string;
}

export interface Chains {
  /** PEM of the CA to trust. */
  root: string;
  /** PEM of the intermediate under it. */
  intermediate: string;
  /** Directly under the root. */
  good: Chain;
  /** Under the intermediate, which is sent along. */
  goodWithIntermediate: Chain;
  bad: Record<BadChain, Chain>;
}

export type BadChain =
  | 'self-signed'
  | 'wrong name'
  | 'expired'
  | 'not yet valid'
  | 'unknown CA'
  | 'missing intermediate'
  | 'expired intermediate'
  | 'signed by a leaf'
  | 'wildcard over two labels'
  | 'address instead of name'
  | 'for clients only';

interface Issuer {
  key: string;
  cert: string;
}

const YESTERDAY = -1;
const CA = 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n';
const LEAF = 'basicConstraints=CA:FALSE\n';
const DAY_MS = 86_400_000;

/** Chains for the server name `mx.a.test`. */
export function makeChains(): Chains {
  const maker = new Maker();
  const san = (text: string): string => `${LEAF}subjectAltName=${text}\n`;
  const name = san('DNS:mx.a.test');
  const root = maker.selfSigned('Root', CA);
  const other = maker.selfSigned('Other root', CA);
  const middle = maker.issue('Intermediate', root, CA);
  const oldMiddle = maker.issue('Old intermediate', root, CA, -10, YESTERDAY);
  const leafAsIssuer = maker.issue('leaf', root, name);
  const chain = (leaf: Issuer, ...sent: Issuer[]): Chain => ({
    key: leaf.key,
    cert: [leaf, ...sent].map(({ cert }) => cert).join(''),
  });
  return {
    root: root.cert,
    intermediate: middle.cert,
    good: chain(maker.issue('leaf', root, name)),
    goodWithIntermediate: chain(maker.issue('leaf', middle, name), middle),
    bad: {
      'self-signed': chain(maker.selfSigned('mx.a.test', name)),
      'wrong name': chain(maker.issue('leaf', root, san('DNS:mx.b.test'))),
      expired: chain(maker.issue('leaf', root, name, -10, YESTERDAY)),
      'not yet valid': chain(maker.issue('leaf', root, name, 5, 20)),
      'unknown CA': chain(maker.issue('leaf', other, name), other),
      'missing intermediate': chain(maker.issue('leaf', middle, name)),
      'expired intermediate': chain(maker.issue('leaf', oldMiddle, name), oldMiddle),
      'signed by a leaf': chain(maker.issue('leaf', leafAsIssuer, name), leafAsIssuer),
      'wildcard over two labels': chain(maker.issue('leaf', root, san('DNS:*.test'))),
      'address instead of name': chain(maker.issue('leaf', root, san('IP:127.0.0.1'))),
      'for clients only': chain(maker.issue('leaf', root, `${name}extendedKeyUsage=clientAuth\n`)),
    },
  };
}

class Maker {
  readonly #folder = mkdtempSync(join(tmpdir(), 'postrider-chains-'));
  #count = 0;

  selfSigned(name: string, extensions: string): Issuer {
    return this.issue(name, null, extensions);
  }

  /** Signed by `issuer` (null: by itself), valid between two days counted from now. */
  issue(
    name: string,
    issuer: Issuer | null,
    extensions: string,
    fromDay = -1,
    untilDay = 20,
  ): Issuer {
    this.#count += 1;
    const folder = join(this.#folder, String(this.#count));
    mkdirSync(folder);
    const at = (file: string): string => join(folder, file);
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const subject = ['-subj', `/CN=${name}`];
    openssl(['req', ...newKey, ...subject, '-keyout', at('key'), '-out', at('csr')]);
    const key = readFileSync(at('key'), 'utf8');
    writeFileSync(at('extensions'), extensions);
    writeFileSync(at('index'), '');
    writeFileSync(at('serial'), `0${this.#count.toString(16).padStart(3, '0')}`);
    writeFileSync(at('config'), config(folder));
    writeFileSync(at('issuer.key'), issuer?.key ?? key);
    if (issuer !== null) writeFileSync(at('issuer.pem'), issuer.cert);
    const request = ['-in', at('csr'), '-out', at('cert'), '-extfile', at('extensions')];
    const signer = issuer === null ? ['-selfsign'] : ['-cert', at('issuer.pem')];
    const dates = ['-startdate', date(fromDay), '-enddate', date(untilDay)];
    const settings = ['-batch', '-notext', '-config', at('config'), '-keyfile', at('issuer.key')];
    openssl(['ca', ...settings, ...request, ...signer, ...dates]);
    return { key, cert: readFileSync(at('cert'), 'utf8') };
  }
}

function config(folder: string): string {
  const settings = {
    database: join(folder, 'index'),
    serial: join(folder, 'serial'),
    new_certs_dir: folder,
    default_md: 'sha256',
    policy: 'any',
    unique_subject: 'no',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return `[ca]\ndefault_ca=rig\n[rig]\n${lines.join('\n')}\n[any]\ncommonName=supplied\n`;
}

/** `YYYYMMDDHHMMSSZ`. */
function date(day: number): string {
  const iso = new Date(Date.now() + day * DAY_MS).toISOString();
  return `${iso.replace(/\D/g, '').slice(0, 14)}Z`;
}

function openssl(args: string[]): void {
  const run = Bun.spawnSync(['openssl', ...args], { stderr: 'pipe' });
  if (run.exitCode !== 0) throw new Error(`openssl ${args[0]}: ${run.stderr.toString()}`);
}
