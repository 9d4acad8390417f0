/** How what is under way ends together: attempts, suppressions, calls, log rows, also those of an account that is gone. */
import type { MessageStatus } from '../../src/base/status.ts';
import type { FinishAttempt, NewMessage } from '../../src/store/journey.ts';
import type { Call, LogRecord, Suppression } from '../../src/store/rows.ts';
import type { FinishCall } from '../../src/store/webhooks.ts';
import { batchOf, newLogRecord } from './samples.ts';
import { at, type Story } from './story.ts';
import { event } from './story-mail.ts';
import { mail, part } from './together.ts';
import type { Told } from './together.ts';
import { callLook } from './due-calls.ts';

function suppressionOf(
  story: Story,
  account: string,
  seconds: number,
  change: Pick<Suppression, 'email' | 'reason'> & Partial<Suppression>,
): Suppression {
  return {
    id: story.id(`suppression ${account} ${seconds}`, seconds),
    accountId: story.id(account),
    source: null,
    note: `at ${seconds}`,
    createdAt: at(seconds),
    ...change,
  };
}

/** The end of an attempt at the host `host`; null: of none. */
function ended(
  story: Story,
  { message }: NewMessage,
  index: number,
  seconds: number,
  status: MessageStatus,
  host: string | null,
  change: Partial<FinishAttempt> = {},
): [FinishAttempt] {
  const recipientId = story.id(part(message.subject.slice(6, 8), index));
  const { id: messageId, accountId } = message;
  const attempt: FinishAttempt['attempt'] = {
    id: story.id(`attempt ${seconds}`, seconds),
    messageId,
    recipientId,
    number: seconds - 1300,
    beganAt: at(seconds - 2),
    endedAt: at(seconds - 1),
    outcome: 'failed',
    class: 'policy',
    stage: 'rcpt',
    host,
    address: '192.0.2.7',
    tls: 'TLSv1.3',
    reply: `answer ${seconds}`,
    mayBeDuplicate: seconds % 2 === 0,
  };
  return [
    {
      recipientId,
      messageId,
      accountId,
      now: at(seconds),
      dueAt: at(seconds + 4),
      status,
      nextAttemptAt: status === 'delivery_delayed' ? at(seconds + 100) : null,
      lastReason: `said ${seconds}`,
      delayedAt: status === 'delivery_delayed' ? at(seconds + 1) : null,
      owner: null,
      attempt: host === null ? null : attempt,
      events: [event(story, message, recipientId, `email.${status}` as never, seconds)],
      suppress: null,
      ...change,
    },
  ];
}

const GMAIL = 'aspmx.l.google.com';

/** Several ends of one message, of one recipient, and of what is gone. */
export async function tellEnds(story: Story, told: Told): Promise<void> {
  const { m1, m2, m3, m4, m7 } = told as Record<'m1' | 'm2' | 'm3' | 'm4' | 'm7', NewMessage>;
  const suppress = (account: string, seconds: number, email: string, source: string | null) => ({
    suppress: suppressionOf(story, account, seconds, { email, reason: 'hard_bounce', source }),
  });
  await story.tellTogether(
    'finish',
    ended(story, m1, 0, 1310, 'delivered', GMAIL, { owner: 'node' }),
    ended(story, m1, 0, 1311, 'delivery_delayed', GMAIL, { owner: 'another', lastReason: null }),
    ended(
      story,
      m1,
      1,
      1312,
      'bounced',
      'mx.b.example',
      suppress('shop', 1312, 'bob@b.example', m1.message.id),
    ),
    // By another hand, at the host of the attempt before it; the worst of all shows its reason.
    ended(story, m1, 0, 1313, 'failed', null),
    ended(story, m2, 0, 1314, 'delivered', GMAIL),
    ended(story, m2, 0, 1315, 'delivery_delayed', GMAIL),
    ended(story, m2, 0, 1316, 'complained', null, {
      suppress: suppressionOf(story, 'shop', 1316, {
        email: 'bob@b.example',
        reason: 'complaint',
        source: m2.message.id,
      }),
    }),
    ended(story, m3, 0, 1317, 'suppressed', null),
    [
      {
        ...ended(story, m3, 0, 1318, 'failed', GMAIL)[0],
        messageId: story.id('m9'),
        recipientId: story.id('m9.r0'),
      },
    ],
    ended(
      story,
      m4,
      0,
      1319,
      'bounced',
      GMAIL,
      suppress('other', 1319, 'eve@gmail.com', m1.message.id),
    ),
    ended(story, m7, 0, 1320, 'delivery_delayed', GMAIL, { owner: 'node', delayedAt: at(1299) }),
  );
  // What is put off is nobody's: whoever comes when it is due begins it.
  const claim = { owner: 'x', leaseUntil: at(1500), nextAttemptAt: at(1501) };
  await story.tellTogether(
    'begin',
    [[{ ...claim, recipientId: story.id('m7.r0') }], at(1419)],
    [[{ ...claim, recipientId: story.id('m7.r0') }], at(1420)],
  );
}

