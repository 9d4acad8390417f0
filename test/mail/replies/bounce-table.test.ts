/** What codes say by themselves: the class of each enhanced code and of each reply code without any words. */
import { expect, test } from 'bun:test';

import { classifyReply } from '../../../src/mail/replies/bounce-class.ts';

const classOf = (code: number, enhanced: string | null, text = ''): string => {
  const { class: name, subType } = classifyReply({ code, enhanced, text, stage: 'rcpt' });
  return `${name} ${subType}`;
};

/** Enhanced codes by RFC 3463 and the IANA registry, their class and subtype. */
const ENHANCED: [codes: string, said: string][] = [
  ['1.1 1.2 1.3 1.6 1.10', 'recipient NoEmail'],
  ['1.7 1.8 1.9', 'policy PolicyBlocked'],
  ['1.0 1.4 1.5', 'recipient General'],
  ['2.1', 'recipient NoEmail'],
  ['2.2', 'mailbox_full MailboxFull'],
  ['2.3 3.4', 'content MessageTooLarge'],
  ['2.0 2.4 2.5', 'recipient General'],
  ['3.1 3.2 3.3', 'network General'],
  ['3.5 3.6', 'protocol General'],
  ['4.1 4.2 4.4 4.6 4.7', 'network General'],
  ['5.3', 'rate General'],
  ['5.1 5.2 5.4 5.6', 'protocol General'],
  ['6.1 6.2 6.3 6.5 6.7', 'content ContentRejected'],
  ['7.1 7.8 7.20 7.23 7.25 7.26 7.27 7.28 7.29 7.30 7.32', 'policy PolicyBlocked'],
  ['9.9', 'content General'],
];

test.each(ENHANCED.flatMap(([codes, said]) => codes.split(' ').map((code) => [code, said])))(
  'X.%s is %s',
  (code, said) => {
    expect(classOf(550, `5.${code}`)).toBe(said ?? '');
    expect(classOf(450, `4.${code}`)).toBe(said ?? '');
  },
);

const CODES: [codes: number[], said: string][] = [
  [[421, 432, 451, 454], 'network General'],
  [[450, 550, 551, 553, 521, 556], 'recipient General'],
  [[452], 'network General'],
  [[552], 'mailbox_full MailboxFull'],
  [[530, 534, 535, 538], 'policy PolicyBlocked'],
  [[523], 'content MessageTooLarge'],
  [[455, 500, 501, 502, 503, 504, 555], 'protocol General'],
  [[554], 'policy PolicyBlocked'],
  [[499, 599], 'unknown General'],
];

test.each(CODES.flatMap(([codes, said]) => codes.map((code): [number, string] => [code, said])))(
  '%i without words is %s',
  (code, said) => {
    expect(classOf(code, null)).toBe(said);
    // X.0.0 says nothing.
    expect(classOf(code, `${String(code)[0]}.0.0`)).toBe(said);
  },
);

test('authentication that fails has a hint from X.7.20 to X.7.32', () => {
  const hint = (code: number) =>
    classifyReply({ code: 550, enhanced: `5.7.${code}`, text: '', stage: 'rcpt' }).hint;
  for (const code of [20, 25, 29, 30, 32]) expect(hint(code)).toContain('SPF, DKIM and DMARC');
  for (const code of [1, 19, 33]) expect([code, hint(code)]).toEqual([code, null]);
});

test('stages at which a reply is about the recipient, and only those, suppress', () => {
  const suppresses = (stage: string) =>
    classifyReply({ code: 550, enhanced: '5.1.1', text: 'no such user', stage }).isSuppressing;
  const stages = ['connect', 'banner', 'ehlo', 'mail', 'rcpt', 'data', 'body', 'dot', 'report'];
  expect(stages.filter(suppresses)).toEqual(['rcpt', 'data', 'dot', 'report']);
});

test('of a reply a thousand characters are read', () => {
  const words = 'no such user';
  expect(classOf(550, null, `${'.'.repeat(1_000 - words.length)}${words}`)).toBe(
    'recipient NoEmail',
  );
  expect(classOf(550, null, `${'.'.repeat(1_001)}${words}`)).toBe('recipient General');
});

test.each([
  [400, null, 'Transient'],
  [499, null, 'Transient'],
  [500, null, 'Permanent'],
  [599, null, 'Permanent'],
  [399, null, 'Undetermined'],
  [600, null, 'Undetermined'],
  [0, '5.1.1', 'Permanent'],
  [0, '4.1.1', 'Transient'],
  [0, null, 'Undetermined'],
] as const)('%i with %p is %s', (code, enhanced, type) => {
  const { bounceType, isPermanent } = classifyReply({ code, enhanced, text: '', stage: 'rcpt' });
  expect([bounceType, isPermanent]).toEqual([type, type === 'Permanent']);
});

test.each([
  // An enhanced code that says nothing gives way to one in the words, in any stage.
  [452, '4.0.0', '4.2.2 over', 'rcpt', 'mailbox_full', 'Transient', false],
  [550, '5.0.0', '5.1.1 none', 'rcpt', 'recipient', 'Permanent', true],
  [550, '5.7.1', '5.1.1 none', 'rcpt', 'policy', 'Permanent', false],
  // Without a code it still says whether it is for good.
  [0, '5.0.0', 'sorry', 'report', 'unknown', 'Permanent', false],
  [0, '4.0.0', 'sorry', 'report', 'unknown', 'Transient', false],
  // In a session the reply code decides, in a report the status, where there is one.
  [550, '4.4.7', 'expired', 'rcpt', 'network', 'Permanent', false],
  [550, '4.4.7', 'expired', 'report', 'network', 'Transient', false],
  [450, '5.1.1', 'none', 'rcpt', 'recipient', 'Transient', false],
  [450, '5.1.1', 'none', 'report', 'recipient', 'Permanent', true],
  [450, null, 'no such user', 'report', 'recipient', 'Transient', false],
  [550, null, 'no such user', 'report', 'recipient', 'Permanent', true],
  [550, null, 'no such user 4.1.1', 'report', 'recipient', 'Transient', false],
  [550, '5.0.0', 'no such user', 'report', 'recipient', 'Permanent', true],
] as const)('%i %p %j in %s: %s, %s', (code, enhanced, text, stage, kind, type, isSuppressing) => {
  expect(classifyReply({ code, enhanced, text, stage })).toMatchObject({
    class: kind,
    bounceType: type,
    isPermanent: type === 'Permanent',
    isSuppressing,
  });
});
