/**
 * What one value of the config file may be: formats that turn a TOML value into the appliance's own, or say why not.
 *
 * Promises that a format never guesses: a number where a text belongs, a network with bits below its mask, or a
 * duration without a unit is refused in words that say what would be right. Only `readableFile` touches the disk;
 * nothing here touches the network.
 */
import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';

import { IPv4, IPv6 } from 'ipaddr.js';

import { KEY_PREFIX } from './key-text.ts';

/** Why a value is refused: the rest of the sentence after the key's name, such as `must be text`. */
export class WrongValue extends Error {
  override readonly name = 'WrongValue';
  /** Which item of a list is meant, from 0; null: the value as a whole. */
  readonly index: number | null;

  constructor(message: string, index: number | null = null) {
    super(message);
    this.index = index;
  }
}

export interface Format<T> {
  /** What may be written, for the reference: `duration such as "48h"`. */
  words: string;
  /** Gives the appliance's own value. Throws `WrongValue`. */
  read: (value: unknown) => T;
  /** Ends the key's name in the code, where the file's key has no unit: `expires` is `expiresMs`. */
  unit?: 'Ms';
}

export const text: Format<string> = {
  words: 'text',
  read(value) {
    if (typeof value === 'string') return value;
    throw new WrongValue(`must be text in quotes, not ${show(value)}`);
  },
};

/** A text whose wrong spellings are not repeated either: refusals go to logs. */
export const secret: Format<string> = {
  words: 'text',
  read(value) {
    if (typeof value === 'string') return value;
    throw new WrongValue('must be text in quotes');
  },
};

export const flag: Format<boolean> = {
  words: '`true` or `false`',
  read(value) {
    if (typeof value === 'boolean') return value;
    throw new WrongValue(`must be true or false, not ${show(value)}`);
  },
};

/** Both ends count. */
export function wholeNumber(min: number, max: number): Format<number> {
  return {
    words: `whole number, ${min} to ${max}`,
    read(value) {
      if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
        return value;
      }
      throw new WrongValue(`must be a whole number from ${min} to ${max}, not ${show(value)}`);
    },
  };
}

export function oneOf<const T extends string>(...words: T[]): Format<T> {
  const choice = words.map((word) => `"${word}"`).join(', ');
  return {
    words: `one of ${choice}`,
    read(value) {
      const word = words.find((candidate) => candidate === value);
      if (word !== undefined) return word;
      throw new WrongValue(`must be one of ${choice}, not ${show(value)}`);
    },
  };
}

export function listOf<T>(format: Format<T>): Format<T[]> {
  return {
    words: `list, each: ${format.words}`,
    read(value) {
      if (!Array.isArray(value)) throw new WrongValue(`must be a list in [ ], not ${show(value)}`);
      return value.map((item, index) => {
        try {
          return format.read(item);
        } catch (error) {
          if (!(error instanceof WrongValue)) throw error;
          throw new WrongValue(`item ${index + 1} ${error.message}`, index);
        }
      });
    },
  };
}

/** A list with at least one item; `refusal` says what an empty one lacks. */
export function someOf<T>(format: Format<T>, refusal: string): Format<T[]> {
  const list = listOf(format);
  return {
    ...list,
    read(value) {
      const items = list.read(value);
      if (items.length > 0) return items;
      throw new WrongValue(refusal);
    },
  };
}

/** An empty text means that the key is off. */
export function orEmpty<T>(format: Format<T>): Format<T | null> {
  return { ...format, read: (value) => (value === '' ? null : format.read(value)) };
}

/** An empty text stays one. */
export function textOrEmpty(format: Format<string>): Format<string> {
  return { ...format, read: (value) => (value === '' ? '' : format.read(value)) };
}

const DURATION = /^(\d+)(ms|s|m|h|d)$/;
const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `48h`, `30d`, `90s`; `0` alone when `minMs` is 0. Gives milliseconds. */
export function duration(minMs: number): Format<number> {
  return {
    words: `duration such as "90s", "48h" or "30d"${minMs === 0 ? ', or "0"' : ''}`,
    unit: 'Ms',
    read(value) {
      if (value === '0' && minMs === 0) return 0;
      const match = typeof value === 'string' ? DURATION.exec(value) : null;
      const ms = match === null ? Number.NaN : Number(match[1]) * UNIT_MS[unitOf(match[2])];
      if (!Number.isSafeInteger(ms)) {
        throw new WrongValue(
          `must be a duration such as "90s", "48h" or "30d", not ${show(value)}`,
        );
      }
      if (ms < minMs)
        throw new WrongValue(`must be at least ${inWords(minMs)}, not ${show(value)}`);
      return ms;
    },
  };
}

