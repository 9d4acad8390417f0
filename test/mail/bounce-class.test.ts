/** Known replies get their class, and only those that speak of the address suppress it. */
import { expect, test } from 'bun:test';
import { PROVIDER_ROWS } from '../../src/mail/bounce-providers.ts';
import type { BounceClass, BounceSubType } from '../../src/mail/bounce-row.ts';
import { GENERAL_ROWS } from '../../src/mail/bounce-table.ts';
import { classifyReply, enhancedIn } from '../../src/mail/bounce-class.ts';
import { randomText, seeded } from './random.ts';

type Row = [
  reply: string,
  bounceClass: BounceClass,
  subType: BounceSubType,
  does: 'suppresses' | 'keeps',
];

/** Replies to RCPT or to the data, as the vendors document them or their source code writes them. */
const REPLIES: Row[] = [
  // Gmail
  [
    "550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address for typos or unnecessary spaces. https://support.google.com/mail/?p=NoSuchUser x1 - gsmtp",
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  [
    '550 5.2.1 The email account that you tried to reach is disabled. https://support.google.com/mail/?p=DisabledUser x1 - gsmtp',
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  [
    '550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered. https://support.google.com/mail/?p=ReceivingRatePerm - gsmtp',
    'rate',
    'General',
    'keeps',
  ],
  [
    '450 4.2.1 The user you are trying to contact is receiving mail too quickly. https://support.google.com/mail/?p=ReceivingRate - gsmtp',
    'rate',
    'General',
    'keeps',
  ],
  [
    "552 5.2.2 The recipient's inbox is out of storage space. https://support.google.com/mail/?p=OverQuotaPerm - gsmtp",
    'mailbox_full',
    'MailboxFull',
    'keeps',
  ],
  [
    '452 4.2.2 The email account that you tried to reach is over quota. https://support.google.com/mail/?p=OverQuotaTemp - gsmtp',
    'mailbox_full',
    'MailboxFull',
    'keeps',
  ],
  [
    '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address. https://support.google.com/mail/?p=UnsolicitedRateLimitError - gsmtp',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '421 4.7.0 [192.0.2.1 15] Our system has detected that this message is suspicious due to the very low reputation of the sending IP address. - gsmtp',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550 5.7.26 This mail has been blocked because the sender is unauthenticated. Gmail requires all senders to authenticate with either SPF or DKIM. - gsmtp',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  [
    "550 5.7.26 Unauthenticated email from example.com is not accepted due to domain's DMARC policy. - gsmtp",
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550 5.7.25 [2001:db8::1] The IP address sending this message does not have a PTR record setup - gsmtp',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '552 5.7.0 This message was blocked because its content presents a potential security issue. https://support.google.com/mail/?p=BlockedMessage - gsmtp',
    'content',
    'AttachmentRejected',
    'keeps',
  ],
  [
    "552 5.3.4 Your message exceeded Google's message size limits. https://support.google.com/mail/?p=MaxSizeError - gsmtp",
    'content',
    'MessageTooLarge',
    'keeps',
  ],
  [
    '550 5.7.1 [192.0.2.1] Our system has detected that this message is likely unsolicited mail. https://support.google.com/mail/?p=UnsolicitedMessageError - gsmtp',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550 5.7.1 Messages missing a valid Message-ID header are not accepted. - gsmtp',
    'protocol',
    'General',
    'keeps',
  ],
  ['421 4.3.0 Temporary System Problem. Try again later - gsmtp', 'network', 'General', 'keeps'],
  // Microsoft
  [
    "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3140). You can also refer your provider to http://mail.live.com/mail/troubleshooting.aspx#errors. [x.prod.protection.outlook.com]",
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. (AS3150) [x.prod.protection.outlook.com]",
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '421 RP-001 The mail server IP connecting to Outlook.com server has exceeded the rate limit allowed.',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550 SC-001 Mail rejected by Outlook.com for policy reasons.',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    "550 DY-001 Mail rejected by Outlook.com for policy reasons. We generally do not accept email from dynamic IP's.",
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302). [x.prod.protection.outlook.com]',
    'protocol',
    'General',
    'keeps',
  ],
  [
    '550 5.7.606 Access denied, banned sending IP [192.0.2.1]. To request removal from this list please visit https://sender.office.com/',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550 5.7.515 Access denied, sending domain example.com does not meet the required authentication level.',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation. For e-mail delivery information see https://postmaster.live.com (S775)',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (AS843) [x.prod.protection.outlook.com]',
    'rate',
    'General',
    'keeps',
  ],
  [
    '550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [x.prod.protection.outlook.com]',
    'recipient',
    'NoEmail',
    'keeps',
  ],
  [
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  ['550 5.1.1 RESOLVER.ADR.ExRecipNotFound; not found', 'recipient', 'NoEmail', 'suppresses'],
  [
    '550 5.7.1 RESOLVER.RST.AuthRequired; authentication required [Stage: CreateMessage]',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient',
    'content',
    'MessageTooLarge',
    'keeps',
  ],
  [
    '554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException.MapiExceptionShutoffQuotaExceeded',
    'mailbox_full',
    'MailboxFull',
    'keeps',
  ],
  ['432 4.3.2 STOREDRV.Deliver; recipient thread limit exceeded', 'rate', 'General', 'keeps'],
  // Yahoo and AOL
  [
    '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints - 4.16.55.1; see https://postmaster.yahooinc.com/error-codes',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '421 4.7.0 [TS01] Messages from 192.0.2.1 temporarily deferred due to user complaints - 4.16.55.1',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1, because the ip is in Spamhaus's list",
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '451 4.7.1 [GL01] Message from (192.0.2.1) temporarily deferred - 4.16.50.',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  [
    "554 delivery error: dd This user doesn't have a yahoo.com account (ann@yahoo.com) [0] - mta1.yahoo.com",
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  [
    '554 30 Sorry, your message to ann@yahoo.com cannot be delivered. This mailbox is disabled (554.30).',
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  ['552 1 Requested mail action aborted, mailbox not found', 'recipient', 'NoEmail', 'suppresses'],
  // Apple
  ['550 5.1.1 <ann@icloud.com>: user does not exist', 'recipient', 'NoEmail', 'suppresses'],
  [
    '550 5.7.1 [CS01] Message rejected due to local policy. Please visit https://support.apple.com/en-us/HT204137',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '554 5.7.1 [HM08] Message rejected due to local policy. Please visit https://support.apple.com/en-us/HT204137',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '421 4.7.1 Messages to ann@icloud.com deferred due to excessive volume. Try again later - https://support.apple.com/en-us/HT204137',
    'rate',
    'General',
    'keeps',
  ],
  ['552 5.2.2 <ann@icloud.com>: user is over quota', 'mailbox_full', 'MailboxFull', 'keeps'],
  // Others
  [
    '550 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.1',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550 5.1.1 <ann@example.com>: rejected, 192.0.2.1 is listed at zen.spamhaus.org',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '554 Service unavailable; Client host [mail.example.com] blocked using Barracuda Reputation; http://www.barracudanetworks.com/reputation/?r=1&ip=192.0.2.1',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  ['550 5.7.0 Local Policy Violation', 'policy', 'PolicyBlocked', 'keeps'],
  [
    '554 IP=192.0.2.1 - None/bad reputation. Ask your postmaster for help or to contact tobr@rx.t-online.de for reset. (NOWL)',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  ['550 5.2.0 Mail rejete. Mail rejected. OFR_506 [506]', 'reputation', 'PolicyBlocked', 'keeps'],
  [
    '550 spam message rejected. Please visit http://help.mail.ru/notspam-support/id?c=x or report details to abuse@corp.mail.ru.',
    'content',
    'ContentRejected',
    'keeps',
  ],
  [
    '554 5.7.1 [2] Message rejected under suspicion of SPAM; https://ya.cc/1IrBc',
    'content',
    'ContentRejected',
    'keeps',
  ],
  [
    '554 DT:SPM 163 mx10,x,1,1,1 please see http://mail.163.com/help/help_spam_16.htm',
    'content',
    'ContentRejected',
    'keeps',
  ],
  [
    '550 Connection frequency limited. http://service.mail.qq.com/cgi-bin/help?subtype=1',
    'rate',
    'General',
    'keeps',
  ],
  ['550 AUP#I-1310 Your e-mail was rejected', 'reputation', 'PolicyBlocked', 'keeps'],
  ['554 rejected due to spam content', 'content', 'ContentRejected', 'keeps'],
  [
    '554 Blocked - see https://support.proofpoint.com/dnsbl-lookup.cgi?ip=192.0.2.1',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  ['550 csi.cloudmark.com: 192.0.2.1 is blocked', 'reputation', 'PolicyBlocked', 'keeps'],
  [
    '550 Administrator prohibition - envelope blocked - https://community.mimecast.com/docs/DOC-1369#550',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  [
    '550-Requested action not taken: mailbox unavailable For explanation visit http://postmaster.gmx.com/en/error-messages?ip=192.0.2.1&c=bl',
    'reputation',
    'PolicyBlocked',
    'keeps',
  ],
  // Mail servers
  [
    '550 5.1.1 <ann@example.com>: Recipient address rejected: User unknown in virtual mailbox table',
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  [
    '550 5.1.1 <ann@example.com>: Recipient address rejected: User unknown in local recipient table',
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  [
    '450 4.1.1 <ann@example.com>: Recipient address rejected: unverified address: Address lookup failed',
    'recipient',
    'NoEmail',
    'keeps',
  ],
  [
    '550 5.1.6 recipient no longer on server: ann@example.com',
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  [
    '550 5.1.2 <ann@nowhere.example>: Recipient address rejected: Domain not found',
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  ['501 5.1.3 Bad recipient address syntax', 'recipient', 'NoEmail', 'suppresses'],
  ['550 No such user here', 'recipient', 'NoEmail', 'suppresses'],
  ['550 No Such User Here"', 'recipient', 'NoEmail', 'suppresses'],
  ['550 Unrouteable address', 'recipient', 'NoEmail', 'suppresses'],
  ['550 5.1.1 unknown or illegal alias: ann@example.com', 'recipient', 'NoEmail', 'suppresses'],
  ['553 5.3.0 <ann@example.com>... No such user', 'recipient', 'NoEmail', 'keeps'],
  ['550 sorry, no mailbox here by that name. (#5.1.1)', 'recipient', 'NoEmail', 'suppresses'],
  [
    '550 5.7.1 <ann@example.com>: User unknown; rejecting due to policy',
    'recipient',
    'NoEmail',
    'keeps',
  ],
  [
    '511 sorry, no mailbox here by that name (#5.1.1 - chkuser)',
    'recipient',
    'NoEmail',
    'suppresses',
  ],
  ['550 Mailbox not found', 'recipient', 'NoEmail', 'suppresses'],
  ['550 Account disabled', 'recipient', 'NoEmail', 'suppresses'],
  ['550 5.2.1 Mailbox disabled, not accepting messages', 'recipient', 'NoEmail', 'suppresses'],
  ['550 Requested action not taken: mailbox unavailable', 'recipient', 'General', 'keeps'],
  ['550 Rejected', 'recipient', 'General', 'keeps'],
  ['550', 'recipient', 'General', 'keeps'],
  ['551 not our customer', 'recipient', 'NoEmail', 'suppresses'],
  [
    '552 5.2.2 <ann@example.com>: Quota exceeded (mailbox for user is full)',
    'mailbox_full',
    'MailboxFull',
    'keeps',
  ],
  ['452 4.2.2 Mailbox full', 'mailbox_full', 'MailboxFull', 'keeps'],
  ['552 Mailbox size limit exceeded', 'mailbox_full', 'MailboxFull', 'keeps'],
  [
    '554 5.2.2 User mailbox exceeds allowed size: ann@example.com',
    'mailbox_full',
    'MailboxFull',
    'keeps',
  ],
  ['552 5.3.4 Message size exceeds fixed limit', 'content', 'MessageTooLarge', 'keeps'],
  ['552 Message size exceeds maximum permitted', 'content', 'MessageTooLarge', 'keeps'],
  ['554 5.6.0 Message contains an executable attachment', 'content', 'AttachmentRejected', 'keeps'],
  ['550 5.7.1 Attachment type not allowed: invoice.zip', 'content', 'AttachmentRejected', 'keeps'],
  ['554 5.7.1 Virus Eicar-Test-Signature found', 'content', 'AttachmentRejected', 'keeps'],
  ['554 5.7.1 Blocked by SpamAssassin', 'content', 'ContentRejected', 'keeps'],
  ['550 High probability of spam', 'content', 'ContentRejected', 'keeps'],
  ['554 5.7.1 <ann@example.com>: Relay access denied', 'policy', 'General', 'keeps'],
  ['550 relay not permitted', 'policy', 'General', 'keeps'],
  [
    "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
    'policy',
    'General',
    'keeps',
  ],
  [
    '450 4.2.0 <ann@example.com>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/example.com.html',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  ['451 4.7.1 Greylisting in action, please come back later', 'policy', 'PolicyBlocked', 'keeps'],
  [
    '450 4.7.25 Client host rejected: cannot find your hostname, [192.0.2.1]',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  ['450 4.7.1 Error: too much mail from 192.0.2.1, rate limit', 'rate', 'General', 'keeps'],
  [
    '421 4.7.0 mx.example.com Error: too many connections from 192.0.2.1',
    'rate',
    'General',
    'keeps',
  ],
  ['421 Too many concurrent SMTP connections; please try again later.', 'rate', 'General', 'keeps'],
  [
    '550 5.7.1 SPF check failed: 192.0.2.1 is not allowed to send mail for example.com',
    'policy',
    'PolicyBlocked',
    'keeps',
  ],
  ['550 5.7.1 Email rejected per DMARC policy for example.com', 'policy', 'PolicyBlocked', 'keeps'],
  ['550 5.7.20 No passing DKIM signature found', 'policy', 'PolicyBlocked', 'keeps'],
  ['452 4.3.1 Insufficient system storage', 'network', 'General', 'keeps'],
  ['451 4.3.0 Temporary lookup failure', 'network', 'General', 'keeps'],
  ['421 4.4.2 mx.example.com Error: timeout exceeded', 'network', 'General', 'keeps'],
  ['554 5.4.6 Too many hops', 'network', 'General', 'keeps'],
  ['503 5.5.1 Bad sequence of commands', 'protocol', 'General', 'keeps'],
  ['530 5.7.0 Must issue a STARTTLS command first', 'protocol', 'General', 'keeps'],
  ['554 5.6.0 Header error: multiple From fields', 'protocol', 'General', 'keeps'],
  ['550 5.7.1 Only members may post to this list', 'recipient', 'PolicyBlocked', 'keeps'],
  ['556 5.1.10 Domain has null MX', 'recipient', 'NoEmail', 'suppresses'],
  ['554 Transaction failed', 'policy', 'PolicyBlocked', 'keeps'],
  ['550 Sender verify failed', 'policy', 'PolicyBlocked', 'keeps'],
  ['550 5.1.8 Sender address rejected: Domain not found', 'policy', 'PolicyBlocked', 'keeps'],
  ['552 5.6.0 Submitted message exceeds line length', 'content', 'ContentRejected', 'keeps'],
];

function verdictOf(reply: string, stage = 'rcpt'): ReturnType<typeof classifyReply> {
  const match = /^(\d{3})[ -]?(?:([245]\.\d+\.\d+) ?)?(.*)$/s.exec(reply);
  return classifyReply({
    code: Number(match?.[1]),
    enhanced: match?.[2] ?? null,
    text: match?.[3] ?? '',
    stage,
  });
}

test.each(REPLIES)('%s', (reply, bounceClass, subType, does) => {
  const verdict = verdictOf(reply);
  expect([verdict.class, verdict.subType, verdict.isSuppressing]).toEqual([
    bounceClass,
    subType,
    does === 'suppresses',
  ]);
  expect(verdict.isPermanent).toBe(reply.startsWith('5'));
  expect(verdict.bounceType).toBe(reply.startsWith('5') ? 'Permanent' : 'Transient');
});

test('what is temporary never suppresses, nor a refusal before a recipient was named', () => {
  for (const [reply] of REPLIES) {
    const temporary = reply.replace(/^5/, '4').replace(/ 5\.(\d+\.\d+)/, ' 4.$1');
    expect([temporary, verdictOf(temporary).isSuppressing]).toEqual([temporary, false]);
    for (const stage of ['connect', 'banner', 'ehlo', 'starttls', 'auth', 'mail']) {
      expect([reply, stage, verdictOf(reply, stage).isSuppressing]).toEqual([reply, stage, false]);
    }
  }
});

test('with an enhanced code, only the six codes about the address suppress', () => {
  const allowed = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1']);
  for (const [reply] of REPLIES) {
    for (let subject = 0; subject < 8; subject += 1) {
      for (let detail = 0; detail < 35; detail += 1) {
        const enhanced = `5.${subject}.${detail}`;
        if (enhanced === '5.0.0') continue;
        const text = reply.slice(4).replace(/#?[45]\.\d+\.\d+/g, '');
        const verdict = classifyReply({ code: 550, enhanced, text, stage: 'rcpt' });
        if (verdict.isSuppressing) expect(allowed.has(enhanced)).toBe(true);
      }
    }
  }
});

test('every provider in the table has a hint with its own link', () => {
  const reply = (text: string): string | null => verdictOf(text, 'rcpt').hint;
  expect(reply("550 5.7.1 weren't sent (S3140) outlook.com")).toContain(
    'https://olcsupport.office.com/',
  );
  expect(reply('421 RP-001 Outlook.com exceeded the rate limit')).toContain(
    'https://olcsupport.office.com/',
  );
  expect(reply('421 4.7.0 [TSS04] deferred')).toContain('https://senders.yahooinc.com/');
  expect(reply('421 4.7.28 unusual rate of unsolicited mail gsmtp')).toContain(
    'https://support.google.com/',
  );
  expect(reply('550 blocked using zen.spamhaus.org')).toContain('https://check.spamhaus.org/');
  for (const row of PROVIDER_ROWS.filter((row) => row.class === 'reputation')) {
    expect([row.source, row.hint === null]).toEqual([row.source, false]);
  }
});

test('the provider is named', () => {
  expect(verdictOf('550 5.1.1 does not exist NoSuchUser - gsmtp').provider).toBe('Gmail');
  expect(verdictOf('550 5.7.1 (S3150)').provider).toBe('Outlook');
  expect(verdictOf('421 4.7.0 [TSS04] deferred').provider).toBe('Yahoo');
  expect(verdictOf('550 5.7.1 [CS01] support.apple.com').provider).toBe('Apple');
  expect(verdictOf('550 5.1.1 User unknown').provider).toBeNull();
});

test('a report counts by its status where the reply code says otherwise', () => {
  const expired = classifyReply({
    code: 550,
    enhanced: '4.4.7',
    text: 'QUEUE.Expired; message expired',
    stage: 'report',
  });
  expect([expired.class, expired.bounceType, expired.isSuppressing]).toEqual([
    'network',
    'Transient',
    false,
  ]);
  const exim = classifyReply({
    code: 550,
    enhanced: '5.0.0',
    text: 'No such user here',
    stage: 'report',
  });
  expect([exim.class, exim.bounceType, exim.isSuppressing]).toEqual([
    'recipient',
    'Permanent',
    true,
  ]);
  const nothing = classifyReply({ code: 0, enhanced: null, text: 'it came back', stage: 'report' });
  expect([nothing.class, nothing.bounceType, nothing.isSuppressing]).toEqual([
    'unknown',
    'Undetermined',
    false,
  ]);
});

test('enhanced codes are found behind other words, not in addresses', () => {
  expect(enhancedIn('sorry (#5.1.1)')).toBe('5.1.1');
  expect(enhancedIn('host [192.5.1.1] says no')).toBeNull();
  expect(enhancedIn('5.1.1.22')).toBeNull();
  expect(enhancedIn('nothing')).toBeNull();
});

test('every row names its source and can be reached', () => {
  for (const row of [...PROVIDER_ROWS, ...GENERAL_ROWS]) {
    expect(row.source.length).toBeGreaterThan(8);
    expect(row.text !== null || row.enhanced !== null || row.codes !== null).toBe(true);
  }
});

test('hostile texts cost no time', () => {
  const random = seeded(77);
  const texts = [
    'a'.repeat(1e6),
    'mailbox '.repeat(1e5),
    'user exceeded '.repeat(1e5),
    'from address reject'.repeat(1e5),
    ' '.repeat(1e6),
    'quota over '.repeat(1e5),
    ...Array.from({ length: 200 }, () => randomText(random, 200)),
  ];
  const begin = performance.now();
  for (const text of texts) classifyReply({ code: 550, enhanced: null, text, stage: 'rcpt' });
  expect((performance.now() - begin) / texts.length).toBeLessThan(20);
});
