/** What the story's answers have no use for, and its rows show: a new secret key, answers that come late, replays, checks. */
import type { EventType } from '../../src/base/status.ts';
import { callId } from '../../src/store/call-id.ts';
import type { FinishAttempt } from '../../src/store/journey.ts';
import type { NewEvent } from '../../src/store/rows.ts';
import { SEALED } from '../../src/store/settings.ts';
import { at, type Story } from './story.ts';

/** Everything sealed is sealed anew. */
export async function tellSecrets(story: Story): Promise<void> {
  const sealed = Buffer.from('under the new key');
  await story.tell('setSetting', `${SEALED}word`, '00ff');
  await story.tell('setSetting', `${SEALED}gone`, '00ee');
  await story.tell(
    'replaceSecrets',
    [
      { kind: 'dkim', id: story.id('domain2'), sealed },
      { kind: 'dkim', id: story.id('domain3'), sealed },
      { kind: 'next_dkim', id: story.id('domain1'), sealed },
      { kind: 'next_dkim', id: story.id('domain4'), sealed },
      { kind: 'webhook', id: story.id('hook1'), sealed },
      { kind: 'webhook', id: story.id('hook4'), sealed },
      { kind: 'previous_webhook', id: story.id('hook3'), sealed },
      { kind: 'totp', id: story.id('operator 0'), sealed },
      { kind: 'setting', id: `${SEALED}word`, sealed },
    ],
    { a: 'after', [`${SEALED}gone`]: null, new: 'one' },
  );
  await story.ask('sealedSecrets');
}

/** The end of the attempt of a recipient, as it would end one that is nobody's. */
function endOf(
  story: Story,
  recipient: string,
  seconds: number,
  change: Partial<FinishAttempt>,
): FinishAttempt {
  const [message = ''] = recipient.split('.');
  const accountId = story.id(message === 'm5' ? 'other' : 'shop');
  return {
    recipientId: story.id(recipient),
    messageId: story.id(message),
    accountId,
    now: at(seconds),
    dueAt: at(seconds + 5),
    status: 'delivered',
    nextAttemptAt: null,
    lastReason: null,
    delayedAt: null,
    owner: 'node',
    attempt: {
      id: story.id(`late attempt ${seconds}`, seconds),
      messageId: story.id(message),
      recipientId: story.id(recipient),
      number: 4,
      beganAt: at(seconds - 3),
      endedAt: at(seconds),
      outcome: 'deferred',
      class: 'policy',
      stage: 'mail',
      host: 'mx.example',
      address: '192.0.2.9',
      tls: 'TLSv1.2',
      reply: `late ${seconds}`,
      mayBeDuplicate: true,
    },
    events: [],
    suppress: null,
    ...change,
  };
}

function eventOf(story: Story, recipient: string, type: EventType, seconds: number): NewEvent {
  const [message = ''] = recipient.split('.');
  return {
    id: story.id(`${type} of ${recipient} ${seconds}`, seconds),
    messageId: story.id(message),
    accountId: story.id(message === 'm5' ? 'other' : 'shop'),
    recipientId: story.id(recipient),
    type,
    occurredAt: at(seconds),
    payload: `{"late":${seconds}}`,
    webhookBody: `{"type":"${type}","late":${seconds}}`,
  };
}

/** Attempts that are under way, one of them taken over, and reports about mail that has its end already. */
export async function tellAttempts(story: Story): Promise<void> {
  const begin = (recipient: string, owner: string, seconds: number, lease: number) =>
    story.tell(
      'begin',
      [
        {
          recipientId: story.id(recipient),
          owner,
          leaseUntil: at(seconds + lease),
          nextAttemptAt: at(seconds + lease),
        },
      ],
      at(seconds),
    );
  const sent = (recipient: string, seconds: number) =>
    story.tell('noteSent', [
      {
        recipientId: story.id(recipient),
        messageId: story.id(recipient.split('.')[0] ?? ''),
        accountId: story.id('shop'),
        now: at(seconds),
        dueAt: at(seconds + 1),
        event: eventOf(story, recipient, 'email.sent', seconds),
      },
    ]);
  // Those that are sent say so once; what has its end says it no more.
  await begin('m4.r1', 'node', 12_200, 60);
  for (const [recipient, seconds] of [
    ['m4.r1', 12_201],
    ['m4.r1', 12_202],
    ['m4.r0', 12_203],
    ['m9.r9', 12_204],
  ] as const)
    await sent(recipient, seconds);
  // Under a lease until its very second.
  await begin('m4.r1', 'another', 12_259, 60);
  await begin('m4.r1', 'another', 12_260, 60);
  const end = (recipient: string, seconds: number, change: Partial<FinishAttempt>) =>
    story.tell('finish', endOf(story, recipient, seconds, change));
  await end('m4.r1', 12_270, { status: 'delivered' });
  await end('m4.r1', 12_280, {
    owner: 'another',
    status: 'delivery_delayed',
    nextAttemptAt: at(12_500),
    delayedAt: at(12_280),
    events: [eventOf(story, 'm4.r1', 'email.delivery_delayed', 12_280)],
  });
  await end('m4.r2', 12_300, { owner: null, status: 'failed', lastReason: 'expired' });
  // Of mail that was delivered a report may say worse, and an attempt only that it was.
  await end('m1.r0', 12_400, { status: 'delivery_delayed', nextAttemptAt: at(13_000) });
  await end('m1.r0', 12_410, {
    owner: null,
    attempt: null,
    status: 'complained',
    lastReason: 'a report',
    events: [eventOf(story, 'm1.r0', 'email.complained', 12_410)],
    suppress: {
      id: story.id('a complaint', 12_410),
      accountId: story.id('shop'),
      email: 'ann@gmail.com',
      reason: 'complaint',
      source: story.id('m1'),
      note: null,
      createdAt: at(12_410),
    },
  });
  // Ends without any attempt.
  await end('m4.r3', 12_420, {
    owner: null,
    attempt: null,
    status: 'failed',
    lastReason: 'the operator',
    events: [eventOf(story, 'm4.r3', 'email.failed', 12_420)],
  });
  await end('m9.r9', 12_430, { status: 'bounced' });
}