function unitOf(word: string | undefined): keyof typeof UNIT_MS {
  return word === 'ms' || word === 's' || word === 'm' || word === 'h' ? word : 'd';
}

function inWords(ms: number): string {
  return ms % UNIT_MS.d === 0 ? `"${ms / UNIT_MS.d}d"` : `"${ms / UNIT_MS.s}s"`;
}

/** Host and port such as `127.0.0.1:8025` or `[::1]:8025`; port 0 lets the system choose a free one. */
export const listenAddress: Format<{ host: string; port: number }> = {
  words: 'IP address and port such as "127.0.0.1:8025" or "[::1]:8025"',
  read(value) {
    const written = text.read(value);
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})$/.exec(written);
    const host = match?.[1] ?? match?.[2] ?? '';
    const port = Number(match?.[3]);
    if (isIP(host) !== 0 && port <= 65_535) return { host, port };
    throw new WrongValue(
      `must be an IP address and a port such as "127.0.0.1:8025", not ${show(value)}`,
    );
  },
};

export const ipAddress: Format<string> = {
  words: 'IP address',
  read(value) {
    const written = text.read(value);
    if (isIP(written) !== 0) return written;
    throw new WrongValue(`must be an IP address, not ${show(value)}`);
  },
};

/** A network such as `10.0.0.0/8` or `fd00::/8`. */
export const network: Format<string> = {
  words: 'network (CIDR) such as "10.0.0.0/8" or "fd00::/8"',
  read(value) {
    const written = text.read(value);
    const [address = '', bits = '', ...rest] = written.split('/');
    const family = isIP(address);
    const isMask = /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
    if (family === 0 || !isMask || rest.length > 0) {
      throw new WrongValue(`must be a network such as "10.0.0.0/8", not ${show(value)}`);
    }
    const parsed = family === 4 ? IPv4 : IPv6;
    const first = parsed.networkAddressFromCIDR(written).toString();
    if (first === parsed.parse(address).toString()) return written;
    throw new WrongValue(
      `must begin at the first address of the network: "${first}/${bits}", or "${address}/${family === 4 ? 32 : 128}" for this address alone, not ${show(value)}`,
    );
  },
};

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A full host name in lower-case A-labels (RFC 1123 section 2.1), at most 253 characters. */
export const hostName: Format<string> = {
  words: 'full host name such as "mail.example.com"',
  read(value) {
    const name = text.read(value).toLowerCase();
    const labels = name.split('.');
    const isName = name.length <= 253 && labels.length >= 2 && labels.every((l) => LABEL.test(l));
    if (isName && isIP(name) === 0) return name;
    throw new WrongValue(`must be a full host name such as "mail.example.com", not ${show(value)}`);
  },
};

/** A host name, a name of one label such as `localhost`, or an IP address: what one can connect to. */
export const connectHost: Format<string> = {
  words: 'host name or IP address',
  read(value) {
    const host = text.read(value).toLowerCase();
    return isIP(host) !== 0 || LABEL.test(host) ? host : hostName.read(value);
  },
};

/** `corp.example` or `*.corp.example`. */
export const domainPattern: Format<string> = {
  words: '"corp.example" or "*.corp.example"',
  read(value) {
    const pattern = text.read(value);
    return pattern.startsWith('*.')
      ? `*.${hostName.read(pattern.slice(2))}`
      : hostName.read(pattern);
  },
};

/** The end of host names: `.mx.example.net` for `*.mx.example.net`, else the whole name. */
export const hostPattern: Format<string> = {
  words: '"mx.example.net" or "*.mx.example.net"',
  read: (value) => domainPattern.read(value).replace(/^\*/, ''),
};

const NO_LOGIN = 'must have no user name and no password';

function hasLogin({ username, password }: URL): boolean {
  return username !== '' || password !== '';
}

