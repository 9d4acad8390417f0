/** What an outcome means for its recipient; one row a case. */
import { describe, expect, test } from 'bun:test';

import { outcomeWithoutSession } from '../../../src/flow/outcome/kinds.ts';
import type { Outcome } from '../../../src/flow/outcome/kinds.ts';
import { describeOutcome, STAGE_WORDS } from '../../../src/flow/outcome/text.ts';
import { throttleRequest, verdictOf } from '../../../src/flow/outcome/verdict.ts';
import type { Verdict } from '../../../src/flow/outcome/verdict.ts';

function said(stage: Outcome['stage'], text: string, kind: Outcome['kind'] = 'refused'): Outcome {
  const [, code = '0', enhanced, words = ''] =
    /^(\d{3})(?: (\d\.\d+\.\d+))? (.*)$/.exec(text) ?? [];
  return {
    ...outcomeWithoutSession(kind, stage, ''),
    host: 'mx.example.com',
    address: '192.0.2.1',
    cause: null,
    reply: { code: Number(code), enhanced: enhanced ?? null, text: words },
  };
}

type Row = [outcome: Outcome, kind: Verdict['kind'], suppresses: boolean];

const ROWS: Row[] = [
  [said('dot', '250 2.0.0 ok', 'accepted'), 'delivered', false],
  [said('dot', '250 2.0.0 ok', 'relayed'), 'sent', false],
  [said('rcpt', '550 5.1.1 no such user'), 'bounced', true],
  [said('rcpt', '550 No such user here'), 'bounced', true],
  [said('mail', '550 5.1.1 no such user'), 'bounced', false],
  [said('rcpt', '550 5.7.1 blocked using Spamhaus'), 'bounced', false],
  [said('dot', '552 5.3.4 message too large'), 'bounced', false],
  [said('rcpt', '552 5.2.2 mailbox full'), 'bounced', false],
  [said('rcpt', '451 4.7.1 greylisted'), 'deferred', false],
  [said('rcpt', '450 4.1.1 no such user, yet'), 'deferred', false],
  [said('dot', '421 4.3.2 going down'), 'deferred', false],
  [said('banner', '554 5.7.1 no mail from you', 'unreached'), 'deferred', false],
  [outcomeWithoutSession('unreached', 'connect', 'refused'), 'deferred', false],
  [outcomeWithoutSession('unsigned', 'sign', 'no key'), 'deferred', false],
  [outcomeWithoutSession('uncomposable', 'compose', 'a bad header'), 'failed', false],
  [outcomeWithoutSession('impossible', 'dns', 'no such domain'), 'failed', false],
  [outcomeWithoutSession('null_mx', 'dns', 'null MX'), 'bounced', true],
];

describe('the verdict', () => {
  for (const [outcome, kind, suppresses] of ROWS) {
    const name =
      outcome.reply === null ? outcome.kind : `${outcome.reply.code} ${outcome.reply.text}`;
    test(`${name} at ${outcome.stage} (${outcome.kind}): ${kind}`, () => {
      expect(verdictOf(outcome)).toMatchObject({ kind, suppresses });
    });
  }

  test('bounces only for 5xx, whatever the words', () => {
    for (let code = 400; code < 600; code += 1) {
      const { kind } = verdictOf(said('rcpt', `${code} user unknown`));
      expect(kind).toBe(code < 500 ? 'deferred' : 'bounced');
    }
  });
});

describe('throttleRequest', () => {
  const rows: [text: string, asked: 'rate' | 'reputation' | null][] = [
    ['421 4.7.0 Try again later', 'rate'],
    [
      '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints',
      'reputation',
    ],
    ['450 4.7.0 too many connections from your IP', 'rate'],
    ['550 5.7.1 Service unavailable, client host blocked using Spamhaus', 'reputation'],
    ['450 4.2.1 The user you are trying to contact is receiving mail too quickly', null],
    ['451 4.7.1 greylisted, come back in 5 minutes', null],
    ['550 5.1.1 no such user', null],
    ['452 4.2.2 mailbox full', null],
    ['554 5.6.0 message content rejected as spam', null],
  ];
  for (const [text, asked] of rows) {
    test(`${text}: ${asked ?? 'nothing'}`, () => {
      const outcome = said('rcpt', text);
      expect(throttleRequest(outcome, verdictOf(outcome))).toBe(asked);
    });
  }
});

describe('describeOutcome', () => {
  test('says who, what and where, with the hint', () => {
    const outcome = said('rcpt', '550 5.1.1 no such user');
    expect(describeOutcome(outcome, { hint: 'look there' })).toBe(
      'mx.example.com (192.0.2.1) replied 550 5.1.1 no such user at RCPT TO (look there)',
    );
  });

  test('is bounded', () => {
    const outcome = said('rcpt', `550 ${'x'.repeat(5_000)}`);
    expect(describeOutcome(outcome, { hint: null }).length).toBeLessThanOrEqual(1_000);
  });
});

