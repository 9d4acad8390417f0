/** The row of the request log for a submitted message: what was replied, and no write that could refuse mail. */
import { expect, test } from 'bun:test';

import { ApiError } from '../../src/base/errors.ts';
import { SmtpRefusal } from '../../src/smtp/reply.ts';
import { logSubmission, type Submitted } from '../../src/smtp/submission-log.ts';
import { StoreFullError } from '../../src/store/store.ts';

type Parts = Parameters<typeof logSubmission>[0];

function rig(appendLogs: (rows: Record<string, unknown>[]) => Promise<void>) {
  const logged: unknown[] = [];
  let now = 1_000;
  const parts = {
    clock: { now: () => (now += 7) },
    store: { appendLogs },
    log: { warn: (...line: unknown[]) => logged.push(line) },
  } as unknown as Parts;
  const submitted = {
    identity: {
      account: { id: 'account' },
      key: { id: 'key', name: 'shop', permission: 'sending_access', isTest: true },
    },
    requestId: 'request',
    session: {
      envelope: {
        mailFrom: { address: 'a@acme.example' },
        rcptTo: [{ address: 'ann@receiver.example' }, { address: 'bo@receiver.example' }],
      },
      hostNameAppearsAs: 'shop.example',
      remoteAddress: '203.0.113.7',
    },
    bytes: 42,
  } as unknown as Submitted;
  return { parts, submitted, logged };
}

/** The row that is written while `accept` ends so. */
async function rowOf(
  accept: () => Promise<{ text: string; messageId: string | null }>,
): Promise<Record<string, unknown>> {
  const rows: Record<string, unknown>[] = [];
  const { parts, submitted } = rig(async (written) => void rows.push(...written));
  await logSubmission(parts, submitted, accept).catch(() => undefined);
  expect(rows).toHaveLength(1);
  return rows[0] ?? {};
}

test('an accepted message has its envelope, its reply and its id, and nothing of its content', async () => {
  const row = await rowOf(() => Promise.resolve({ text: '2.0.0 OK', messageId: 'message' }));
  expect(row).toEqual({
    id: 'request',
    accountId: 'account',
    keyId: 'key',
    keyName: 'shop',
    keyPermission: 'sending_access',
    isSandbox: true,
    method: 'SMTP',
    path: '/smtp',
    status: 200,
    durationMs: 7,
    messageId: 'message',
    userAgent: 'shop.example',
    ip: '203.0.113.7',
    requestBody:
      '{"mail_from":"a@acme.example","rcpt_to":["ann@receiver.example","bo@receiver.example"],"bytes":42}',
    responseBody: '250 2.0.0 OK',
    createdAt: 1_007,
  });
});

test('of a client without a name, a return path or a key for real mail the row says so', async () => {
  const rows: Record<string, unknown>[] = [];
  const { parts, submitted } = rig(async (written) => void rows.push(...written));
  const { identity, session } = submitted;
  const key = { ...identity.key, isTest: false };
  const envelope = { ...session.envelope, mailFrom: false } as const;
  let now = 5_000;
  // The clock is set back meanwhile.
  const clock = { ...parts.clock, now: () => (now -= 1_000) };
  for (const hostNameAppearsAs of ['', false] as const) {
    const nameless = { ...session, envelope, hostNameAppearsAs } as Submitted['session'];
    await logSubmission(
      { ...parts, clock },
      { ...submitted, identity: { ...identity, key }, session: nameless },
      () => Promise.resolve({ text: '2.0.0 OK', messageId: null }),
    );
  }
  const said = {
    isSandbox: false,
    durationMs: 0,
    userAgent: null,
    requestBody:
      '{"mail_from":null,"rcpt_to":["ann@receiver.example","bo@receiver.example"],"bytes":42}',
  };
  expect(rows).toMatchObject([said, said]);
});

test.each([
  ['a refusal of the API', new ApiError('forbidden', 'No.'), 403, '550 5.7.1 No.'],
  ['one for good', new SmtpRefusal(554, '5.6.0', 'No.'), 422, '554 5.6.0 No.'],
  ['one for now', new SmtpRefusal(450, '4.7.1', 'Later.'), 503, '450 4.7.1 Later.'],
  [
    'a full disk',
    new StoreFullError('x'),
    503,
    '452 4.3.1 This service is out of disk space. Try again later.',
  ],
  [
    'a fault of ours, of which the row tells nothing',
    new Error('secret'),
    503,
    '451 4.3.0 The service failed to handle this command. Try again later.',
  ],
])('%s has a status as over HTTP', async (_, error, status, responseBody) => {
  expect(await rowOf(() => Promise.reject(error))).toMatchObject({
    status,
    responseBody,
    messageId: null,
  });
});

test('a row that cannot be written is logged, and the message is taken all the same', async () => {
  const error = new Error('full');
  const { parts, submitted, logged } = rig(() => Promise.reject(error));
  const accept = () => Promise.resolve({ text: '2.0.0 OK', messageId: null });
  expect(await logSubmission(parts, submitted, accept)).toBe('2.0.0 OK');
  await Promise.resolve();
  expect(logged).toEqual([['submission_log_failed', { error }]]);
});