/** `http://` or `https://` with nothing behind the path; the closing slash is cut. */
export const baseUrl: Format<string> = {
  words: 'URL such as "https://mail.example.com"',
  read(value) {
    const url = URL.parse(text.read(value));
    const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
    // Before the rest, which repeats the value: a password does not belong in a log.
    if (isHttp && hasLogin(url)) throw new WrongValue(NO_LOGIN);
    if (url === null || !isHttp || url.search !== '' || url.hash !== '') {
      throw new WrongValue(`must be a URL such as "https://mail.example.com", not ${show(value)}`);
    }
    let end = url.href.length;
    while (url.href[end - 1] === '/') end -= 1;
    return url.href.slice(0, end);
  },
};

/** `http://` or `https://` and a host, nothing behind: pages and links begin at the root. */
export const siteUrl: Format<string> = {
  words: baseUrl.words,
  read(value) {
    const url = URL.parse(baseUrl.read(value));
    if (url?.pathname === '/') return url.origin;
    throw new WrongValue(`must have no path: "${url?.origin ?? ''}", not ${show(value)}`);
  },
};

/** The address of an ACME directory. */
export const httpsUrl: Format<string> = {
  words: 'URL that begins with "https://"',
  read(value) {
    const url = baseUrl.read(value);
    if (url.startsWith('https:')) return url;
    throw new WrongValue('must begin with https:// (RFC 8555 section 6.1)');
  },
};

/** The address of a service of the operator's own; the closing slash is cut. Nothing of it is repeated: it may hold a password. */
export const serviceUrl: Format<string> = {
  words: 'URL such as "http://127.0.0.1:11333"',
  read(value) {
    const url = URL.parse(text.read(value));
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
      throw new WrongValue('must be a URL such as "http://127.0.0.1:11333"');
    }
    if (hasLogin(url)) throw new WrongValue(NO_LOGIN);
    // An empty query or fragment is in `href` alone.
    if (/[?#]/.test(url.href)) throw new WrongValue('must have no query and no fragment');
    return url.href.replace(/\/$/, '');
  },
};

export const absolutePath: Format<string> = {
  words: 'path that begins with "/"',
  read(value) {
    const path = text.read(value);
    if (path.startsWith('/')) return path;
    throw new WrongValue(`must be a path that begins with "/", not ${show(value)}`);
  },
};

/** The path of a file that this process can read. */
export const readableFile: Format<string> = {
  words: 'path of a PEM file',
  read(value) {
    const path = absolutePath.read(value);
    try {
      accessSync(path, constants.R_OK);
    } catch {
      throw new WrongValue(`names a file that cannot be read: ${path}`);
    }
    return path;
  },
};

/** The same, for a file whose content is a secret. */
export const secretFile: Format<string> = { ...readableFile, words: 'path of a file' };

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
export const size: Format<number> = {
  words: 'number of bytes, or a size such as "10MB" or "8MiB"',
  read(value) {
    const match = typeof value === 'string' ? SIZE.exec(value) : null;
    const bytes =
      match === null ? value : Number(match[1]) * (UNIT_BYTES[match[2] ?? ''] ?? Number.NaN);
    if (typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
    throw new WrongValue(`must be a number of bytes or a size such as "10MB", not ${show(value)}`);
  },
};

/** Rows of `[days, limit]`, days ascending. */
export const limitsByAge: Format<[ageDays: number, limit: number][]> = {
  words: 'rows of [days, limit] with ascending days',
  read(value) {
    const rows = listOf(listOf(wholeNumber(0, 1_000_000_000))).read(value);
    return rows.map((row, index) => {
      const [days, limit] = row;
      const before = rows[index - 1]?.[0] ?? -1;
      if (days === undefined || limit === undefined || row.length > 2 || days <= before) {
        throw new WrongValue('must be rows of [days, limit] with ascending days');
      }
      return [days, limit];
    });
  },
};

/** The id of a plan, in the config and in the control operations. */
export const planId: Format<string> = {
  words: '1 to 40 lower-case letters, digits, "-" or "_"',
  read(value) {
    const id = text.read(value);
    if (/^[a-z0-9][a-z0-9_-]{0,39}$/.test(id)) return id;
    throw new WrongValue('must be 1 to 40 lower-case letters, digits, "-" or "_"');
  },
};

/** What the text of new API keys begins with. */
export const keyPrefix: Format<string> = {
  words: '2 to 10 lower-case letters and digits, a letter first',
  read(value) {
    const prefix = text.read(value);
    if (KEY_PREFIX.test(prefix)) return prefix;
    throw new WrongValue('must be 2 to 10 lower-case letters and digits, a letter first');
  },
};

function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a table';
  return JSON.stringify(value) ?? 'nothing';
}
