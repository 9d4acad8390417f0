/** The story's webhooks with their calls, and its suppressions. */
import type { SuppressionReason } from '../../src/base/status.ts';
import type { Call, Suppression } from '../../src/store/rows.ts';
import { at, type Story } from './story.ts';
import { callLook } from './due-calls.ts';

const PAGE = { limit: 10, after: null, before: null };

export async function tellEndpoints(story: Story): Promise<void> {
  const rows = [
    ['hook1', 'shop', []],
    ['hook2', 'shop', ['email.bounced']],
    ['hook3', 'other', []],
    ['hook4', 'shop', []],
  ] as const;
  for (const [index, [name, account, events]] of rows.entries()) {
    const endpoint = {
      id: story.id(name, 30 + index),
      accountId: story.id(account),
      url: `https://hooks.example/${name}`,
      events: [...events],
      status: 'active' as const,
      sealedSecret: Buffer.from(`secret ${name}`),
      sealedPreviousSecret: null,
      previousUntil: null,
      failureCount: 0,
      lastFailureAt: null,
      createdAt: at(30 + index),
      deletedAt: null,
    };
    await story.tell('createEndpoint', endpoint, 3);
    await story.tell('createEndpoint', { ...endpoint, id: story.id(`${name} too many`, 39) }, 1);
  }
  await story.tell(
    'rotateEndpointSecret',
    story.id('shop'),
    story.id('hook3'),
    Buffer.of(1),
    at(40),
  );
  await story.tell(
    'rotateEndpointSecret',
    story.id('other'),
    story.id('hook3'),
    Buffer.of(2),
    at(41),
  );
  await story.tell('deleteEndpoint', story.id('other'), story.id('hook4'), at(42));
  await story.tell('deleteEndpoint', story.id('shop'), story.id('hook4'), at(43));
  const change = {
    url: 'https://new.example/',
    events: ['email.bounced', 'email.delivered'],
  };
  await story.tell('updateEndpoint', story.id('other'), story.id('hook2'), change, at(44));
  await story.tell('updateEndpoint', story.id('shop'), story.id('hook2'), change, at(45));
}

/** Every call that is due begins and ends: the first well, the second badly, the third for good, and so on. */
export async function tellCalls(story: Story): Promise<void> {
  const excluded = [story.id('hook3')];
  await story.ask('callsDue', callLook(at(0), { until: at(703) }));
  await story.ask('callsDue', callLook(at(0), { until: at(20_000), without: excluded }));
  await story.ask('callsDue', callLook(at(0), { until: at(20_000), most: 1, limit: 1 }));
  await story.ask('openCalls');
  await story.ask('callsDue', callLook(at(0)));
  const { calls: due } = await story.tell('callsDue', callLook(at(0), { until: at(20_000) }));
  const claims = due.map(({ id }) => ({
    id,
    owner: 'node',
    leaseUntil: at(20_060),
    nextAttemptAt: at(20_030),
  }));
  const begun = await story.tell('beginCalls', claims.slice(1), at(20_000));
  const ends = [
    { status: 'done', statusCode: 200 },
    { status: 'open', statusCode: 500 },
    { status: 'failed', statusCode: null },
  ] as const;
  for (const [index, call] of begun.entries()) {
    const { status, statusCode } = ends[index % ends.length] ?? ends[0];
    const attempt = attemptOf(story, call, index, statusCode);
    const nextAttemptAt = status === 'open' ? at(20_100) : null;
    await story.tell('finishCall', {
      call,
      attempt,
      status,
      nextAttemptAt,
      response: `response ${index}`,
      disableAfter: 3,
    });
  }
  const id = story.id('test call', 20_050);
  await story.tell('recordTestCall', {
    id,
    callId: null,
    endpointId: story.id('hook2'),
    eventType: 'test',
    messageId: null,
    attempt: 1,
    statusCode: 204,
    ok: true,
    error: null,
    durationMs: 9,
    createdAt: at(20_050),
  });
}

function attemptOf(story: Story, call: Call, index: number, statusCode: number | null) {
  return {
    id: story.id(`call attempt ${index}`, 20_001 + index),
    callId: call.id,
    endpointId: call.endpointId,
    eventType: call.eventType,
    messageId: call.messageId,
    attempt: call.attempts,
    statusCode,
    ok: statusCode === 200,
    error: statusCode === 200 ? null : `error ${index}`,
    durationMs: statusCode === null ? null : index,
    createdAt: at(20_001 + index),
  };
}

