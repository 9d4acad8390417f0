/**
 * How fast lists and searches answer with a million rows of each kind stored.
 *
 * Makes its own data (messages, suppressions, request logs, in a big account and a small one beside it)
 * in a temporary directory, asks every kind of page at random positions, and prints p50 and p99. Random
 * choices come from a fixed seed. `scripts/bench read [rows]`; `benchRead` for other scripts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../test/rig/ids.ts';
import { createLog } from '../src/base/log.ts';
import type { MessageStatus } from '../src/base/status.ts';
import { openStore } from '../src/store/sqlite/store.ts';
import type { NewMessage } from '../src/store/journey.ts';
import type { EmailFilter } from '../src/store/messages.ts';
import type { LogFilter } from '../src/store/request-logs.ts';
import type { Store } from '../src/store/store.ts';
import type { Account, LogRecord, Suppression } from '../src/store/rows.ts';
import { refuse, scriptOptions } from './options.ts';

export interface ReadTiming {
  query: string;
  p50Ms: number;
  p99Ms: number;
  /** Rows on the last page that was read, so that an empty answer does not look fast. */
  rows: number;
}

const ROWS_PER_CALL = 500;
const RUNS = 200;
/** One row in so many belongs to the small account. */
const SMALL_SHARE = 10_000;

const WORDS =
  'your order invoice receipt password reset welcome confirm shipping delivery update account security alert weekly report meeting ticket reply payment'.split(
    ' ',
  );
const STATUSES: [MessageStatus, share: number][] = [
  ['complained', 0.0002],
  ['failed', 0.001],
  ['suppressed', 0.003],
  ['bounced', 0.02],
  ['delivery_delayed', 0.03],
  ['delivered', 1],
];
const OUTCOMES: [method: string, status: number, share: number][] = [
  ['DELETE', 404, 0.0001],
  ['POST', 422, 0.01],
  ['POST', 429, 0.03],
  ['GET', 200, 0.4],
  ['POST', 200, 1],
];

/** A linear congruential generator: the same data and the same questions each time. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 0x100000000) * below);
  };
}

type Random = ReturnType<typeof randomFrom>;

/** Measures with `count` rows of each kind, `runs` times over the same rows. */
export async function benchRead(count: number, runs = 1): Promise<ReadTiming[][]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const log = createLog((line) => process.stderr.write(`${line}\n`), Date.now);
  const store = await openStore({ dataDir, now: Date.now(), log });
  try {
    const accounts = await fill(store, count);
    await indexed(store, accounts.big);
    const all: ReadTiming[][] = [];
    for (let run = 0; run < runs; run += 1) all.push(await measure(store, accounts, count));
    return all;
  } finally {
    await store.close();
    rmSync(dataDir, { recursive: true });
  }
}

interface Accounts {
  big: Account;
  small: Account;
  messageIds: string[];
  logIds: string[];
  emails: string[];
}

async function fill(store: Store, count: number): Promise<Accounts> {
  const random = randomFrom(1);
  const [big, small] = await Promise.all([account(store, 'big'), account(store, 'small')]);
  const accounts: Accounts = { big, small, messageIds: [], logIds: [], emails: [] };
  const pick = (at: number): Account => (at % SMALL_SHARE === 7 ? small : big);
  for (let at = 0; at < count; at += ROWS_PER_CALL) {
    const indexes = Array.from({ length: ROWS_PER_CALL }, (_, offset) => at + offset);
    const now = Date.now();
    const messages = indexes.map((index) => message(random, pick(index).id, index));
    const logs = indexes.map((index) => logRecord(random, pick(index).id));
    const rows = indexes.map((index) => suppression(random, pick(index).id, index));
    const usage = null;
    await Promise.all([
      store.accept({ accountId: big.id, now, usage, idempotency: null, messages }),
      store.appendLogs(logs),
      store.addSuppressions(rows),
    ]);
    accounts.messageIds.push(messages[0]?.message.id ?? '');
    accounts.logIds.push(logs[0]?.id ?? '');
    accounts.emails.push(rows[0]?.email ?? '');
  }
  return accounts;
}

