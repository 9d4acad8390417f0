/**
 * How far the machine's clock is off: one SNTP question (RFC 5905 section 14).
 *
 * Never sets the clock and never throws; silence gives null. The answer must echo our random transmit time, so that a
 * stray packet is not taken for it.
 */
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';

/** Seconds between the NTP era (1900) and the Unix epoch (RFC 5905 section 6). */
const NTP_EPOCH_SECONDS = 2_208_988_800;
const PACKET_BYTES = 48;
/** Leap 0, version 4, mode 3 (client). */
const CLIENT_REQUEST = 0x23;
const SERVER_MODE = 4;

/** Milliseconds that the clock is ahead of the server at `address` (negative: behind); null without an answer. */
export function clockOffset(
  address: string,
  port: number,
  timeoutMs: number,
): Promise<number | null> {
  return new Promise((resolve) => {
    const request = Buffer.alloc(PACKET_BYTES);
    request[0] = CLIENT_REQUEST;
    const cookie = randomBytes(8);
    cookie.copy(request, 40);
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    const end = (offsetMs: number | null): void => {
      clearTimeout(timer);
      socket.close();
      resolve(offsetMs);
    };
    const timer = setTimeout(() => end(null), timeoutMs);
    const sentAt = Date.now();
    socket.on('error', () => end(null));
    socket.on('message', (answer) => {
      if (answer.length < PACKET_BYTES || !answer.subarray(24, 32).equals(cookie)) return;
      const mode = (answer[0] ?? 0) & 7;
      const stratum = answer[1] ?? 0;
      if (mode !== SERVER_MODE || stratum === 0 || stratum > 15) return end(null);
      const seconds = answer.readUInt32BE(40) - NTP_EPOCH_SECONDS;
      const serverMs = seconds * 1000 + (answer.readUInt32BE(44) / 2 ** 32) * 1000;
      end((sentAt + Date.now()) / 2 - serverMs);
    });
    socket.send(request, port, address, (error) => {
      if (error !== null && error !== undefined) end(null);
    });
  });
}