describe('the verdict, whole', () => {
  const plain = {
    class: null,
    bounceType: 'Undetermined',
    subType: 'General',
    suppresses: false,
    reply: null,
    hint: null,
  } as const;
  const throttled = outcomeWithoutSession('throttled', 'throttled', 'slow');
  const throttle = { untilMs: 1, class: 'rate', hint: 'Wait.' } as const;
  const spamhaus = 'Look the address up and ask for removal at https://check.spamhaus.org/';
  const rows: [outcome: Outcome, verdict: Verdict][] = [
    [said('dot', '250 2.0.0 ok', 'accepted'), { ...plain, kind: 'delivered' }],
    [said('dot', '250 2.0.0 ok', 'relayed'), { ...plain, kind: 'sent' }],
    [
      said('rcpt', '550 5.1.1 no such user'),
      {
        ...plain,
        kind: 'bounced',
        class: 'recipient',
        bounceType: 'Permanent',
        subType: 'NoEmail',
        suppresses: true,
      },
    ],
    [
      said('rcpt', '451 4.7.1 Greylisted'),
      {
        ...plain,
        kind: 'deferred',
        class: 'policy',
        bounceType: 'Transient',
        subType: 'PolicyBlocked',
        hint: 'Greylisted: the receiver takes it at a later attempt.',
      },
    ],
    // It named a reason only when the words are known.
    [
      said('banner', '554 5.7.1 blocked using Spamhaus', 'unreached'),
      {
        ...plain,
        kind: 'deferred',
        class: 'reputation',
        bounceType: 'Transient',
        subType: 'PolicyBlocked',
        hint: spamhaus,
      },
    ],
    [
      said('mail', '499 hm', 'unreached'),
      { ...plain, kind: 'deferred', class: 'network', bounceType: 'Transient' },
    ],
    [
      said('mail', '499 hm'),
      { ...plain, kind: 'deferred', class: 'unknown', bounceType: 'Transient' },
    ],
    [
      outcomeWithoutSession('unreached', 'connect', 'refused'),
      { ...plain, kind: 'deferred', class: 'network' },
    ],
    [
      outcomeWithoutSession('refused', 'rcpt', 'a reply without words'),
      { ...plain, kind: 'deferred', class: 'protocol' },
    ],
    [
      outcomeWithoutSession('unsigned', 'sign', 'no key'),
      { ...plain, kind: 'deferred', class: 'ours' },
    ],
    [
      outcomeWithoutSession('uncomposable', 'compose', 'a bad header'),
      { ...plain, kind: 'failed', class: 'ours' },
    ],
    [
      outcomeWithoutSession('impossible', 'dns', 'no such domain'),
      { ...plain, kind: 'failed', class: 'network' },
    ],
    [
      outcomeWithoutSession('null_mx', 'dns', 'null MX'),
      {
        ...plain,
        kind: 'bounced',
        class: 'recipient',
        bounceType: 'Permanent',
        subType: 'NoEmail',
        suppresses: true,
      },
    ],
    [
      { ...throttled, throttle },
      { ...plain, kind: 'deferred', class: 'rate', hint: 'Wait.' },
    ],
    [throttled, { ...plain, kind: 'deferred', class: 'network' }],
  ];
  test.each(rows)('%j', (outcome, verdict) => {
    expect(verdictOf(outcome)).toEqual({ ...verdict, reply: outcome.reply });
  });
});

test('each stage is told in its own words, by who replied there and by who fell silent', () => {
  const words: Record<Outcome['stage'], string> = {
    throttled: 'waiting for the receiver to recover',
    route: 'choosing the route',
    dns: 'looking up the domain',
    policy: 'checking the TLS policy',
    compose: 'writing the message',
    sign: 'signing the message',
    connect: 'connecting',
    banner: 'the greeting',
    ehlo: 'EHLO',
    starttls: 'STARTTLS',
    handshake: 'the TLS handshake',
    ehlo2: 'EHLO after STARTTLS',
    auth: 'AUTH',
    mail: 'MAIL FROM',
    rcpt: 'RCPT TO',
    data: 'DATA',
    body: 'sending the message',
    dot: 'the end of the message',
    rset: 'RSET',
    quit: 'QUIT',
  };
  expect(STAGE_WORDS).toEqual(words);
  const none = { hint: null };
  for (const [name, at] of Object.entries(words)) {
    const stage = name as Outcome['stage'];
    const silent = { ...outcomeWithoutSession('unreached', stage, ''), cause: null };
    const host = 'mx.example.com';
    expect([
      describeOutcome(silent, none),
      describeOutcome({ ...silent, host }, none),
      describeOutcome({ ...said(stage, '421 4.3.2 closing'), host: null }, none),
      describeOutcome({ ...said(stage, '421 closing'), host: null, address: null }, none),
    ]).toEqual([
      `stopped at ${at}`,
      `mx.example.com at ${at}: no answer`,
      `192.0.2.1 replied 421 4.3.2 closing at ${at}`,
      `no host replied 421 closing at ${at}`,
    ]);
  }
});
