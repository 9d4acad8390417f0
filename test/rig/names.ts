/**
 * A DNS server for tests: answers from a table over UDP and TCP on one free loopback port, and fails on command.
 *
 * Promises real packets by an encoder of its own (not the library that src/wire uses): NXDOMAIN and NODATA told
 * apart, CNAMEs followed, a SOA with negative answers, truncation over UDP above 512 bytes unless EDNS allows
 * more. Never asks another server.
 *
 *   const names = await startNames();
 *   names.set('example.com', 'MX', ['10 mx.example.com']);
 *   names.fail('broken.example', 'servfail');
 */
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { createServer } from 'node:net';
import type { Server } from 'node:net';

import type { Listen } from '../../src/base/config.ts';
import { encodeAnswer, parseQuery } from './dns-wire.ts';
import type { Query, Rcode, RecordType, ResourceRecord } from './dns-wire.ts';

/**
 * One record in zone-file words: `10 mx.example.com` (MX), `192.0.2.1` (A), `3 1 1 <hex>` (TLSA); TXT as a text
 * (cut into strings of 255 bytes) or as the list of its strings.
 */
export type RecordValue = string | string[];

/**
 * `servfail`, `refused`: that rcode. `timeout`: silence. `wrong-id`: an answer to another question number.
 * `garbage`: bytes that are no DNS packet. `truncated`: TC over UDP, and silence over TCP.
 */
export type Failure = 'servfail' | 'refused' | 'timeout' | 'wrong-id' | 'garbage' | 'truncated';

export interface SeenQuery {
  name: string;
  type: string;
  via: 'udp' | 'tcp';
}

export interface Names {
  listen: Listen;
  /** Every query so far, oldest first. */
  queries: SeenQuery[];
  /** Replaces the records of this name and type; an empty list removes them. `*.name` answers below it. */
  set(name: string, type: RecordType, records: RecordValue[], ttlSeconds?: number): void;
  /** Makes every query for `name` fail so; null makes them work again. */
  fail(name: string, how: Failure | null): void;
  /** Sends what `make` makes of each query for `name`, over TCP: over UDP it says that there is more. */
  script(name: string, make: (query: Query) => Buffer): void;
  /** Whether answers carry the AD bit, as a validating resolver's would. */
  setAuthenticated(isAuthenticated: boolean): void;
  stop(): Promise<void>;
}

const DEFAULT_TTL_SECONDS = 60;

export async function startNames(host = '127.0.0.1', port = 0): Promise<Names> {
  const zone = new Map<string, Map<RecordType, ResourceRecord[]>>();
  const failures = new Map<string, Failure>();
  const scripts = new Map<string, (query: Query) => Buffer>();
  const queries: SeenQuery[] = [];
  let isAuthenticated = false;

  const respond = (packet: Buffer, via: 'udp' | 'tcp'): Buffer | null => {
    const query = parseQuery(packet);
    if (query === null) return null;
    queries.push({ name: query.name, type: query.type, via });
    const failure = failures.get(query.name);
    if (failure !== undefined) return failed(query, failure, via);
    const make =
      scripts.get(query.name) ?? scripts.get(`*${query.name.slice(query.name.indexOf('.'))}`);
    if (make !== undefined && via === 'tcp') return make(query);
    if (make !== undefined) {
      const empty = { records: [], authority: [], isAuthenticated: false, isTruncated: true };
      return encodeAnswer(query, { ...empty, rcode: 'noerror' });
    }
    const found = find(zone, query);
    const answer = { ...found, isAuthenticated, isTruncated: false };
    const full = encodeAnswer(query, answer);
    if (via === 'tcp' || full.length <= query.udpBytes) return full;
    return encodeAnswer(query, { ...answer, records: [], isTruncated: true });
  };

  const tcp = createServer((socket) => {
    let pending: Buffer = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      // RFC 1035 section 4.2.2: two bytes of length before each message.
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const end = 2 + pending.readUInt16BE(0);
        const answer = respond(pending.subarray(2, end), 'tcp');
        pending = pending.subarray(end);
        if (answer === null) continue;
        const length = Buffer.alloc(2);
        length.writeUInt16BE(answer.length);
        socket.write(Buffer.concat([length, answer]));
      }
    });
  });
  const udp = await bindBoth(tcp, host, port);
  udp.on('message', (packet, peer) => {
    const answer = respond(packet, 'udp');
    if (answer !== null) udp.send(answer, peer.port, peer.address);
  });
  const listen = { host, port: udp.address().port };

  return {
    listen,
    queries,
    set(name, type, records, ttlSeconds = DEFAULT_TTL_SECONDS) {
      const key = name.toLowerCase();
      const types = zone.get(key) ?? new Map<RecordType, ResourceRecord[]>();
      zone.set(key, types);
      types.delete(type);
      const rows = records.map((value) => ({ name: key, type, value, ttlSeconds }));
      if (rows.length > 0) types.set(type, rows);
      if (types.size === 0) zone.delete(key);
    },
    fail(name, how) {
      if (how === null) failures.delete(name.toLowerCase());
      else failures.set(name.toLowerCase(), how);
    },
    script(name, make) {
      scripts.set(name.toLowerCase(), make);
    },
    setAuthenticated(value) {
      isAuthenticated = value;
    },
    async stop() {
      await new Promise<void>((resolve) => {
        udp.close(() => resolve());
      });
      tcp.close();
    },
  };
}