/** Calls are opened again: of one event, and those that a webhook has missed; then it is enabled anew. */
export async function tellReplays(story: Story): Promise<void> {
  const [shop, hook] = [story.id('shop'), story.id('hook1')];
  const calls = await story.ask('callsOfMessage', story.id('m1'));
  const eventId = calls.find(({ endpointId }) => endpointId === hook)?.eventId ?? '';
  for (const [account, what] of [
    ['other', { eventId }],
    ['shop', { eventId: 'no id' }],
    ['shop', { eventId }],
  ] as const) {
    await story.tell('replayCalls', story.id(account), hook, what, at(20_500));
  }
  const id = callId(eventId, hook);
  const claim = (owner: string, seconds: number) =>
    story.tell(
      'beginCalls',
      [{ id, owner, leaseUntil: at(seconds + 60), nextAttemptAt: at(seconds + 90) }],
      at(seconds),
    );
  await claim('node', 20_510);
  await claim('another', 20_569);
  await claim('another', 20_570);
  await story.tell('updateEndpoint', shop, hook, { status: 'disabled' }, at(20_580));
  await claim('another', 20_700);
  for (const account of ['other', 'shop']) {
    await story.tell('missCalls', story.id(account), hook, at(703), null);
  }
  const enable = { status: 'active', url: 'https://again.example/' } as const;
  await story.tell('updateEndpoint', shop, hook, enable, at(20_710));
  await story.tell('missCalls', shop, hook, at(9_999), null);
  await story.tell('updateEndpoint', shop, hook, enable, at(20_711));
  await story.tell('rotateEndpointSecret', shop, hook, Buffer.of(9), at(20_720));
  await story.tell('replayCalls', shop, hook, { failedSince: at(502) }, at(20_730));
}

/** What is found of domains later on, and keys that replace others. */
export async function tellDomains(story: Story): Promise<void> {
  const check = {
    now: at(30_000),
    status: 'failed' as const,
    recordStates: { DKIM: 'not_started' as const, SPF: 'verified' as const },
    verifiedAt: null,
    nextCheckAt: at(30_060),
    failingSince: at(29_000),
    pendingSince: at(28_000),
  };
  // What was seen stays where nothing is told of it; of a removed domain nothing is kept.
  for (const name of ['domain1', 'domain3'])
    await story.tell('finishDomainCheck', { ...check, id: story.id(name) });
  const key = { selector: 'third', dkimPublicKey: 'third public', sealedDkimKey: Buffer.of(3) };
  for (const seconds of [30_100, 30_200]) {
    await story.tell('addNextDkimKey', story.id('domain1'), { ...key, since: at(seconds) });
  }
  await story.tell('activateDkimKey', story.id('domain1'), 'third', at(30_300));
  await story.tell('addNextDkimKey', story.id('domain3'), { ...key, since: at(30_400) });
  await story.tell('activateDkimKey', story.id('domain3'), 'third', at(30_500));
}

/** What operators change. */
export async function tellOperators(story: Story): Promise<void> {
  const id = story.id('operator 0');
  await story.tell('setOperatorTotp', id, null, []);
  await story.tell('takeRecoveryHash', id, 'one');
  await story.tell('setOperatorPassword', id, 'another');
  await story.tell('setAccountStatus', story.id('shop'), 'active', null);
}
