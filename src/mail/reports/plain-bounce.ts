/**
 * Bounces that follow no standard: qmail, old Exim, Exchange, Sendmail, Gmail, Yahoo, Domino and others.
 *
 * Reads the reporter's own words: the introduction that distinguishes a bounce from a reply, the addresses, and the
 * reason for each. Promises null for anything without such an introduction, for automatic replies and for what people
 * write. Work is linear in the text, which is cut. Never throws.
 */
import { enhancedIn } from '../replies/bounce-class.ts';
import type { InboundMessage } from './inbound-message.ts';

export interface PlainRecipient {
  action: 'failed' | 'delayed';
  finalRecipient: string | null;
  status: string | null;
  diagnostic: string;
}

export interface PlainBounce {
  recipients: PlainRecipient[];
  /** The copy of our message at the end of the text, empty when there is none. */
  original: string;
}

/** Characters of the text that are read for addresses and reasons. */
const MAX_TEXT_LENGTH = 32_768;
const MAX_RECIPIENTS = 50;
const MAX_REASON_LENGTH = 1_000;

/** Introductions, each with the systems that write it. */
const INTRODUCTIONS: readonly RegExp[] = [
  /This is the qmail-send program/i, // qmail 1.03, qmail-send.c
  /This message was created automatically by mail delivery software/i, // Exim, GMX
  /A message that you sent (?:could not be delivered|contained no recipient|has not yet been delivered)/i, // Exim
  /did not reach (?:some or all of )?the (?:intended|following) recipient/i, // Exchange 5.5 to 2003
  /The following recipient\(?s?\)? (?:could not|can ?not) be reached/i, // Exchange
  /Delivery has failed to these recipients/i, // Exchange 2007 and later
  /Your message (?:to .{1,320} )?(?:couldn't|could not|wasn't|was not|can't|cannot) be delivered/i, // Office 365, others
  /Delivery to the following recipients? (?:has been |was )?(?:failed|delayed|delay)/i, // Gmail until 2016
  /Your message wasn't delivered to/i, // Gmail
  /unable to deliver your message to the following address/i, // Yahoo
  /The (?:following|original) (?:message|address(?:es)?|recipients?).{0,60}(?:permanent fatal errors|transient non-fatal errors|deferred|failed|undeliverable|not delivered|delivery)/i, // Sendmail
  /This is the (?:mail system|Postfix program) at host/i, // Postfix
  /(?:Your|The) (?:message|mail|e-?mail).{0,200}(?:was not delivered|could not be delivered|cannot be delivered|undeliverable|delivery failed|has been returned|been rejected)/is, // Domino, Courier, MDaemon
  /UNDELIVERABLE MAIL|Undelivered Mail Returned/i, // Courier, Postfix
  /Failed to deliver to/i, // CommuniGate Pro
  /This (?:report relates to|is an automatically generated) (?:a message|Delivery Status Notification)/i, // Sun, Microsoft SMTP service
  /(?:Mail )?delivery (?:to the following recipients )?failed|delivery failure/i, // MDaemon, IMail, Lotus
  /THIS IS A WARNING MESSAGE ONLY/i, // Sendmail, Gmail
];

/** Where our own message begins in the text. */
const ORIGINAL =
  /^[ \t]*(?:-{2,}.{0,20}(?:Below this line|This is a copy|Original message|Returned message|Unsent message|Message header follows|The header of the original|Forwarded message|Your original message).{0,80}|-{3,} ?$|Received: (?:from|by) .{1,200}|Original message headers:?)$/im;

const DELAY =
  /THIS IS A WARNING MESSAGE ONLY|has not yet been delivered|(?:delivery|message) (?:has been |is |was )?delayed|will (?:be|keep|continue).{0,40}(?:retr|try)|transient non-fatal|delivery to the following recipients? has been delayed|do not need to resend/i;

/** An SMTP reply or an enhanced code. */
const REPLY = /(?:^|[^\d.@])[45]\d\d[ :-]|\b[45]\.\d{1,3}\.\d{1,3}\b/;

const ADDRESS = '[^\\s<>()":;,]{1,64}@[A-Za-z0-9.-]{1,253}[A-Za-z0-9]';

/** Reads a message as a bounce in plain words; null when it is not one. */
export function readPlainBounce(message: InboundMessage): PlainBounce | null {
  if (isAutomaticReply(message) || !isFromMailSystem(message)) return null;
  const whole = message.readableText;
  const cut = ORIGINAL.exec(whole.slice(0, 4 * MAX_TEXT_LENGTH))?.index ?? -1;
  const text = (cut === -1 ? whole : whole.slice(0, cut)).slice(0, MAX_TEXT_LENGTH);
  if (!INTRODUCTIONS.some((introduction) => introduction.test(text.slice(0, 8_000)))) return null;
  const action = DELAY.test(`${message.words('subject')}\n${text.slice(0, 8_000)}`)
    ? 'delayed'
    : 'failed';
  const failed = (message.field('x-failed-recipients') ?? '').match(new RegExp(ADDRESS, 'g'));
  const found = blocksOf(text);
  const addresses: (string | null)[] = [...new Set(failed ?? found.keys())];
  // A bounce may name no address, since its return path does; but then it must quote a reply.
  if (addresses.length === 0 && !REPLY.test(text)) return null;
  if (addresses.length === 0) addresses.push(null);
  return {
    recipients: addresses.slice(0, MAX_RECIPIENTS).map((address) => {
      const block = found.get(address?.toLowerCase() ?? '') ?? text;
      // With one address alone the reply may stand before it.
      const isTelling = addresses.length > 1 || REPLY.test(block) || !REPLY.test(text);
      const diagnostic = reasonIn(isTelling ? block : text);
      return { action, finalRecipient: address, status: enhancedIn(diagnostic), diagnostic };
    }),
    original: cut === -1 ? '' : originalText(whole.slice(cut)),
  };
}

/** What a report's own words say about each address, for recipients without a Diagnostic-Code. */
export class ReasonTable {
  readonly #message: InboundMessage;
  #blocks: Map<string, string> | null = null;
  readonly #reasons = new Map<string, string>();

  constructor(message: InboundMessage) {
    this.#message = message;
  }

  /** Empty when the text does not name the address. The text is searched once, at the first question. */
  find(address: string): string {
    const wanted = address.toLowerCase();
    const known = this.#reasons.get(wanted);
    if (known !== undefined) return known;
    this.#blocks ??= blocksOf(this.#message.readableText.slice(0, MAX_TEXT_LENGTH));
    const block = this.#blocks.get(wanted);
    const reason = block === undefined ? '' : reasonIn(block);
    this.#reasons.set(wanted, reason);
    return reason;
  }
}

/** RFC 3834: automatic replies of mailboxes are marked as such; some only by their subject. */
function isAutomaticReply(message: InboundMessage): boolean {
  const submitted = message.field('auto-submitted')?.toLowerCase() ?? '';
  if (submitted.startsWith('auto-replied')) {
    // Some mail systems mark their bounces so too; those come from the mail system itself.
    return !/mailer-daemon|postmaster|mail delivery/i.test(message.field('from') ?? '');
  }
  return (
    message.field('x-autoreply') !== null ||
    /^(?:auto(?:matic)?[ -]?(?:reply|response)|out of (?:the )?office|abwesen|absence|vacation)/i.test(
      message.words('subject'),
    )
  );
}

function isFromMailSystem(message: InboundMessage): boolean {
  return (
    /mailer-?daemon|postmaster|mail ?delivery|\bMDaemon\b|mail ?system|administrator|mailadmin|noreply-dmarc|bounce|undeliver|non-?delivery/i.test(
      message.words('from'),
    ) ||
    message.field('return-path') === '<>' ||
    message.field('x-failed-recipients') !== null
  );
}

/** Addresses that stand at the beginning of a line, with the text up to the next one. */
function blocksOf(text: string): Map<string, string> {
  const line = new RegExp(
    `^[ \\t>*'"]*(?:(?:To:|RCPT TO:|Recipient(?: address)?:|(?:Failed )?Address:|Failed to deliver to|(?:The following|Your) message to)[ \\t]*)?[<'"]?(${ADDRESS})[>'"]?(?=$|[\\s:;,.(<])`,
    'i',
  );
  const blocks = new Map<string, string>();
  let current: string | null = null;
  for (const row of text.split('\n')) {
    const address = line.exec(row.slice(0, 400))?.[1]?.toLowerCase();
    if (address !== undefined && !blocks.has(address) && blocks.size < MAX_RECIPIENTS) {
      current = address;
      blocks.set(address, '');
    }
    if (current === null) continue;
    const block = blocks.get(current) ?? '';
    if (block.length < 4 * MAX_REASON_LENGTH) blocks.set(current, `${block}${row}\n`);
  }
  return blocks;
}

/** The remote server's reply in a block of text; else the block's first words. */
function reasonIn(block: string): string {
  const flat = block.replace(/\s+/g, ' ').trim();
  const reply = /(?:^|[^\d.@])([45]\d\d[ :-](?:#?[45]\.\d{1,3}\.\d{1,3}\b)?.*)$/.exec(flat)?.[1];
  const status = /#?\b[45]\.\d{1,3}\.\d{1,3}\b.*$/.exec(flat)?.[0];
  return (reply ?? (flat.length > MAX_REASON_LENGTH ? status : undefined) ?? flat).slice(
    0,
    MAX_REASON_LENGTH,
  );
}

/** The copy of our message: from the first header field behind the marker. */
function originalText(text: string): string {
  const start =
    /^(?:Return-Path|Received|DKIM-Signature|From|To|Message-ID|Date|Subject|MIME-Version)[ \t]*:/im.exec(
      text.slice(0, MAX_TEXT_LENGTH),
    );
  return start === null ? '' : text.slice(start.index, start.index + MAX_TEXT_LENGTH);
}