/** The answer of a failing name; null: silence. */
function failed(query: Query, how: Failure, via: 'udp' | 'tcp'): Buffer | null {
  const empty = { records: [], authority: [], isAuthenticated: false, isTruncated: false };
  switch (how) {
    case 'servfail':
      return encodeAnswer(query, { ...empty, rcode: 'servfail' });
    case 'refused':
      return encodeAnswer(query, { ...empty, rcode: 'refused' });
    case 'timeout':
      return null;
    case 'wrong-id':
      return encodeAnswer({ ...query, id: query.id ^ 0x5555 }, { ...empty, rcode: 'noerror' });
    case 'garbage':
      return Buffer.from([query.id >> 8, query.id & 0xff, 0x81, 0x80, 0, 1, 0, 200, 0xc0]);
    case 'truncated':
      if (via === 'tcp') return null;
      return encodeAnswer(query, { ...empty, rcode: 'noerror', isTruncated: true });
  }
}

type Zone = ReadonlyMap<string, ReadonlyMap<RecordType, ResourceRecord[]>>;

/** RFC 1034 section 4.3.2 for a server that is authoritative for the whole tree. */
function find(
  zone: Zone,
  query: Query,
): { rcode: Rcode; records: ResourceRecord[]; authority: ResourceRecord[] } {
  const records: ResourceRecord[] = [];
  const authority = [soa()];
  let name = query.name;
  // A looping CNAME ends here with what was collected, as a resolver's own limit would.
  for (let hop = 0; hop < 8; hop += 1) {
    const types = typesAt(zone, name);
    if (types === null) {
      const hasBelow = Array.from(zone.keys()).some((key) => key.endsWith(`.${name}`));
      return { rcode: hasBelow ? 'noerror' : 'nxdomain', records, authority };
    }
    const rows = types.get(query.type);
    if (rows !== undefined) {
      records.push(...rows.map((row) => ({ ...row, name })));
      return { rcode: 'noerror', records, authority: [] };
    }
    const alias = types.get('CNAME')?.[0];
    if (alias === undefined) return { rcode: 'noerror', records, authority };
    records.push({ ...alias, name });
    name = String(alias.value).toLowerCase();
  }
  return { rcode: 'noerror', records, authority: [] };
}

function typesAt(zone: Zone, name: string): ReadonlyMap<RecordType, ResourceRecord[]> | null {
  const exact = zone.get(name);
  if (exact !== undefined) return exact;
  const parent = name.slice(name.indexOf('.') + 1);
  return zone.get(`*.${parent}`) ?? null;
}

function soa(): ResourceRecord {
  return { name: '', type: 'SOA', value: 'ns.rig hostmaster.rig 1 60 60 60 5', ttlSeconds: 5 };
}

/** One number for both: a port that is free over UDP may be taken over TCP, then another one is tried. */
async function bindBoth(tcp: Server, host: string, port: number): Promise<Socket> {
  for (;;) {
    const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    await new Promise<void>((resolve, reject) => {
      udp.once('error', reject);
      udp.bind(port, host, () => {
        udp.off('error', reject);
        resolve();
      });
    });
    // Who asked may have given up and closed its socket: the kernel tells the next one to read here.
    udp.on('error', () => undefined);
    const isBound = await new Promise<boolean>((resolve, reject) => {
      const refuse = (error: NodeJS.ErrnoException): void => {
        if (port === 0 && error.code === 'EADDRINUSE') resolve(false);
        else reject(error);
      };
      tcp.once('error', refuse);
      tcp.listen(udp.address().port, host, () => {
        tcp.off('error', refuse);
        resolve(true);
      });
    });
    if (isBound) return udp;
    udp.close();
  }
}