async function account(store: Store, name: string): Promise<Account> {
  const createdAt = Date.now();
  const id = newId(createdAt);
  const row: Account = {
    id,
    name,
    plan: 'unlimited',
    status: 'active',
    statusReason: null,
    createdAt,
  };
  await store.createAccount(row);
  return row;
}

const word = (random: Random): string => WORDS[random(WORDS.length)] ?? '';

function message(random: Random, accountId: string, index: number): NewMessage {
  const createdAt = Date.now();
  const id = newId(createdAt);
  const chance = random(1_000_000) / 1_000_000;
  const status = STATUSES.find(([, share]) => chance < share)?.[0] ?? 'delivered';
  const subject = `${word(random)} ${word(random)} ${word(random)} #${random(1_000_000)}`;
  return {
    message: {
      id,
      accountId,
      keyId: null,
      logId: null,
      domainId: null,
      isSandbox: false,
      from: `${word(random)} <${word(random)}@shop${random(100)}.example.com>`,
      to: [`user${index}.${word(random)}@mail${random(1000)}.example.net`],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: index === 4242 ? 'a zqx jewel' : subject,
      tags: [],
      eventHeaders: [],
      messageId: `<${id}@mail.example.com>`,
      status,
      failureReason: null,
      createdAt,
      updatedAt: createdAt,
    },
    body: { html: null, text: 'hello', headers: [], attachments: [], raw: null },
    recipients: [],
    events: [],
  };
}

function logRecord(random: Random, accountId: string): LogRecord {
  const createdAt = Date.now();
  const id = newId(createdAt);
  const chance = random(1_000_000) / 1_000_000;
  const [method, status] = OUTCOMES.find(([, , share]) => chance < share) ?? ['GET', 200];
  return {
    id,
    accountId,
    keyId: null,
    keyName: 'bench',
    keyPermission: 'full_access',
    isSandbox: false,
    method,
    path: method === 'GET' ? `/emails/${id}` : '/emails/batch',
    status,
    durationMs: 3,
    messageId: null,
    userAgent: null,
    ip: null,
    requestBody: null,
    responseBody: null,
    createdAt,
  };
}

function suppression(random: Random, accountId: string, index: number): Suppression {
  const createdAt = Date.now();
  return {
    id: newId(createdAt),
    accountId,
    email: `reader${index}.${word(random)}@host${random(1000)}.example.org`,
    reason: 'hard_bounce',
    source: null,
    note: null,
    createdAt,
  };
}

/** Waits until a search that nothing matches is answered from the index alone. */
async function indexed(store: Store, big: Account): Promise<void> {
  for (;;) {
    const began = performance.now();
    const filter = { limit: 1, after: null, before: null, q: 'no such words', status: null };
    await store.emails(big.id, filter);
    await store.suppressions(big.id, 'no such words', filter);
    await store.logs(big.id, { ...filter, method: null });
    if (performance.now() - began < 50) return;
    await Bun.sleep(1000);
  }
}

type Ask = (random: Random) => Promise<{ length: number }>;

