/**
 * What one value of the config file may be: readers that turn a TOML value into the appliance's own, or say why not.
 *
 * Promises that a reader never guesses: a number where a text belongs, a network with bits below its mask, or a
 * duration without a unit is refused in words that say what would be right. Never touches the disk or the network.
 */
import { isIP } from 'node:net';

import { IPv4, IPv6 } from 'ipaddr.js';

import type { Listen } from './config.ts';

/** Why a value is refused: the rest of the sentence after the key's name, such as `must be a text`. */
export class WrongValue extends Error {
  override readonly name = 'WrongValue';
}

/** Throws `WrongValue`. */
export type Reader<T> = (value: unknown) => T;

export const text: Reader<string> = (value) => {
  if (typeof value !== 'string')
    throw new WrongValue(`must be a text in quotes, not ${show(value)}`);
  return value;
};

/** A text whose wrong spellings are not repeated either: refusals stand in logs. */
export const secret: Reader<string> = (value) => {
  if (typeof value !== 'string') throw new WrongValue('must be a text in quotes');
  return value;
};

export const flag: Reader<boolean> = (value) => {
  if (typeof value !== 'boolean') throw new WrongValue(`must be true or false, not ${show(value)}`);
  return value;
};

export function wholeNumber(min: number, max: number): Reader<number> {
  return (value) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      throw new WrongValue(`must be a whole number from ${min} to ${max}, not ${show(value)}`);
    }
    return value;
  };
}

export function oneOf<const T extends string>(...words: T[]): Reader<T> {
  return (value) => {
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) {
      const choice = words.map((candidate) => `"${candidate}"`).join(', ');
      throw new WrongValue(`must be one of ${choice}, not ${show(value)}`);
    }
    return word;
  };
}

export function listOf<T>(reader: Reader<T>): Reader<T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw new WrongValue(`must be a list in [ ], not ${show(value)}`);
    return value.map((item, index) => {
      try {
        return reader(item);
      } catch (error) {
        if (error instanceof WrongValue) throw new WrongValue(`item ${index + 1} ${error.message}`);
        throw error;
      }
    });
  };
}

/** An empty text means that the key is off. */
export function orEmpty<T>(reader: Reader<T>): Reader<T | null> {
  return (value) => (value === '' ? null : reader(value));
}

const DURATION = /^(\d+)(ms|s|m|h|d)$/;
const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `48h`, `30d`, `90s`; `0` alone when `minMs` is 0. Gives milliseconds. */
export function duration(minMs: number): Reader<number> {
  return (value) => {
    const match = typeof value === 'string' ? DURATION.exec(value) : null;
    const ms = match === null ? Number.NaN : Number(match[1]) * UNIT_MS[unitOf(match[2])];
    if (value === '0' && minMs === 0) return 0;
    if (!Number.isSafeInteger(ms)) {
      throw new WrongValue(`must be a duration such as "90s", "48h" or "30d", not ${show(value)}`);
    }
    if (ms < minMs) throw new WrongValue(`must be at least ${minMs / 1000} seconds`);
    return ms;
  };
}

function unitOf(word: string | undefined): keyof typeof UNIT_MS {
  return word === 'ms' || word === 's' || word === 'm' || word === 'h' ? word : 'd';
}

/** Host and port such as `127.0.0.1:8025` or `[::1]:8025`; port 0 lets the system choose a free one. */
export const listenAddress: Reader<Listen> = (value) => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})$/.exec(text(value));
  const host = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3]);
  if (isIP(host) === 0 || port > 65_535) {
    throw new WrongValue(
      `must be an IP address and a port such as "127.0.0.1:8025", not ${show(value)}`,
    );
  }
  return { host, port };
};

export const ipAddress: Reader<string> = (value) => {
  if (isIP(text(value)) === 0) throw new WrongValue(`must be an IP address, not ${show(value)}`);
  return text(value);
};

