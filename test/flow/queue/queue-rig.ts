/**
 * A queue with everything it stands on: a real store in a temporary directory, the rig's DNS server, one
 * verified sending domain, and a movable clock. Mail is accepted straight into the store.
 *
 * Promises that `stop` ends all of it and removes the directory. Private networks of the rig are admitted.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { makeContext } from '../../../src/appliance/context.ts';
import type { Config, Live, Startup } from '../../../src/base/config.ts';
import { parseConfig } from '../../../src/base/config-file.ts';
import { newId } from '../../rig/ids.ts';
import { createLog } from '../../../src/base/log.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { SecretBox } from '../../../src/base/secret-box.ts';
import type { Context } from '../../../src/flow/context.ts';
import type { NodeSession } from '../../../src/flow/node-session.ts';
import type { ConcurrencyLimits } from '../../../src/flow/pacing/concurrency.ts';
import { Queue } from '../../../src/flow/queue/queue.ts';
import type { QueueOptions } from '../../../src/flow/queue/queue.ts';
import { generateDkimKey } from '../../../src/mail/dkim/dkim.ts';
import type { Attempt, Event, Message, Recipient } from '../../../src/store/rows.ts';
import type {
  BeginAttempt,
  FinishAttempt,
  NewMessage,
  SentAttempt,
} from '../../../src/store/journey.ts';
import type { Store } from '../../../src/store/store.ts';
import { openTestStore } from '../../store/test-store.ts';
import type { CallRef } from '../../../src/store/webhooks.ts';
import { createResolver } from '../../../src/wire/dns/dns.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { TestClock } from '../../rig/clock.ts';
import { startNames } from '../../rig/names.ts';
import type { Names } from '../../rig/names.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';

/** One key pair for all tests of a process: making one takes half a second. */
const dkimKey = generateDkimKey();

/** No attempt may begin: what is offered stays in its line. */
export const NO_ATTEMPTS: ConcurrencyLimits = {
  attempts: 0,
  slowMs: 9,
  slowMax: 0,
  reserved: 0,
  crowd: 9,
  crowdWaitMs: 9,
  unsigned: 9_999,
};

/** What one attempt left behind. */
export interface Settled {
  recipient: Recipient;
  attempts: Attempt[];
  events: Event[];
}

export interface QueueRig {
  ctx: Context;
  clock: TestClock;
  names: Names;
  queue: Queue;
  /** Webhook calls handed over. */
  calls: CallRef[];
  logLines: string[];
  dkimPublicKey: string;
  /** Commits one message to each of `to` and offers it to the queue. */
  send(to: string[], change?: { subject?: string; text?: string }): Promise<Message>;
  /** Commits without telling the queue, but for what `beforeCommit` does with the message. */
  accept(
    to: string[],
    change?: { subject?: string; text?: string },
    beforeCommit?: (made: NewMessage) => void,
  ): Promise<NewMessage>;
  /** Resolves when `count` attempts have ended for the message (all recipients together). */
  attempted(messageId: string, count: number, timeoutMs?: number): Promise<Settled[]>;
  state(messageId: string): Promise<Settled[]>;
  /** Resolves when no attempt is under way. */
  idle(): Promise<void>;
  /** Stops the queue and starts another on the same store, as a restart does. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface QueueRigOptions {
  delivery?: Partial<Startup['delivery'] & Live['delivery']>;
  queue?: Partial<QueueOptions>;
  extraCaFile?: string;
  isStarted?: boolean;
  /** Default: one of its own in its directory. */
  store?: Store;
  /** The session of a node; default: it has the store alone. */
  node?: (parts: Pick<Context, 'clock' | 'log'>) => Promise<NodeSession>;
  /** Called before the store's verb; what it throws, the verb rejects with. */
  faults?: {
    /** Awaited: what it waits for, the verb waits for. */
    finish?: (end: FinishAttempt, mayWait?: boolean) => unknown;
    begin?: (attempts: BeginAttempt[]) => void;
    noteSent?: (attempts: SentAttempt[]) => unknown;
    suppressed?: () => void;
    /** Of the content of a message. */
    read?: (messageId: string) => void;
  };
}

