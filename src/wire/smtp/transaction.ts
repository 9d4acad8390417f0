/**
 * One mail transaction: MAIL, RCPT, DATA, the body (RFC 5321 section 3.3), pipelined where offered (RFC 2920).
 *
 * Promises an outcome for every end; that extensions are used only where offered; that a transaction which was refused
 * halfway is reset; and that `mayBeDuplicate` is set exactly when the whole message had left and no reply came. Throws
 * only for messages and addresses that must never be sent.
 */
import { DialogueEnd } from './dialogue.ts';
import type { Dialogue } from './dialogue.ts';
import type { OutgoingMessage } from './body.ts';
import type { Stage } from './deadlines.ts';
import type { Extensions } from './greeting.ts';
import { formatReply } from './reply.ts';
import type { Reply, ReplyLines } from './reply.ts';

export interface Envelope {
  /** Return path without angle brackets; empty for the null return path. */
  from: string;
  to: string;
  message: OutgoingMessage;
  needsSmtpUtf8: boolean;
  /** Asked before the final dot leaves, which is when the receiver takes the message; absent: it may. */
  mayHandOver?: (() => boolean) | undefined;
  /** Ask for delivery status notifications of success, failure and delay where offered (RFC 3461). */
  dsn: boolean;
}

export type SendResult =
  | { kind: 'accepted'; reply: Reply }
  | { kind: 'refused'; stage: Stage; reply: Reply }
  | {
      kind: 'broken';
      stage: Stage;
      cause: string;
      reply: Reply | null;
      /** Lost after all bytes, the final dot included, were handed over (RFC 1047). */
      mayBeDuplicate: boolean;
    }
  /** Not sent: the message needs an extension that the server does not offer. The session stays usable. */
  | { kind: 'unsupported'; extension: 'SMTPUTF8' | '8BITMIME' };

// C0, DEL, C1: none may stand in a command (RFC 5321 section 4.1.2), whatever checked them before.
// oxlint-disable-next-line no-control-regex
const UNSAFE_IN_COMMAND = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff]/u;
// oxlint-disable-next-line no-control-regex
const NON_ASCII = /[^\u0000-\u007f]/;

/**
 * Runs one transaction. Afterwards the dialogue is either ready for the next or ended.
 * Throws on stray CR or LF in the message and on control characters in an address.
 */
export async function transact(
  dialogue: Dialogue,
  extensions: Extensions,
  envelope: Envelope,
): Promise<SendResult> {
  const { isClean, hasEightBit } = envelope.message.facts;
  if (!isClean) throw new Error('message has a CR or LF that is not part of a CRLF');
  if (UNSAFE_IN_COMMAND.test(envelope.from + envelope.to)) {
    throw new Error('address has a control character');
  }
  const isUtf8 = envelope.needsSmtpUtf8 || NON_ASCII.test(envelope.from + envelope.to);
  if (isUtf8 && !extensions.has('SMTPUTF8')) return { kind: 'unsupported', extension: 'SMTPUTF8' };
  if (hasEightBit && !extensions.has('8BITMIME')) {
    return { kind: 'unsupported', extension: '8BITMIME' };
  }

  const progress = { isHandedOver: false };
  try {
    const opening: [line: string, stage: Stage][] = [
      [mailCommand(envelope, extensions, isUtf8, hasEightBit), 'mail'],
      [rcptCommand(envelope, extensions), 'rcpt'],
      ['DATA', 'data'],
    ];
    const refusal = extensions.has('PIPELINING')
      ? await openPipelined(dialogue, opening)
      : await openStepwise(dialogue, opening);
    if (refusal !== null) return refusal;
    return await sendBody(dialogue, envelope, progress);
  } catch (error) {
    dialogue.destroy();
    if (!(error instanceof DialogueEnd)) throw error;
    const { stage, message: cause, reply } = error;
    return { kind: 'broken', stage, cause, reply, mayBeDuplicate: progress.isHandedOver };
  }
}

async function openStepwise(
  dialogue: Dialogue,
  opening: readonly [line: string, stage: Stage][],
): Promise<SendResult | null> {
  for (const [line, stage] of opening) {
    const refusal = readReply(stage, await dialogue.command(line, stage));
    if (refusal !== null) {
      await reset(dialogue, refusal.reply, stage !== 'mail');
      return refusal;
    }
  }
  return null;
}

