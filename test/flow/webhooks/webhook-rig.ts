/**
 * A webhook dispatcher with everything it stands on: a real store in a directory of its own, DNS answers
 * that lead every name to 127.0.0.1, the rig's CA, and a clock of the test's choice.
 *
 * Promises that `happen` commits real events with real calls, and that every recorded attempt can be
 * awaited. `stop` ends all of it and removes the directory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { makeContext } from '../../../src/appliance/context.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { parseConfig } from '../../../src/base/config-file.ts';
import { newId } from '../../rig/ids.ts';
import { createLog } from '../../../src/base/log.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { SecretBox } from '../../../src/base/secret-box.ts';
import type { EventType } from '../../../src/base/status.ts';
import type { Context } from '../../../src/flow/context.ts';
import { addEndpoint } from '../../../src/flow/webhooks/endpoints.ts';
import { newEvent } from '../../../src/flow/events.ts';
import {
  type DispatcherOptions,
  WebhookDispatcher,
} from '../../../src/flow/webhooks/dispatcher.ts';
import type { Endpoint, Message, NewEvent } from '../../../src/store/rows.ts';
import { openTestStore } from '../../store/test-store.ts';
import type { CallRef, FinishCall } from '../../../src/store/webhooks.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { testAuthority } from '../../rig/certificates.ts';

export interface WebhookRig {
  ctx: Context;
  accountId: string;
  dispatcher: WebhookDispatcher;
  /** Every attempt that was recorded, in the order of the commits. */
  ended: Arrivals<FinishCall>;
  logLines: string[];
  /** Registers an endpoint at `url`. */
  endpoint(url: string, events?: string[]): Promise<{ endpoint: Endpoint; secret: string }>;
  /** Commits `count` events (`email.sent` unless told) of one message each and offers their calls. */
  happen(count: number, type?: EventType): Promise<NewEvent[]>;
  /** The same without telling the dispatcher. */
  commit(count: number, type?: EventType): Promise<{ events: NewEvent[]; calls: CallRef[] }>;
  /** Ends the dispatcher and starts another on the same store. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface WebhookRigOptions {
  clock?: Clock;
  dispatcher?: DispatcherOptions;
  /** Opens this directory and keeps it. */
  dataDir?: string;
  /** Answers to A questions; default: 127.0.0.1 for every name. */
  a?: (name: string) => DnsAnswer<string>;
  /** PEM file of the CA to trust; default: the rig's of this process. */
  caFile?: string;
  /** Networks the operator admits; default: loopback. */
  allowNetworks?: string[];
  isStarted?: boolean;
}

/** The master key of every rig, so that another process can open what one has sealed. */
const MASTER_KEY = Buffer.alloc(32, 7);

export async function startWebhookRig(options: WebhookRigOptions = {}): Promise<WebhookRig> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'postrider-webhooks-'));
  const clock = options.clock ?? systemClock;
  const logLines: string[] = [];
  const log = createLog((line) => logLines.push(line), Date.now);
  const caFile = options.caFile ?? testAuthority().certFile;
  const networks = JSON.stringify(options.allowNetworks ?? ['127.0.0.0/8']);
  const config = parseConfig(
    `hostname = "mail.rig.test"
     data_dir = ${JSON.stringify(dataDir)}
     [webhooks]
     allow_networks = ${networks}
     [tls]
     extra_ca_file = ${JSON.stringify(caFile)}`,
    'rig.toml',
  );
  const store = await openTestStore(dataDir, log);
  const ended = new Arrivals<FinishCall>('recorded attempts');
  const ctx = await makeContext({
    config,
    clock,
    log,
    resolver: answering(options.a ?? (() => found('127.0.0.1'))),
    secrets: new SecretBox(MASTER_KEY),
    metrics: new Metrics(),
    store: {
      ...store,
      async finishCall(end) {
        const result = await store.finishCall(end);
        ended.push(end);
        return result;
      },
    },
  });
  const accountId = await account(ctx);
  const rig: WebhookRig = {
    ctx,
    accountId,
    dispatcher: new WebhookDispatcher(ctx, options.dispatcher),
    ended,
    logLines,
    endpoint: (url, events = []) => addEndpoint(ctx, accountId, { url, events }),
    async happen(count, type) {
      const { events, calls } = await rig.commit(count, type);
      rig.dispatcher.offer(calls);
      return events;
    },
    async commit(count, type = 'email.sent') {
      const made = Array.from({ length: count }, (_, at) => newMade(ctx, accountId, at, type));
      const now = clock.now();
      const result = await store.accept({
        accountId,
        now,
        steadyNow: clock.steady(),
        usage: null,
        idempotency: null,
        messages: made.map(({ message, event }) => ({
          message,
          body: { html: null, text: 'x', headers: [], attachments: [], raw: null },
          recipients: [],
          events: [event],
        })),
      });
      if (result.kind !== 'accepted') throw new Error(`not accepted: ${result.kind}`);
      return { events: made.map(({ event }) => event), calls: result.calls };
    },
    async restart() {
      await rig.dispatcher.stop();
      rig.dispatcher = new WebhookDispatcher(ctx, options.dispatcher);
      rig.dispatcher.start();
    },
    async stop() {
      await rig.dispatcher.stop();
      await store.close();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
  if (options.isStarted !== false) rig.dispatcher.start();
  return rig;
}

/** A positive answer that may not be kept. */
export function found(...records: string[]): DnsAnswer<string> {
  return { kind: 'found', records, ttlSeconds: 0, isAuthenticated: false };
}

function answering(a: (name: string) => DnsAnswer<string>): Resolver {
  const none = { kind: 'nodata', isAuthenticated: false } as const;
  const empty = async (): Promise<typeof none> => none;
  return {
    a: async (name) => a(name),
    aaaa: empty,
    mx: empty,
    txt: empty,
    cname: empty,
    ptr: empty,
    tlsa: empty,
  };
}

async function account(ctx: Context): Promise<string> {
  const known = await ctx.store.account('default');
  if (known !== null) return known.id;
  const id = newId(ctx.clock.now());
  await ctx.store.createAccount({
    id,
    name: 'default',
    plan: 'unlimited',
    status: 'active',
    statusReason: null,
    createdAt: ctx.clock.now(),
  });
  return id;
}

function newMade(
  ctx: Context,
  accountId: string,
  at: number,
  type: EventType,
): { message: Message; event: NewEvent } {
  const now = ctx.clock.now();
  const id = newId(now);
  const message: Message = {
    id,
    accountId,
    keyId: null,
    logId: null,
    domainId: null,
    isSandbox: true,
    from: 'Sender <news@sender.example>',
    to: [`someone${at}@receiver.example`],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: `Grüße Nr. ${at} — ✓`,
    tags: [{ name: 'batch', value: 'one' }],
    eventHeaders: [],
    messageId: `<${id}@mail.rig.test>`,
    status: 'sent',
    failureReason: null,
    createdAt: now,
    updatedAt: now,
  };
  const event = newEvent(ctx, {
    message,
    recipient: null,
    type,
    occurredAt: now,
    payload: null,
    extra: null,
  });
  return { message, event };
}
