/**
 * A message that can never be composed once waited its whole life for it, with a hint about the key file.
 */
import { afterEach, expect, test } from 'bun:test';

import type { NewMessage } from '../../src/store/journey.ts';
import { startReceiver } from '../rig/receiver.ts';
import { startQueueRig } from '../flow/queue/queue-rig.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

const NEVER: [what: string, spoil: (made: NewMessage) => void, reason: RegExp][] = [
  [
    'a header that must not be written',
    ({ body }) => void body.headers.push(['Bcc', 'eve@example.com']),
    /^the message cannot be written: not a custom header: "Bcc"$/,
  ],
  [
    'a line that no server takes',
    ({ message }) => void (message.messageId = `<${'x'.repeat(1_000)}@mail.rig.test>`),
    /^the message cannot be written: the message has a line of more than 998 bytes$/,
  ],
  [
    'a sender without a domain of the account',
    ({ message }) => void (message.domainId = null),
    /^the message cannot be written: it has no sending domain$/,
  ],
];

for (const [what, spoil, reason] of NEVER) {
  test(`${what}: failed at once, and the event says why`, async () => {
    const mx = await startReceiver();
    ended.push(() => mx.stop());
    const rig = await startQueueRig({ delivery: { port: mx.port } });
    ended.push(() => rig.stop());
    rig.names.set('example.com', 'MX', ['10 mx.example.com']);
    rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
    const made = await rig.accept(['ann@example.com'], {}, spoil);
    rig.queue.offerAccepted([made]);
    const [settled] = await rig.attempted(made.message.id, 1);
    expect(settled?.recipient).toMatchObject({ status: 'failed', nextAttemptAt: null });
    expect(settled?.recipient.lastReason).toMatch(reason);
    expect(settled?.attempts).toMatchObject([{ outcome: 'failed', class: 'ours' }]);
    // It never was on its way, so it was not sent.
    expect(settled?.events.map(({ type }) => type)).toEqual(['email.failed']);
    const payload = JSON.parse(settled?.events[0]?.payload ?? 'null') as { cause: string };
    expect(payload.cause).toMatch(reason);
    const message = await rig.ctx.store.messageById(made.message.id);
    expect(message?.failureReason).toMatch(reason);
    expect(mx.connections()).toBe(0);
    expect(rig.logLines.filter((line) => line.includes('message_not_composed'))).toHaveLength(1);
  });
}
