/** Which open session may carry another message: only one that was opened with the same options. */
import { afterEach, expect, test } from 'bun:test';

import { systemClock } from '../../../src/base/clock.ts';
import { dialOf } from '../../../src/flow/deliver/host-address.ts';
import { Sessions } from '../../../src/flow/deliver/session-pool.ts';
import type { SessionOptions } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { describeWith } from '../../rig/programs.ts';
import { startReceiver } from '../../rig/receiver.ts';
import type { Receiver } from '../../rig/receiver.ts';
import { startRelay } from './relay-rig.ts';

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

function optionsOf(receiver: { host?: string; port: number }): SessionOptions {
  return {
    address: receiver.host ?? '127.0.0.1',
    port: receiver.port,
    localAddress: null,
    heloName: 'mail.rig.test',
    serverName: 'mx.rig.test',
    tls: { mode: 'required', verify: false, checkPeer: () => null },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
  };
}

/** Opens a session with `first`, gives it back, and asks for one with `second`. */
async function openThen(first: SessionOptions, second: SessionOptions) {
  const sessions = new Sessions(systemClock);
  undo.push(() => sessions.stop());
  const opened = await sessions.acquire(dialOf(first));
  if (opened.kind === 'failed') throw new Error(opened.cause ?? 'failed');
  sessions.release(opened.session, 10);
  const again = await sessions.acquire(dialOf(second));
  if (again.kind === 'ready') sessions.release(again.session, 10);
  return again;
}

describeWith(['openssl'], 'sessions under TLS', () => {
  const receiver = async (): Promise<Receiver> => {
    const made = await startReceiver();
    undo.push(() => made.stop());
    return made;
  };

  test('the same check of the certificate finds the open session', async () => {
    const options = optionsOf(await receiver());
    expect(await openThen(options, { ...options })).toMatchObject({ isReused: true });
  });

  test("a session that passed one domain's DANE check does not pass for another's", async () => {
    const passing = optionsOf(await receiver());
    const refusing: SessionOptions = {
      ...passing,
      tls: { ...passing.tls, checkPeer: () => 'not the name of this domain' },
    };
    expect(await openThen(passing, refusing)).toMatchObject({
      kind: 'failed',
      tlsFailed: true,
      cause: expect.stringContaining('not the name of this domain'),
    });
  });

  test('a session that logged in does not serve for another password', async () => {
    const relay = await startRelay({ username: 'ann', password: 'right' });
    undo.push(() => relay.stop());
    const right: SessionOptions = {
      ...optionsOf(relay),
      auth: { username: 'ann', password: 'right' },
    };
    const wrong: SessionOptions = { ...right, auth: { username: 'ann', password: 'wrong' } };
    expect(await openThen(right, { ...right })).toMatchObject({ isReused: true });
    expect(await openThen(right, wrong)).toMatchObject({ kind: 'failed', stage: 'auth' });
  });
});
