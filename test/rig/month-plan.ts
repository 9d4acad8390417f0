/**
 * What is sent in the month of `month.ts`, when, and what becomes of it: words and chances only.
 *
 * Promises names that are nobody's: senders and most receivers are `.example`; the large providers' domains are named as
 * destinations, and nothing is ever sent to them.
 */
import type { Draft } from '../../src/flow/draft.ts';
import type { Outcome } from '../../src/flow/outcome/kinds.ts';
import { outcomeWithoutSession } from '../../src/flow/outcome/kinds.ts';
import type { settleBounce } from '../../src/flow/reports/bounces.ts';
import type { settleComplaint } from '../../src/flow/reports/complaints.ts';
import type { Mailbox } from '../../src/mail/header/address.ts';
import { classifyReply } from '../../src/mail/replies/bounce-class.ts';
import { draft, mailbox } from '../flow/fixture.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Before the month's end, one provider begins to refuse for now: its mail is in the queue when the month is over. */
const TROUBLE_MS = 5 * HOUR_MS;

type Random = (below: number) => number;

export interface Shop {
  account: string;
  name: string;
  domain: string;
  events: readonly string[];
  subjects: readonly (readonly [subject: string, kind: string])[];
}

export const SHOPS: readonly Shop[] = [
  {
    account: 'shop',
    name: 'Birch & Bloom',
    domain: 'birchandbloom.example',
    events: [],
    subjects: [
      ['Your order #{n} has been dispatched', 'dispatch'],
      ['Thank you for your order #{n}', 'receipt'],
      ['Your invoice {n}', 'invoice'],
      ['How do you like your new plant?', 'review'],
    ],
  },
  {
    account: 'default',
    name: 'The Tuesday Letter',
    domain: 'tuesdayletter.example',
    events: ['email.bounced', 'email.complained'],
    subjects: [
      ['Issue {n}: what the river left behind', 'issue'],
      ['Please confirm your subscription', 'confirm'],
      ['You missed three letters', 'digest'],
    ],
  },
  {
    account: 'signals',
    name: 'Signals',
    domain: 'signals.example',
    events: ['email.delivered', 'email.failed'],
    subjects: [
      ['Your sign-in code is {n}', 'code'],
      ['Alert: the response time is above 500 ms', 'alert'],
      ['Reset your password', 'password'],
      ['Weekly report', 'report'],
    ],
  },
];

export interface Destination {
  domain: string;
  share: number;
  host: string;
  address: string;
}

/** Where the month's mail goes. An empty host: the domain does not exist. */
export const DESTINATIONS: readonly Destination[] = [
  { domain: 'gmail.com', share: 40, host: 'gmail-smtp-in.l.google.com', address: '192.0.2.27' },
  {
    domain: 'outlook.com',
    share: 16,
    host: 'outlook-com.olc.protection.outlook.com',
    address: '192.0.2.33',
  },
  { domain: 'yahoo.com', share: 9, host: 'mta5.am0.yahoodns.net', address: '192.0.2.51' },
  { domain: 'icloud.com', share: 7, host: 'mx01.mail.icloud.com', address: '192.0.2.60' },
  {
    domain: 'company.example',
    share: 14,
    host: 'company-example.mail.protection.outlook.com',
    address: '192.0.2.71',
  },
  {
    domain: 'university.example',
    share: 8,
    host: 'mx1.university.example',
    address: '198.51.100.9',
  },
  { domain: 'closed.example', share: 1, host: '', address: '' },
  { domain: 'slow.example', share: 5, host: 'mail.slow.example', address: '198.51.100.40' },
];

const FIRST = [
  'ann',
  'ben',
  'chloe',
  'dmitri',
  'elif',
  'farid',
  'greta',
  'hana',
  'ivo',
  'jun',
  'kofi',
  'lena',
];
const LAST = [
  'adams',
  'baker',
  'cohen',
  'diaz',
  'eriksen',
  'fontaine',
  'garcia',
  'haas',
  'ito',
  'jansen',
  'kaya',
];

/** Times of the month's messages: more by day than by night, fewer at weekends, oldest first. */
export function arrivalTimes(
  { now, messages }: { now: number; messages: number },
  random: Random,
): number[] {
  const times: number[] = [];
  while (times.length < messages) {
    const at = now - random(30 * DAY_MS);
    const date = new Date(at);
    const day = Math.sin(((date.getUTCHours() - 4) / 24) * Math.PI);
    const chance = (15 + 85 * Math.max(0, day)) * (date.getUTCDay() % 6 === 0 ? 0.5 : 1);
    if (random(100) < chance) times.push(at);
  }
  return times.sort((a, b) => a - b);
}

function someone(random: Random): string {
  let share = random(100);
  const found = DESTINATIONS.find((one) => (share -= one.share) < 0) ?? DESTINATIONS[0];
  const pick = (list: readonly string[]): string => list[random(list.length)] ?? '';
  return `${pick(FIRST)}.${pick(LAST)}${random(900)}@${found?.domain ?? 'company.example'}`;
}

/** An email of the shop. */
export function draftOf(shop: Shop, from: Mailbox, random: Random): Draft {
  const [words, kind] = shop.subjects[random(shop.subjects.length)] ?? ['Hello', 'hello'];
  const number = String(10_000 + random(80_000));
  const subject = words.replace('{n}', number);
  const to = Array.from({ length: random(25) === 0 ? 3 : 1 }, () => mailbox(someone(random)));
  const isInvoice = kind === 'invoice';
  return draft({
    from,
    to,
    subject,
    html: htmlOf(shop, subject),
    text: `${subject}\n\nThank you for being with us.\n${shop.name}\n`,
    tags: [{ name: 'kind', value: kind }],
    attachments: isInvoice
      ? [
          {
            filename: `invoice-${number}.pdf`,
            contentType: 'application/pdf',
            contentId: null,
            content: Buffer.from('%PDF-1.4 invoice'),
          },
        ]
      : [],
  });
}