export async function askEndpoints(story: Story): Promise<void> {
  await story.ask('accountsWithEndpoints');
  for (const account of ['shop', 'other', 'empty']) await story.ask('endpoints', story.id(account));
  for (const name of ['hook1', 'hook2', 'hook3', 'hook4']) {
    const id = story.id(name);
    await story.ask('endpoint', story.id('shop'), id);
    await story.ask('endpointById', id);
    const { rows } = await story.ask('callAttempts', id, PAGE);
    await story.ask('callAttempts', id, PAGE, true);
    await story.ask('callAttempts', id, { ...PAGE, limit: 1 });
    await story.ask('callAttempts', id, {
      ...PAGE,
      after: rows[0]?.id ?? null,
    });
    for (const row of rows) await story.ask('attemptDetail', id, row.id);
    await story.ask('attemptDetail', id, story.id('test call'));
  }
  await story.ask('openCalls');
  for (const time of [0, 1000, 20_099, 20_100]) await story.ask('callsDue', callLook(at(time)));
  await story.tell(
    'replayCalls',
    story.id('other'),
    story.id('hook1'),
    { failedSince: at(0) },
    at(20_200),
  );
  await story.tell(
    'replayCalls',
    story.id('shop'),
    story.id('hook1'),
    { failedSince: at(0) },
    at(20_200),
  );
  await story.tell(
    'replayCalls',
    story.id('shop'),
    story.id('hook1'),
    { failedSince: at(20_000) },
    at(20_300),
  );
  await story.ask('callsDue', callLook(at(20_250), { until: at(20_400) }));
  await story.ask('openCalls');
}

export async function tellSuppressions(story: Story): Promise<void> {
  const told: [string, string, SuppressionReason][] = [
    ['gone@b.example', 'shop', 'manual'],
    ['gone@b.example', 'shop', 'complaint'],
    ['gone@b.example', 'shop', 'manual'],
    ['gone@b.example', 'other', 'unsubscribe'],
    ['left@b.example', 'shop', 'unsubscribe'],
    ['back@b.example', 'shop', 'hard_bounce'],
  ];
  const rows = told.map(([email, account, reason], index): Suppression => ({
    id: story.id(`suppression ${index}`, 150 + index),
    accountId: story.id(account),
    email,
    reason,
    source: index === 0 ? null : `source ${index}`,
    note: index === 1 ? null : `note ${index}`,
    createdAt: at(150 + index),
  }));
  for (const row of rows) await story.tell('addSuppression', row);
  await story.tell(
    'addSuppressions',
    rows.slice(0, 4).map((row, index) => ({
      ...row,
      id: story.id(`row ${index}`, 160),
      email: `${index % 2}${row.email}`,
    })),
  );
  await story.tell('removeSuppression', story.id('other'), 'back@b.example', at(170));
  await story.tell('removeSuppression', story.id('shop'), 'back@b.example', at(171));
}

export async function askSuppressions(story: Story): Promise<void> {
  const [shop, other] = [story.id('shop'), story.id('other')];
  const emails = [
    'gone@b.example',
    'left@b.example',
    'back@b.example',
    'bob@b.example',
    '0gone@b.example',
  ];
  for (const account of [shop, other]) {
    for (const email of emails) await story.ask('suppression', account, email);
    await story.ask('suppressed', account, emails);
    const { rows } = await story.ask('suppressions', account, null, PAGE);
    await story.ask('suppressions', account, 'gone', PAGE);
    await story.ask('suppressions', account, null, {
      ...PAGE,
      limit: 1,
      after: rows[0]?.id ?? null,
    });
    await story.ask('suppressions', account, null, {
      ...PAGE,
      limit: 1,
      before: rows.at(-1)?.id ?? null,
    });
    for (const reason of ['hard_bounce', 'complaint', 'unsubscribe', 'manual'] as const) {
      await story.ask('suppressions', account, null, PAGE, reason);
    }
    await story.ask('suppressionById', account, story.id('suppression 0'));
  }
}