/** Addresses that come twice, come back, or grow stronger, in one list and in several that share a commit. */
export async function tellSuppressions(story: Story): Promise<void> {
  const shop = story.id('shop');
  const row = (seconds: number, email: string, reason: Suppression['reason'], source = 'm1') =>
    suppressionOf(story, 'shop', seconds, { email, reason, source: story.id(source) });
  await story.tell('addSuppressions', [row(1500, 'gone@x.example', 'complaint')]);
  await story.tell('removeSuppression', shop, 'gone@x.example', at(1501));
  await story.tell('addSuppressions', [
    row(1510, 'one@x.example', 'manual'),
    row(1511, 'two@x.example', 'manual'),
    row(1512, 'one@x.example', 'hard_bounce', 'm2'),
    row(1513, 'one@x.example', 'complaint'),
    row(1514, 'gone@x.example', 'manual'),
    row(1515, 'gone@x.example', 'complaint'),
    row(1516, 'three@x.example', 'unsubscribe'),
    row(1517, 'four@x.example', 'complaint', 'm4'),
    row(1518, 'two@x.example', 'manual'),
  ]);
  await story.tellTogether(
    'addSuppression',
    [row(1520, 'five@x.example', 'manual')],
    [row(1521, 'five@x.example', 'hard_bounce')],
    [row(1522, 'three@x.example', 'complaint')],
    [row(1523, 'two@x.example', 'unsubscribe', 'm2')],
  );
  const page = { limit: 10, after: null, before: null };
  await story.ask('suppressions', shop, null, page);
  const asked = ['one@x.example', 'bob@b.example', 'two@x.example', 'no@x.example'];
  await story.tellTogether(
    'suppressed',
    [shop, asked],
    [story.id('other'), ['eve@gmail.com', 'one@x.example']],
    [shop, []],
    [story.id('no account'), asked],
  );
}

/** The calls of the story's events, by whoever may begin them, and ends that make a webhook fail for good. */
export async function tellCalls(story: Story): Promise<void> {
  const { calls: due } = await story.tell('callsDue', callLook(at(0), { until: at(5000) }));
  const claim = ({ id }: { id: string }, owner: string) => ({
    id,
    owner,
    leaseUntil: at(2060),
    nextAttemptAt: at(2090),
  });
  const [first, second] = [due.slice(0, 4), due.slice(2)];
  const begun = await story.tellTogether(
    'beginCalls',
    [[...first, ...first].map((call) => claim(call, 'node')), at(2000)],
    [[...second, { id: story.id('no call') }].map((call) => claim(call, 'another')), at(2001)],
    [[], at(2002)],
  );
  const calls = begun.flatMap((each) => each ?? []);
  const outcomes = ['open', 'done', 'open', 'failed', 'open', 'open', 'done'] as const;
  const ends = calls.map((call, at) =>
    endOf(story, call, at, outcomes[at % outcomes.length] ?? 'open'),
  );
  const [one, two] = ends as [FinishCall, FinishCall];
  await story.tellTogether(
    'finishCall',
    ...ends.map((end): [FinishCall] => [end]),
    // Again, and by somebody who was overtaken.
    [endOf(story, two.call, 50, 'failed')],
    [endOf(story, { ...one.call, attempts: 7 }, 51, 'done')],
  );
}

