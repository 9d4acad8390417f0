/**
 * A small fixture for flow tests: a real store in a directory of its own, a clock that tests move, an
 * account with a key and a verified domain, and a sink that remembers what acceptance hands over.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeContext } from '../../src/appliance/context.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { ApiError } from '../../src/base/errors.ts';
import { newId } from '../rig/ids.ts';
import { createLog } from '../../src/base/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { SecretBox } from '../../src/base/secret-box.ts';
import type { SuppressionReason } from '../../src/base/status.ts';
import {
  acceptEmails,
  type Acceptance,
  type AcceptedSink,
  type AcceptOptions,
} from '../../src/flow/accept/accept.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import type { Context } from '../../src/flow/context.ts';
import type { Draft, Sender } from '../../src/flow/draft.ts';
import { authenticate, createKey } from '../../src/flow/accounts/keys.ts';
import { makeAddress, type Mailbox } from '../../src/mail/header/address.ts';
import type { Domain, Event, Message, Recipient } from '../../src/store/rows.ts';
import { openTestStore } from '../store/test-store.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';
import type { CallRef } from '../../src/store/webhooks.ts';
import type { Resolver } from '../../src/wire/dns/resolver.ts';
import { TestClock } from '../rig/clock.ts';

/** A sender with a key, by a request. */
export type RequestSender = Sender & { requestId: string };

export interface Fixture {
  ctx: Context;
  clock: TestClock;
  dir: string;
  /** Lines of the log, parsed. */
  logged: Record<string, unknown>[];
  sink: AcceptedSink & { messages: NewMessage[]; calls: CallRef[] };
  /** A sender with a new key of the account `name`, which is made when it is not there. */
  sender(options?: { name?: string; plan?: string; isTest?: boolean }): Promise<RequestSender>;
  /** A verified domain of the sender's account, without asking DNS. */
  verified(sender: Sender, name: string): Promise<Domain>;
  /** Accepts as the API would, strict and without idempotency key unless told. */
  accept(
    sender: Sender,
    drafts: Draft | (Draft | ApiError)[],
    options?: Partial<AcceptOptions>,
  ): Promise<Acceptance>;
  /** The first message of an acceptance, as stored. */
  stored(acceptance: Acceptance): Promise<{
    message: Message;
    recipients: Recipient[];
    events: Event[];
    types: string[];
  }>;
  close(): Promise<void>;
}

/** Answers `[{id, status} | {code}]`. */
export const ACCEPT: AcceptOptions = {
  isPermissive: false,
  idempotency: null,
  respond: (results) => ({
    status: 200,
    body: results.map((result) =>
      result.kind === 'accepted'
        ? { id: result.id, status: result.status }
        : { code: result.error.code },
    ),
  }),
};

/** The ApiError that `work` is refused with; fails when it is not. */
export async function refusal(work: Promise<unknown>): Promise<ApiError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error(`expected a refusal, got ${String(error)}`);
  return error;
}

export async function openFixture(
  options: {
    toml?: string;
    resolver?: Resolver;
    /** Default: one of its own, in a new directory. */
    store?: Store;
    /** Default: one of its own. */
    clock?: TestClock;
  } = {},
): Promise<Fixture> {
  const dir = mkdtempSync(join(tmpdir(), 'flow-'));
  const clock = options.clock ?? new TestClock();
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line) as Record<string, unknown>),
    () => clock.now(),
  );
  const toml = `hostname = "mail.appliance.example"\ndata_dir = ${JSON.stringify(dir)}\n${options.toml ?? ''}`;
  const config = parseConfig(toml, 'test.toml');
  const store = options.store ?? (await openTestStore(dir, log));
  const ctx = await makeContext({
    config,
    clock,
    log,
    store,
    resolver: options.resolver ?? silentResolver(),
    secrets: new SecretBox(Buffer.alloc(32, 7)),
    metrics: new Metrics(),
  });
  const sink: Fixture['sink'] = {
    messages: [],
    calls: [],
    offerAccepted: (messages) => void sink.messages.push(...messages),
    offerCalls: (calls) => void sink.calls.push(...calls),
  };
  return {
    ctx,
    clock,
    dir,
    logged,
    sink,
    async sender({ name = 'acme', plan = 'unlimited', isTest = false } = {}) {
      const account = (await store.account(name)) ?? (await createAccount(ctx, { name, plan }));
      const { token } = await createKey(ctx, account.id, {
        name: 'k',
        permission: 'full_access',
        isTest,
      });
      const identity = await authenticate(ctx, token);
      if (identity === null) throw new Error('the key just made is not known');
      return { ...identity, requestId: newId(clock.now()) };
    },
    async verified(sender, name) {
      const now = clock.now();
      const domain: Domain = {
        id: newId(now),
        accountId: sender.account.id,
        name,
        status: 'verified',
        selector: 'pr00000000',
        dkimPublicKey: 'AAAA',
        sealedDkimKey: Buffer.of(0),
        recordStates: {},
        createdAt: now,
        verifiedAt: now,
        lastCheckedAt: now,
        nextCheckAt: null,
        failingSince: null,
        pendingSince: now,
        deletedAt: null,
      };
      await store.createDomain(domain, 1_000);
      return domain;
    },
    accept: (sender, drafts, options = {}) =>
      acceptEmails(ctx, sink, sender, Array.isArray(drafts) ? drafts : [drafts], {
        ...ACCEPT,
        ...options,
      }),
    async stored({ messageIds: [id = ''] }) {
      const message = await store.messageById(id);
      if (message === null) throw new Error('the accepted message is not stored');
      const events = await store.events(id);
      const types = events.map(({ type }) => type);
      return { message, recipients: await store.recipients(id), events, types };
    },
    async close() {
      ctx.signing.stop();
      ctx.large.stop();
      await store.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const SUPPRESSION_REASONS: readonly SuppressionReason[] = [
  'hard_bounce',
  'complaint',
  'unsubscribe',
  'manual',
];

/** A resolver that fails every question. */
export function silentResolver(): Resolver {
  const fail = async (): Promise<{ kind: 'failed'; reason: string }> => ({
    kind: 'failed',
    reason: 'no resolver in this test',
  });
  return { mx: fail, a: fail, aaaa: fail, txt: fail, cname: fail, ptr: fail, tlsa: fail };
}

export function mailbox(email: string, name = ''): Mailbox {
  const parsed = makeAddress(email, name);
  if ('error' in parsed) throw new Error(`${email} ${parsed.error}`);
  return parsed;
}

export function draft(change: Partial<Draft> = {}): Draft {
  return {
    from: mailbox('hello@acme.example', 'Acme'),
    to: [mailbox('ann@receiver.example')],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Hello',
    html: null,
    text: 'Hello.',
    headers: [],
    attachments: [],
    tags: [],
    raw: null,
    ...change,
  };
}
