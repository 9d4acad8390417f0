/**
 * Where the database is: hosts, names, encryption and password, from the URL of `[store]`.
 *
 * `postgres://user@host1:5432,host2/database?sslmode=verify-full&sslrootcert=/path`, as libpq writes it; a host that is a
 * percent-encoded path is the directory of a Unix socket. Promises that a password never stands in the URL, and that
 * `sslmode` is one that checks the server's certificate or one that says plainly that nothing is encrypted. Fails with
 * `OperatorError`.
 */
import { readFileSync } from 'node:fs';
import { OperatorError } from '../../base/errors.ts';

export type HostAddress = { hostname: string; port: number } | { path: string };

export interface Tls {
  ca?: string;
  rejectUnauthorized: true;
  /** Verifies the chain alone, not the name. */
  checkServerIdentity?: () => undefined;
}

export interface DatabaseAddress {
  hosts: HostAddress[];
  database: string;
  username: string;
  password: string;
  tls: Tls | false;
}

const DEFAULT_PORT = 5432;
const URL_SHAPE = /^postgres(?:ql)?:\/\/([^:@/]+)@([^/?]+)\/([^/?]+)(?:\?(.*))?$/;
const HINT =
  'Write it as postgres://USER@HOST:5432,HOST2:5432/DATABASE?sslmode=verify-full and put the password into password_file.';

/** Reads the URL and the files that it and `passwordFile` (empty: none) name. */
export function databaseAddress(url: string, passwordFile: string): DatabaseAddress {
  const parts = URL_SHAPE.exec(url);
  if (parts === null) throw new OperatorError('[store] url is not the URL of a database', HINT);
  const [, username = '', hosts = '', database = '', query = ''] = parts;
  const options = new URLSearchParams(query);
  return {
    hosts: hosts.split(',').map(hostOf),
    database: decodeURIComponent(database),
    username: decodeURIComponent(username),
    password: passwordFile === '' ? '' : passwordIn(passwordFile),
    tls: tlsOf(options),
  };
}

function hostOf(text: string): HostAddress {
  const [name = '', port = String(DEFAULT_PORT)] = splitPort(text);
  const hostname = decodeURIComponent(name);
  if (!/^\d{1,5}$/.test(port) || hostname === '') {
    throw new OperatorError(`[store] url: "${text}" is not a host with a port`, HINT);
  }
  if (hostname.startsWith('/')) return { path: `${hostname}/.s.PGSQL.${port}` };
  return { hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/** An IPv6 address stands in brackets. */
function splitPort(text: string): string[] {
  const parts = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(text);
  const [, name = '', port] = parts ?? [];
  return port === undefined ? [name] : [name, port];
}

function tlsOf(options: URLSearchParams): Tls | false {
  const mode = options.get('sslmode') ?? 'verify-full';
  if (mode === 'disable') return false;
  const file = options.get('sslrootcert');
  const ca = file === null ? {} : { ca: readText(file, 'sslrootcert') };
  if (mode === 'verify-full') return { ...ca, rejectUnauthorized: true };
  if (mode === 'verify-ca') {
    return { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined };
  }
  throw new OperatorError(
    `[store] url: sslmode=${mode} is not supported`,
    'Use verify-full, verify-ca, or disable on a network that nobody else can reach.',
  );
}

function passwordIn(file: string): string {
  return readText(file, 'password_file').replace(/\r?\n$/, '');
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `[store] ${what} cannot be read: ${cause}`,
      'Check the path and the mode of the file.',
    );
  }
}