async function openPipelined(
  dialogue: Dialogue,
  opening: readonly [line: string, stage: Stage][],
): Promise<SendResult | null> {
  const { replies, end } = await dialogue.commands(opening);
  let refusal: (SendResult & { kind: 'refused' }) | null = null;
  for (const [i, reply] of replies.entries()) {
    const stage = opening[i]?.[1] ?? 'data';
    if (refusal === null) {
      refusal = readReply(stage, reply);
    } else if (stage === 'data' && reply.code < 400) {
      // It accepted DATA without a recipient: only closing the connection makes sure that it gets no message.
      dialogue.destroy();
      return refusal;
    }
  }
  // What was refused stays refused, whatever happened to the connection afterwards.
  if (end !== null && refusal === null) throw end;
  // Some commands have no reply: the server is closing, so waiting for more is pointless.
  if (replies.length < opening.length) dialogue.destroy();
  else if (refusal !== null) await reset(dialogue, refusal.reply, refusal.stage !== 'mail');
  return refusal;
}

/** Null: continue. Throws DialogueEnd for a reply that neither accepts nor refuses. */
function readReply(stage: Stage, reply: ReplyLines): (SendResult & { kind: 'refused' }) | null {
  if (reply.code >= 400) return { kind: 'refused', stage, reply: plain(reply) };
  const isAccepted = stage === 'data' ? reply.code === 354 : reply.code < 300;
  if (isAccepted) return null;
  throw new DialogueEnd(stage, `unexpected reply: ${formatReply(reply)}`);
}

async function sendBody(
  dialogue: Dialogue,
  { message, mayHandOver }: Envelope,
  progress: { isHandedOver: boolean },
): Promise<SendResult> {
  const { reply, isEarly } = await dialogue.body(message.body(), progress, mayHandOver);
  const stage = isEarly ? 'body' : 'dot';
  const refusal = readReply(stage, reply);
  if (refusal === null && !isEarly) return { kind: 'accepted', reply: plain(reply) };
  // The rest of the body would be read as commands.
  if (isEarly || reply.code === 421) dialogue.destroy();
  if (refusal !== null) return refusal;
  throw new DialogueEnd(stage, `reply before the end of the message: ${formatReply(reply)}`);
}

/** RSET after a refusal, so that the next message starts afresh; where that fails the dialogue ends. */
async function reset(dialogue: Dialogue, refusal: Reply, isOpened: boolean): Promise<void> {
  if (refusal.code === 421) {
    // RFC 5321 section 3.8: the server is closing.
    dialogue.destroy();
    return;
  }
  if (!isOpened || !dialogue.isOpen) return;
  try {
    const reply = await dialogue.command('RSET', 'rset');
    if (reply.code >= 300) dialogue.destroy();
  } catch (error) {
    if (!(error instanceof DialogueEnd)) throw error;
    dialogue.destroy();
  }
}

function mailCommand(
  envelope: Envelope,
  extensions: Extensions,
  isUtf8: boolean,
  hasEightBit: boolean,
): string {
  let line = `MAIL FROM:<${envelope.from}>`;
  if (extensions.has('SIZE')) line += ` SIZE=${envelope.message.bytes.length}`;
  if (hasEightBit) line += ' BODY=8BITMIME';
  if (isUtf8) line += ' SMTPUTF8';
  if (envelope.dsn && extensions.has('DSN')) line += ' RET=HDRS';
  return line;
}

function rcptCommand(envelope: Envelope, extensions: Extensions): string {
  const line = `RCPT TO:<${envelope.to}>`;
  if (!envelope.dsn || !extensions.has('DSN')) return line;
  const notify = `${line} NOTIFY=SUCCESS,FAILURE,DELAY`;
  return NON_ASCII.test(envelope.to) ? notify : `${notify} ORCPT=rfc822;${xtext(envelope.to)}`;
}

/** RFC 3461 section 4. */
function xtext(text: string): string {
  return text.replace(
    /[^\x21-\x2a\x2c-\x3c\x3e-\x7e]/g,
    (c) => `+${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

function plain({ code, enhanced, text }: ReplyLines): Reply {
  return { code, enhanced, text };
}
