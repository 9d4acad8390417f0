/**
 * Bounds the lines that anybody who can reach a listener can cause: a flood must not fill the disk or bury the rest.
 *
 * Promises, for each of `LIMITED_EVENTS` and each class of peers, at most `LINES_MAX` lines in a minute that begins with
 * the first of them, and at its end one line `lines_left_out` that counts the others; every other event passes as it
 * is. Keeps one number for each event and class, so that no number of peers costs memory. `flush` writes what is
 * counted so far. Never throws.
 */
import { BlockList, isIP } from 'node:net';
import type { Clock } from './clock.ts';
import type { Fields, Log } from './log.ts';

/** What needs no key and no password, and faults that whoever found them can repeat. */
export const LIMITED_EVENTS: ReadonlySet<string> = new Set([
  'complaint_unmatched',
  'dashboard_fault',
  'dashboard_sign_in_refused',
  'operator_mail_received',
  'request_failed',
  'smtp_command_failed',
]);

const LINES_MAX = 20;
const WINDOW_MS = 60_000;

/** So that a flood from outside leaves the lines of this machine and its network. `unknown`: the event has no peer. */
export type PeerClass = 'this_machine' | 'private' | 'public' | 'unknown';

interface Window {
  event: string;
  peers: PeerClass;
  lines: number;
  leftOut: number;
  cancel: () => void;
}

export class LimitedLog implements Log {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #windows = new Map<string, Window>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  info(event: string, fields?: Fields): void {
    if (this.#mayWrite(event, fields)) this.#log.info(event, fields);
  }

  warn(event: string, fields?: Fields): void {
    if (this.#mayWrite(event, fields)) this.#log.warn(event, fields);
  }

  error(event: string, fields: Fields & { hint: string }): void {
    if (this.#mayWrite(event, fields)) this.#log.error(event, fields);
  }

  /** Ends every window now. */
  flush(): void {
    for (const window of this.#windows.values()) {
      window.cancel();
      this.#close(window);
    }
  }

  #mayWrite(event: string, fields: Fields | undefined): boolean {
    if (!LIMITED_EVENTS.has(event)) return true;
    const peers = peerClass(fields?.['peer']);
    const key = `${event} ${peers}`;
    const window = this.#windows.get(key) ?? this.#open(key, event, peers);
    if (window.lines < LINES_MAX) {
      window.lines += 1;
      return true;
    }
    window.leftOut += 1;
    return false;
  }

  #open(key: string, event: string, peers: PeerClass): Window {
    const cancel = this.#clock.after(WINDOW_MS, () => this.#close(window));
    const window: Window = { event, peers, lines: 0, leftOut: 0, cancel };
    this.#windows.set(key, window);
    return window;
  }

  #close({ event, peers, leftOut }: Window): void {
    this.#windows.delete(`${event} ${peers}`);
    if (leftOut === 0) return;
    const log = this.#log;
    const summary = `${leftOut} more in the last minute`;
    log.warn('lines_left_out', { of: event, peers, count: leftOut, summary });
  }
}

/** RFC 1122 section 3.2.1.3 and RFC 4291 section 2.5.3. */
const THIS_MACHINE = listOf(['127.0.0.0/8', '::1/128']);
/** RFC 1918, 3927, 6598, 4193 and 4291 section 2.5.6. */
const PRIVATE = listOf([
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
  'fe80::/10',
]);

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

function peerClass(peer: unknown): PeerClass {
  if (typeof peer !== 'string') return 'unknown';
  const family = isIP(peer);
  if (family === 0) return 'unknown';
  // A list of IPv4 networks knows `::ffff:10.1.2.3` too, as a socket that listens on `::` reports an IPv4 client.
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  if (THIS_MACHINE.check(peer, kind)) return 'this_machine';
  return PRIVATE.check(peer, kind) ? 'private' : 'public';
}
