/**
 * A message that came in, read as the report it is: the entry to this folder.
 *
 * The story of this folder. A message arrives on port 25, at one of our return paths or at abuse@. `InboundMessage`
 * splits it into MIME parts once; the readers share that tree and the decoded parts. `arf.ts` reads spam complaints
 * (RFC 5965); `dsn.ts` reads delivery status notifications (RFC 3464) and hands what follows no standard to
 * `plain-bounce.ts`. What comes out says who was not reached, why (`mail/replies` classifies the words), and how to
 * find the message: the return path (`return-path.ts`), Message-ID or Feedback-ID.
 *
 * Promises that any bytes give a report or null, in time linear in their length, and that an answer from a person's
 * mailbox is never taken for a bounce. Nothing here touches the disk or the network, so a crash loses nothing: the
 * sending server has had no reply yet and delivers the report again. Never throws.
 */
import { parseArf, type ArfReport } from './arf.ts';
import { parseDsn, type DsnReport } from './dsn.ts';
import type { InboundMessage } from './inbound-message.ts';

export type Report =
  | { kind: 'complaint'; report: ArfReport }
  | { kind: 'bounce'; report: DsnReport };

/** Null for a message that is no report. */
export function readReport(message: InboundMessage): Report | null {
  const complaint = parseArf(message);
  if (complaint !== null) return { kind: 'complaint', report: complaint };
  const bounce = parseDsn(message);
  return bounce === null ? null : { kind: 'bounce', report: bounce };
}