async function measure(store: Store, accounts: Accounts, count: number): Promise<ReadTiming[]> {
  const { big, small } = accounts;
  const cursorOf =
    (list: string[]) =>
    (random: Random): string =>
      list[random(list.length)] ?? '';
  const anId = cursorOf(accounts.messageIds);
  const aLog = cursorOf(accounts.logIds);
  const anEmail = cursorOf(accounts.emails);
  const plain = { limit: 50, after: null, before: null };
  const emails = async (accountId: string, filter: Partial<EmailFilter>) =>
    (await store.emails(accountId, { ...plain, q: null, status: null, ...filter })).rows;
  const logs = async (filter: Partial<LogFilter>) =>
    (await store.logs(big.id, { ...plain, q: null, status: null, method: null, ...filter })).rows;
  const suppressions = async (q: string | null, after: string | null) =>
    (await store.suppressions(big.id, q, { limit: 100, before: null, after })).rows;
  const digits = (random: Random): string => String(100_000 + random(900_000));

  const asks: Record<string, Ask> = {
    'emails: first page': () => emails(big.id, {}),
    'emails: after a random cursor': (random) => emails(big.id, { after: anId(random) }),
    'emails: before a random cursor': (random) => emails(big.id, { before: anId(random) }),
    'emails: status delivered, random cursor': (random) =>
      emails(big.id, { status: 'delivered', after: anId(random) }),
    'emails: status complained, random cursor': (random) =>
      emails(big.id, { status: 'complained', after: anId(random) }),
    'emails: random page by number': (random) =>
      store.emailsByPage(big.id, 1 + random(count / 100), 100),
    'emails: q in half of them': () => emails(big.id, { q: 'order' }),
    'emails: q in half of them, random cursor': (random) =>
      emails(big.id, { q: 'example.com', after: anId(random) }),
    'emails: q an order number': (random) => emails(big.id, { q: `#${digits(random)}` }),
    'emails: q one recipient': (random) => emails(big.id, { q: `user${random(count)}.` }),
    'emails: q in no message': (random) => emails(big.id, { q: `${digits(random)}zz` }),
    'emails: q common words that never meet': () =>
      emails(big.id, { q: 'password reset password reset password' }),
    'emails: q a whole sender': (random) =>
      emails(big.id, { q: `${word(random)} <${word(random)}@shop${random(100)}.example.com>` }),
    'emails: q one character': (random) =>
      emails(big.id, { q: 'abcdefghijklm'[random(13)] ?? 'e' }),
    'emails: q two common characters': () => emails(big.id, { q: 'or' }),
    'emails: q two rare characters': () => emails(big.id, { q: 'zq' }),
    'emails: q two characters in no message': () => emails(big.id, { q: '~~' }),
    'emails: q and a rare status': () => emails(big.id, { q: 'order', status: 'complained' }),
    'emails: q and bounced': () => emails(big.id, { q: 'order', status: 'bounced' }),
    'emails: small account, common q': () => emails(small.id, { q: 'order' }),
    'emails: small account, absent q': () => emails(small.id, { q: 'zqx' }),
    'emails: small account, one character': () => emails(small.id, { q: 'e' }),
    'suppressions: random cursor': (random) => suppressions(null, anEmail(random)),
    'suppressions: q one address': (random) => suppressions(`reader${random(count)}.`, null),
    'suppressions: q common, random cursor': (random) => suppressions('host', anEmail(random)),
    'suppressions: q two characters': () => suppressions('zz', null),
    'logs: random cursor': (random) => logs({ after: aLog(random) }),
    'logs: class 4, random cursor': (random) => logs({ status: 4, after: aLog(random) }),
    'logs: POST and 404, none': () => logs({ method: 'POST', status: 404 }),
    'logs: DELETE, random cursor': (random) => logs({ method: 'DELETE', after: aLog(random) }),
    'logs: q one path': (random) => logs({ q: aLog(random) }),
    'logs: q common and GET, random cursor': (random) =>
      logs({ q: 'emails', method: 'GET', after: aLog(random) }),
    'logs: q common and 404': () => logs({ q: 'emails', status: 404 }),
    'logs: q common and POST 201, none': () => logs({ q: 'emails', method: 'POST', status: 201 }),
    'message by id': async (random) => [await store.message(big.id, anId(random))],
  };
  const timings: ReadTiming[] = [];
  for (const [query, ask] of Object.entries(asks)) timings.push(await time(query, ask));
  return timings;
}

async function time(query: string, ask: Ask): Promise<ReadTiming> {
  const random = randomFrom(2);
  const taken: number[] = [];
  let rows = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const began = performance.now();
    rows = (await ask(random)).length;
    taken.push(performance.now() - began);
  }
  taken.sort((a, b) => a - b);
  const at = (share: number): number => taken[Math.floor(share * (taken.length - 1))] ?? 0;
  return { query, p50Ms: at(0.5), p99Ms: at(0.99), rows };
}

if (import.meta.main) {
  const [rows = '1000000'] = scriptOptions({ allowPositionals: true, options: {} }).positionals;
  const count = Number(rows);
  if (!Number.isInteger(count) || count < 1) refuse(`The rows are a number, not '${rows}'.`);
  const [timings = []] = await benchRead(count);
  for (const { query, p50Ms, p99Ms, rows } of timings) {
    process.stdout.write(
      `${query.padEnd(44)} p50 ${p50Ms.toFixed(2).padStart(8)} ms  p99 ${p99Ms.toFixed(2).padStart(8)} ms  rows ${rows}\n`,
    );
  }
}