function htmlOf(shop: Shop, subject: string): string {
  return (
    `<body style="margin:0;background:#f1f4ef;font-family:Georgia,serif;color:#22301f">` +
    `<div style="max-width:34rem;margin:2rem auto;background:#fff;padding:2rem;border-radius:8px">` +
    `<p style="letter-spacing:.1em;color:#57704c">${shop.name.replace('&', '&amp;')}</p><h1>${subject}</h1>` +
    `<p>Thank you for being with us. Everything you need stands on one page, and if something is missing, answer this email.</p>` +
    `<p><a href="https://${shop.domain}/" style="display:inline-block;background:#35592a;color:#fff;padding:.7rem 1.4rem;border-radius:6px">See the details</a></p></div></body>`
  );
}

export interface Fate {
  /** `leftMs`: until the month's end. */
  outcomeOf(attempt: number, leftMs: number): Outcome;
  /** What comes after it was delivered. */
  late: { kind: 'bounce' | 'complaint'; afterMs: number } | null;
  report: Parameters<typeof settleBounce>[3];
  complaint: Parameters<typeof settleComplaint>[3];
}

/** What becomes of a recipient at `domain`. */
export function fateOf(domain: string, random: Random): Fate {
  const at = DESTINATIONS.find((one) => one.domain === domain);
  const chance = random(1000);
  const late = chance < 4 ? ('bounce' as const) : chance < 6 ? ('complaint' as const) : null;
  return {
    outcomeOf: (attempt, leftMs) => outcomeOf(at, attempt, leftMs, chance, random),
    late: late === null ? null : { kind: late, afterMs: HOUR_MS * (1 + random(8)) },
    report: REPORT,
    complaint: COMPLAINT,
  };
}

function outcomeOf(
  at: Destination | undefined,
  attempt: number,
  leftMs: number,
  chance: number,
  random: Random,
): Outcome {
  if (at === undefined || at.domain === 'receiver.example')
    return accepted(DESTINATIONS[4], random);
  if (at.domain === 'closed.example') {
    return outcomeWithoutSession('impossible', 'dns', `the domain ${at.domain} does not exist`);
  }
  if (at.domain === 'slow.example') {
    const isOver = attempt > 12 && chance < 400;
    return isOver ? accepted(at, random) : unreached(at);
  }
  if (at.domain === 'yahoo.com' && leftMs < TROUBLE_MS) return refused(at, ...YAHOO_DEFERS);
  if (chance >= 970)
    return refused(at, 550, '5.1.1', 'The email account that you tried to reach does not exist');
  if (chance >= 965) return refused(at, 554, '5.7.1', 'Message rejected because of its content');
  if (chance >= 915 && attempt <= 1 + (chance % 3)) {
    return refused(at, 452, '4.2.2', 'The mailbox is full, try again later');
  }
  return accepted(at, random);
}

/** What Yahoo says to senders whose mail it slows down: https://senders.yahooinc.com/smtp-error-codes. */
export const YAHOO_DEFERS = [
  421,
  '4.7.0',
  '[TSS04] Messages from 192.0.2.10 temporarily deferred due to unexpected volume or user complaints',
] as const;

const TLS = {
  version: 'TLSv1.3',
  cipher: 'TLS_AES_256_GCM_SHA384',
  verified: true,
  policy: 'opportunistic',
};

function session(at: Destination, kind: Outcome['kind'], stage: Outcome['stage']): Outcome {
  return {
    ...outcomeWithoutSession(kind, stage, ''),
    cause: null,
    host: at.host,
    address: at.address,
    tls: TLS,
  };
}

function accepted(at: Destination | undefined, random: Random): Outcome {
  if (at === undefined) throw new Error('no destination');
  const text = `OK: queued as ${(100_000_000 + random(800_000_000)).toString(36)}`;
  return { ...session(at, 'accepted', 'dot'), reply: { code: 250, enhanced: '2.0.0', text } };
}

function refused(at: Destination, code: number, enhanced: string, text: string): Outcome {
  return { ...session(at, 'refused', 'rcpt'), reply: { code, enhanced, text } };
}

function unreached(at: Destination): Outcome {
  return { ...session(at, 'unreached', 'connect'), tls: null, cause: 'no connection within 30 s' };
}

const NO_ORIGINAL = { messageId: null, feedbackId: null, returnPath: null };

/** A bounce that came back hours later. */
const REPORT: Fate['report'] = {
  ...NO_ORIGINAL,
  isStandard: true,
  returnPaths: [],
  envelopeId: null,
  recipients: [
    {
      action: 'failed',
      finalRecipient: null,
      originalRecipient: null,
      status: '5.1.1',
      diagnostic: 'smtp; 550 5.1.1 The mailbox was closed',
      remoteMta: 'mx1.university.example',
      classification: classifyReply({
        code: 550,
        enhanced: '5.1.1',
        text: 'The mailbox was closed',
        stage: 'report',
      }),
    },
  ],
};

const COMPLAINT: Fate['complaint'] = {
  ...NO_ORIGINAL,
  feedbackType: 'abuse',
  isComplaint: true,
  recipients: [],
  returnPaths: [],
  reportedDomain: null,
  userAgent: 'FeedbackLoop/1.0',
};
