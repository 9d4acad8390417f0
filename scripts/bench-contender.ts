/** What the delivery benchmark asks of a contender, and the message that all of them send. */

export const DOMAINS = 20;
export const SENDER_DOMAIN = 'sender.example';

/** The receivers' domains; `bench<n>.test` has its host on 127.0.1.<n>. */
export function recipientOf(index: number): string {
  return `user${index}@bench${index % DOMAINS}.test`;
}

export interface Contender {
  name: string;
  /** Processes whose time and memory count, with everything below them. */
  pids: number[];
  /** Opens one of the parallel connections. */
  connect(): Promise<Connection>;
  stop(): Promise<void>;
}

export interface Connection {
  /** Resolves when the message is accepted (2xx or 250); rejects otherwise. */
  submit(recipient: string): Promise<void>;
  close(): void;
}

const WORDS = 'The parcel left our shop this morning and will be with you within two days. ';

export const TEXT = `Good day,\r\n\r\n${WORDS.repeat(18)}\r\n\r\nYours, the shop`;
export const HTML = `<html><body><h1>Good day</h1>${`<p class="line">${WORDS}</p>\n`.repeat(34)}</body></html>`;
