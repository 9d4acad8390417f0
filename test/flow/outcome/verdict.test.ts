/** What an outcome means for its recipient; one row a case. */
import { describe, expect, test } from 'bun:test';

import { outcomeWithoutSession } from '../../../src/flow/outcome/kinds.ts';
import type { Outcome } from '../../../src/flow/outcome/kinds.ts';
import { describeOutcome } from '../../../src/flow/outcome/text.ts';
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