export async function startQueueRig(options: QueueRigOptions = {}): Promise<QueueRig> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-queue-'));
  const clock = new TestClock();
  const names = await startNames();
  const logLines: string[] = [];
  const log = createLog(
    (line) => logLines.push(line),
    () => clock.now(),
  );
  const store = options.store ?? (await openTestStore(dataDir, log));
  const resolver = createResolver({ servers: [names.listen], clock });
  const secrets = new SecretBox(Buffer.alloc(32, 7));
  const config = rigConfig(dataDir, options);
  const metrics = new Metrics();
  const ctx = await makeContext({ config, clock, log, store, resolver, secrets, metrics });
  const finished = new Arrivals<string>('ended attempts');
  const watched: Context = {
    ...ctx,
    node: (await options.node?.(ctx)) ?? null,
    store: {
      ...store,
      // Else hours could pass by the test's clock while a look is under way.
      takeDue: (request) => clock.waitsFor(store.takeDue(request)),
      async begin(attempts, ...rest) {
        options.faults?.begin?.(attempts);
        return store.begin(attempts, ...rest);
      },
      async noteSent(attempts) {
        await options.faults?.noteSent?.(attempts);
        return store.noteSent(attempts);
      },
      async messageForDelivery(id) {
        options.faults?.read?.(id);
        return store.messageForDelivery(id);
      },
      async suppressed(account, emails) {
        options.faults?.suppressed?.();
        return store.suppressed(account, emails);
      },
      async finish(result, mayWait) {
        await options.faults?.finish?.(result, mayWait);
        const answer = await store.finish(result, mayWait);
        if (result.attempt !== null) finished.push(result.messageId);
        return answer;
      },
    },
  };

  const accountId = newId(clock.now());
  const domainId = newId(clock.now());
  const { privateKeyPem, publicKeyBase64 } = await dkimKey;
  await store.createAccount({
    id: accountId,
    name: 'default',
    plan: 'unlimited',
    status: 'active',
    statusReason: null,
    createdAt: clock.now(),
  });
  await store.createDomain(
    {
      id: domainId,
      accountId,
      name: 'sender.example',
      status: 'verified',
      selector: 'pr1',
      dkimPublicKey: publicKeyBase64,
      sealedDkimKey: secrets.seal(privateKeyPem, `dkim:${domainId}`),
      recordStates: {},
      createdAt: clock.now(),
      verifiedAt: clock.now(),
      lastCheckedAt: null,
      nextCheckAt: null,
      failingSince: null,
      pendingSince: clock.now(),
      deletedAt: null,
    },
    10,
  );

  const calls: CallRef[] = [];
  const makeQueue = (): Queue =>
    new Queue(
      watched,
      { offer: (made) => void calls.push(...made) },
      {
        captureAt: null,
        deadlines: PRODUCTION_DEADLINES,
        random: () => 0.5,
        ...options.queue,
      },
    );
  let queue = makeQueue();
  if (options.isStarted !== false) await queue.start();

  const accept = async (
    to: string[],
    change: { subject?: string; text?: string } = {},
    beforeCommit: (made: NewMessage) => void = () => undefined,
  ): Promise<NewMessage> => {
    const made = newMessage(
      { accountId, domainId, now: clock.now(), steadyNow: clock.steady(), config },
      to,
      change,
    );
    beforeCommit(made);
    await store.accept({
      accountId,
      now: clock.now(),
      steadyNow: clock.steady(),
      usage: null,
      idempotency: null,
      messages: [made],
    });
    return made;
  };
  const state = async (messageId: string): Promise<Settled[]> => {
    const [recipients, attempts, events] = await Promise.all([
      store.recipients(messageId),
      store.attempts(messageId),
      store.events(messageId),
    ]);
    return recipients.map((recipient) => ({
      recipient,
      attempts: attempts.filter((a) => a.recipientId === recipient.id),
      events: events.filter((e) => e.recipientId === recipient.id),
    }));
  };
  const rig: QueueRig = {
    ctx,
    clock,
    names,
    queue,
    calls,
    logLines,
    dkimPublicKey: publicKeyBase64,
    accept,
    state,
    async send(to, change) {
      const made = await accept(to, change, (message) => queue.markAhead([message]));
      queue.offerAccepted([made]);
      return made.message;
    },
    async attempted(messageId, count, timeoutMs) {
      await finished.atLeast(count, (id) => id === messageId, timeoutMs);
      return state(messageId);
    },
    async idle() {
      while (queue.counts().inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
    },
    async restart() {
      await queue.stop();
      queue = makeQueue();
      rig.queue = queue;
      await queue.start();
    },
    async stop() {
      await queue.stop();
      resolver.close();
      ctx.signing.stop();
      ctx.large.stop();
      await store.close();
      await names.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  return rig;
}

function rigConfig(dataDir: string, options: QueueRigOptions): Config {
  const config = parseConfig(
    `hostname = "mail.rig.test"
     data_dir = ${JSON.stringify(dataDir)}
     [delivery]
     allow_networks = ["127.0.0.0/8"]
     [tls]
     extra_ca_file = ${JSON.stringify(options.extraCaFile ?? '')}`,
    'rig.toml',
  );
  const { startup, live } = config;
  const { mode, sourceAddresses, allowNetworks, providers, ...delivery } = {
    ...startup.delivery,
    ...live.delivery,
    ...options.delivery,
  };
  return {
    startup: { ...startup, delivery: { mode, sourceAddresses, allowNetworks, providers } },
    live: { ...live, delivery },
  };
}

function newMessage(
  base: { accountId: string; domainId: string; now: number; steadyNow: number; config: Config },
  to: string[],
  change: { subject?: string; text?: string },
): NewMessage {
  const { accountId, domainId, now, steadyNow, config } = base;
  const id = newId(now);
  return {
    message: {
      id,
      accountId,
      keyId: null,
      logId: null,
      domainId,
      isSandbox: false,
      from: 'Sender <news@sender.example>',
      to,
      cc: [],
      bcc: [],
      replyTo: [],
      subject: change.subject ?? 'Hello',
      tags: [],
      eventHeaders: [],
      messageId: `<${id}@mail.rig.test>`,
      status: 'queued',
      failureReason: null,
      createdAt: now,
      updatedAt: now,
    },
    body: {
      html: null,
      text: change.text ?? 'Hello there.',
      headers: [],
      attachments: [],
      raw: null,
    },
    recipients: to.map((address) => ({
      id: newId(now),
      messageId: id,
      accountId,
      address,
      domain: address.slice(address.lastIndexOf('@') + 1),
      kind: 'to',
      status: 'queued',
      attempts: 0,
      nextAttemptAt: steadyNow,
      expiresAt: steadyNow + config.live.delivery.expiresMs,
      lastReason: null,
      delayedAt: null,
      updatedAt: now,
    })),
    events: [],
  };
}

/** A queue whose mail for `example.com` goes to a receiver that offers these keywords in its EHLO answer. */
export async function startQueueWithMx(
  keywords: string[],
): Promise<{ rig: QueueRig; mx: ScriptedSmtp; stop: () => Promise<void> }> {
  const mx = await startScriptedSmtp({ keywords });
  const rig = await startQueueRig({ delivery: { port: mx.port } });
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  return {
    rig,
    mx,
    async stop() {
      await rig.stop();
      await mx.stop();
    },
  };
}
