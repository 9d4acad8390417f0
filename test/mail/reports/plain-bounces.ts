/** Bounces in plain words, put together from lines, and what is read of them. */
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { readPlainBounce } from '../../../src/mail/reports/plain-bounce.ts';

export const TEXT = [
  'Your message could not be delivered.',
  '',
  'ann@receiver.example:',
  '550 5.1.1 No such user',
];

/** The addresses of the bounce that a message with these header fields is; null when it is none. */
export function read(fields: readonly string[], lines: readonly string[] = TEXT): unknown {
  const bytes = Buffer.from([...fields, '', ...lines].join('\r\n'));
  return (
    readPlainBounce(new InboundMessage(bytes))?.recipients.map((one) => one.finalRecipient) ?? null
  );
}

export const ANN = ['ann@receiver.example'];
export const DAEMON = 'From: MAILER-DAEMON@mx.receiver.example';

/** What the bounce says of Ann, and the copy of our message that it has. */
export function told(lines: readonly string[], subject = 'x'): Record<string, unknown> | undefined {
  const bytes = Buffer.from([DAEMON, `Subject: ${subject}`, '', ...lines].join('\r\n'));
  const bounce = readPlainBounce(new InboundMessage(bytes));
  const [first] = bounce?.recipients ?? [];
  return first && { ...first, original: bounce?.original };
}
