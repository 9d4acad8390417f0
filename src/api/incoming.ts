/**
 * A request as it arrives: what is known of it before a route sees it.
 *
 * Holds nothing that was checked; no behaviour.
 */

export interface Incoming {
  request: Request;
  /** As the client sent it: a HEAD is routed as GET. */
  method: string;
  /** Path as the client wrote it, without query. */
  path: string;
  /** Address of the socket's other end; null without a socket. */
  peer: string | null;
  params: Record<string, string>;
}