/** A network such as `10.0.0.0/8` or `fd00::/8`. */
export const network: Reader<string> = (value) => {
  const [address = '', bits = '', ...rest] = text(value).split('/');
  const family = isIP(address);
  const isMask = /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
  if (family === 0 || !isMask || rest.length > 0) {
    throw new WrongValue(`must be a network such as "10.0.0.0/8", not ${show(value)}`);
  }
  const parsed = family === 4 ? IPv4 : IPv6;
  const first = parsed.networkAddressFromCIDR(text(value)).toString();
  if (first !== parsed.parse(address).toString()) {
    throw new WrongValue(
      `must begin at its first address: "${first}/${bits}", or "${address}/${family === 4 ? 32 : 128}" for one, not ${show(value)}`,
    );
  }
  return text(value);
};

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A full host name in lower-case A-labels (RFC 1123 section 2.1), at most 253 characters. */
export const hostName: Reader<string> = (value) => {
  const name = text(value).toLowerCase();
  const labels = name.split('.');
  const isName = name.length <= 253 && labels.length >= 2 && labels.every((l) => LABEL.test(l));
  if (!isName || isIP(name) !== 0) {
    throw new WrongValue(`must be a full host name such as "mail.example.com", not ${show(value)}`);
  }
  return name;
};

/** A host name, a name of one label such as `localhost`, or an IP address: what one can connect to. */
export const connectHost: Reader<string> = (value) => {
  const host = text(value).toLowerCase();
  if (isIP(host) === 0 && !LABEL.test(host)) return hostName(value);
  return host;
};

/** `corp.example` or `*.corp.example`. */
export const domainPattern: Reader<string> = (value) => {
  const pattern = text(value);
  return pattern.startsWith('*.') ? `*.${hostName(pattern.slice(2))}` : hostName(pattern);
};

/** `http://` or `https://` and a host, nothing behind: pages and links begin at the root. */
export const siteUrl: Reader<string> = (value) => {
  const url = URL.parse(baseUrl(value));
  if (url?.pathname !== '/') {
    throw new WrongValue(`must have no path: "${url?.origin ?? ''}", not ${show(value)}`);
  }
  return url.origin;
};

/** `http://` or `https://` with nothing behind the path; the closing slash is cut. */
export const baseUrl: Reader<string> = (value) => {
  const url = URL.parse(text(value));
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === null || !isHttp || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new WrongValue(
      `must be an address such as "https://mail.example.com", not ${show(value)}`,
    );
  }
  return url.href.replace(/\/+$/, '');
};

export const absolutePath: Reader<string> = (value) => {
  if (!text(value).startsWith('/')) {
    throw new WrongValue(`must be a path that begins with "/", not ${show(value)}`);
  }
  return text(value);
};

const SIZE = /^(\d+) ?(B|kB|KB|MB|GB|KiB|MiB|GiB)$/;
const UNIT_BYTES: Record<string, number> = {
  B: 1,
  kB: 1000,
  KB: 1000,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** A number of bytes, or a text such as `10MB` or `8MiB`. */
export const size: Reader<number> = (value) => {
  const match = typeof value === 'string' ? SIZE.exec(value) : null;
  const bytes =
    match === null ? value : Number(match[1]) * (UNIT_BYTES[match[2] ?? ''] ?? Number.NaN);
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) {
    throw new WrongValue(`must be a number of bytes or a size such as "10MB", not ${show(value)}`);
  }
  return bytes;
};

/** Rows of `[days, limit]`, days ascending. */
export const limitsByAge: Reader<[number, number][]> = (value) => {
  const rows = listOf(listOf(wholeNumber(0, 1_000_000_000)))(value);
  return rows.map((row, index) => {
    const [days, limit] = row;
    const before = rows[index - 1]?.[0] ?? -1;
    if (days === undefined || limit === undefined || row.length > 2 || days <= before) {
      throw new WrongValue('must be rows of [days, limit] with ascending days');
    }
    return [days, limit];
  });
};

function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a table';
  return JSON.stringify(value) ?? 'nothing';
}