function endOf(story: Story, call: Call, index: number, status: FinishCall['status']): FinishCall {
  const ok = status === 'done';
  const attempt = {
    id: story.id(`call attempt ${index}`, 2010 + index),
    callId: call.id,
    endpointId: call.endpointId,
    eventType: call.eventType,
    messageId: call.messageId,
    attempt: call.attempts,
    statusCode: ok ? 200 : 500 + index,
    ok,
    error: ok ? null : `refused ${index}`,
    durationMs: 7 + index,
    createdAt: at(2010 + index),
  };
  const nextAttemptAt = status === 'open' ? at(2100 + index) : null;
  return { call, attempt, status, nextAttemptAt, response: `says ${index}`, disableAfter: 3 };
}

/** Rows of several requests, one of them twice. */
export async function tellLogs(story: Story): Promise<void> {
  await story.tellTogether(
    'appendLogs',
    [[logRow(story, 'shop', 1), logRow(story, 'other', 2)]],
    [[]],
    [[logRow(story, 'shop', 3), { ...logRow(story, 'shop', 1), path: '/again' }]],
  );
}

function logRow(story: Story, account: string, index: number): LogRecord {
  return newLogRecord(story.id(account), {
    id: story.id(`log ${index}`, 3000 + index),
    keyId: story.id(`key a of ${account}`),
    path: `/emails/${index}`,
    status: 200 + index,
    durationMs: index,
    messageId: story.id('m1'),
    isSandbox: index === 3,
    createdAt: at(3000 + index),
  });
}

/** An account goes while what is its own is under way: whoever shares a commit with that is not harmed. */
export async function tellGone(story: Story, told: Told): Promise<void> {
  const { m4, m5, m6 } = told as Record<'m4' | 'm5' | 'm6', NewMessage>;
  const other = story.id('other');
  const { calls: due } = await story.tell('callsDue', callLook(at(0), { until: at(5000) }));
  const claims = due.map(({ id }) => ({
    id,
    owner: 'z',
    leaseUntil: at(4060),
    nextAttemptAt: at(4090),
  }));
  const calls = await story.tell('beginCalls', claims, at(4000));
  await story.tell('closeAccount', other, 'it goes');
  await story.tell('removeAccount', other, [], () => undefined);
  const late = mail(story, 'm8', 'shop', ['joe@j.example']);
  await story.tellTogether(
    'accept',
    [{ ...batchOf(other, mail(story, 'm9', 'other', ['kim@k.example'])), now: at(4001) }],
    [{ ...batchOf(story.id('shop'), late), now: at(4002) }],
  );
  const claim = (
    recipient: string,
    now: number,
  ): [
    [{ recipientId: string; owner: string; leaseUntil: number; nextAttemptAt: number }],
    number,
  ] => [
    [
      {
        recipientId: story.id(recipient),
        owner: 'node',
        leaseUntil: at(4100),
        nextAttemptAt: at(4130),
      },
    ],
    at(now),
  ];
  await story.tellTogether(
    'begin',
    claim('m4.r1', 4010),
    claim('m5.r0', 4011),
    claim('m8.r0', 4012),
  );
  const sent = ({ message }: NewMessage, recipient: string, seconds: number) => ({
    recipientId: story.id(recipient),
    messageId: message.id,
    accountId: message.accountId,
    now: at(seconds),
    event: event(story, message, story.id(recipient), 'email.sent', seconds),
  });
  await story.tellTogether('noteSent', [[sent(m4, 'm4.r1', 4020)]], [[sent(m5, 'm5.r0', 4021)]]);
  await story.tellTogether(
    'finish',
    ended(story, m4, 1, 4030, 'bounced', GMAIL, {
      suppress: suppressionOf(story, 'other', 4030, {
        email: 'fay@b.example',
        reason: 'hard_bounce',
        source: m4.message.id,
      }),
    }),
    ended(story, m5, 0, 4031, 'delivered', GMAIL),
    ended(story, m6, 0, 4032, 'failed', null),
  );
  await story.tellTogether(
    'finishCall',
    ...calls.map((call, index): [FinishCall] => [endOf(story, call, 60 + index, 'done')]),
  );
  await story.tellTogether(
    'appendLogs',
    [[logRow(story, 'other', 4), logRow(story, 'shop', 5)]],
    [[logRow(story, 'other', 6)]],
  );
}
