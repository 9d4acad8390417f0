/**
 * IP networks: CIDR blocks as the operator writes them, and whether an address lies inside.
 *
 * Promises that IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2) count as the IPv4 address inside them. Never
 * accepts another spelling than dotted quad or RFC 4291 text: `127.1`, octal, hexadecimal and zone ids are refused.
 * Fails by throwing on a malformed block.
 */
import { isIP } from 'node:net';
import { IPv4, IPv6 } from 'ipaddr.js';

type Address = IPv4 | IPv6;

/** The address in `text`, a mapped one as its IPv4; null for anything that is not a plain IP address. */
export function parseAddressLiteral(text: string): Address | null {
  const family = isIP(text);
  if (family === 4) return IPv4.parse(text);
  if (family !== 6 || text.includes('%')) return null;
  const address = IPv6.parse(withoutDots(text));
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Whether two texts mean the same IP address, however each is spelled; false when one is no address. */
export function isSameAddress(one: string, other: string): boolean {
  const [a, b] = [parseAddressLiteral(one), parseAddressLiteral(other)];
  return a !== null && b !== null && a.toNormalizedString() === b.toNormalizedString();
}

/** The dotted tail of an IPv6 address as two groups: ipaddr.js would take `::8.8.8.8` for a mapped address. */
function withoutDots(text: string): string {
  return text.replace(
    /(\d{1,10})\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})$/,
    (_tail, ...octets: string[]) => {
      const [a = 0, b = 0, c = 0, d = 0] = octets.slice(0, 4).map(Number);
      return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    },
  );
}

/** A set of CIDR blocks. */
export class Networks {
  readonly #blocks: [address: Address, prefixBits: number][];

  constructor(blocks: [Address, number][]) {
    this.#blocks = blocks;
  }

  /** Whether no address lies in it. */
  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  /** Whether `ip` (textual) lies in one of the blocks; false for what is not an address. */
  has(ip: string): boolean {
    const address = parseAddressLiteral(ip);
    return address !== null && this.hasAddress(address);
  }

  /** Like `has`, for an address that is parsed already. */
  hasAddress(address: Address): boolean {
    return this.#blocks.some(([block, bits]) => isInside(address, block, bits));
  }
}

/**
 * Parses blocks such as `10.0.0.0/8`, `fd00::/8`, or a single address.
 * Throws an Error that names the first block that is none.
 */
export function parseNetworks(cidrs: readonly string[]): Networks {
  return new Networks(cidrs.map(parseBlock));
}

function parseBlock(cidr: string): [Address, number] {
  const slash = cidr.indexOf('/');
  const text = slash < 0 ? cidr : cidr.slice(0, slash);
  const family = isIP(text);
  const address = parseAddressLiteral(text);
  if (address === null) throw new Error(`${JSON.stringify(cidr)} is not an IP network`);
  const width = family === 4 ? 32 : 128;
  const bitsText = slash < 0 ? String(width) : cidr.slice(slash + 1);
  const bits = Number(bitsText);
  if (!/^\d{1,3}$/.test(bitsText) || bits > width) {
    throw new Error(`${JSON.stringify(cidr)} has no prefix length from 0 to ${width}`);
  }
  // A block written in mapped form (::ffff:10.0.0.0/104) is the IPv4 block inside it.
  const isMapped = family === 6 && address instanceof IPv4;
  if (isMapped && bits < 96) throw new Error(`${JSON.stringify(cidr)} is wider than ::ffff:0:0/96`);
  return [address, isMapped ? bits - 96 : bits];
}

function isInside(address: Address, block: Address, bits: number): boolean {
  if (address instanceof IPv4) return block instanceof IPv4 && address.match(block, bits);
  return block instanceof IPv6 && address.match(block, bits);
}
