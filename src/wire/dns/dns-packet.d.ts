/**
 * Types of the part of dns-packet 5.6 that is used here (the package has none).
 */
declare module 'dns-packet' {
  export interface Question {
    name: string;
    type: string;
    class?: string;
  }

  export interface Answer {
    name: string;
    /** `A`, `MX`, …, or `UNKNOWN_<number>`. */
    type: string;
    ttl?: number;
    class?: string;
    data?: unknown;
    /** Of the OPT pseudo record (RFC 6891) alone. */
    udpPayloadSize?: number;
    extendedRcode?: number;
    ednsVersion?: number;
    flags?: number;
    options?: unknown[];
  }

  export interface Packet {
    type: 'query' | 'response';
    id: number;
    flags: number;
    questions: Question[];
    answers?: Answer[];
    authorities?: Answer[];
    additionals?: Answer[];
  }

  export interface DecodedPacket extends Required<Packet> {
    opcode: string;
    rcode: string;
    flag_tc: boolean;
    flag_ad: boolean;
  }

  export const RECURSION_DESIRED: number;
  export const RECURSION_AVAILABLE: number;
  export const AUTHORITATIVE_ANSWER: number;
  export const TRUNCATED_RESPONSE: number;
  export const AUTHENTIC_DATA: number;

  export function encode(packet: Packet): Buffer;
  /** Throws on malformed bytes. */
  export function decode(bytes: Buffer): DecodedPacket;
}
