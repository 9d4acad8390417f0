/**
 * Receivers that misbehave: 13 stages × 16 behaviours (docs/reliability.md R11), each with the outcome that delivery
 * must see, within the stage's deadline, with one connection and no descriptor left.
 */
import { beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession } from '../../../src/wire/smtp/client.ts';
import type { SessionOptions } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import type { Deadlines, Stage } from '../../../src/wire/smtp/deadlines.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { openDeafPort } from '../../rig/deaf-port.ts';
import { BEHAVIOURS, STAGES, startHostileReceiver } from '../../rig/hostile-receiver.ts';
import type { Behaviour, HostileStage } from '../../rig/hostile-receiver.ts';
import { descriptors } from '../../rig/descriptors.ts';

const DEADLINE_MS = 300;
/** What a busy machine may add. What is not cut at its deadline goes on without end. */
const GRACE_MS = 5_000;
const RETRIES = 3;
const PATIENT_MS = 10_000;
const PARALLEL = 8;
/** Large messages keep one thread busy for both ends. */
const PARALLEL_BODIES = 3;
const ROW_MS = 60_000;
const DRIP_MS = 100;

/** Short where the receiver misbehaves, long elsewhere: a busy machine must not decide the outcome. */
function deadlinesFor(stage: HostileStage): Deadlines {
  const scaled: Partial<Record<Stage, number>> = { [stage]: DEADLINE_MS };
  // What is wrong at once on connecting is noticed as a wrong banner; a body that is taken ends at the dot.
  if (stage === 'connect') scaled.banner = DEADLINE_MS;
  if (stage === 'body') scaled.dot = DEADLINE_MS;
  const patient = Object.keys(PRODUCTION_DEADLINES).map((name) => [name, PATIENT_MS]);
  return {
    ...PRODUCTION_DEADLINES,
    ...Object.fromEntries(patient),
    ...scaled,
    bodyBytesPerSecond: 1e9,
  };
}

const SMALL = Buffer.from('Subject: small\r\n\r\nhello\r\n');
/** More than both ends of a loopback connection buffer, so that a body can stall half-way. */
const LARGE = Buffer.alloc(16_000_000, `${'large '.repeat(12)}\r\n`);

type Row = Record<Behaviour, string>;

/**
 * A row of the table. `lost`: what a lost or senseless answer means; `said(code)`: what a refusal means;
 * `on`: what a proper reply leads to when the connection is then lost or out of step.
 */
function row(
  lost: string,
  said: (code: number) => string,
  on: string,
  but: Partial<Row> = {},
): Row {
  return {
    refuse: said(554),
    fin: lost,
    rst: lost,
    silence: lost,
    drip: lost,
    garbage: lost,
    nul: lost,
    '4xx': said(451),
    '5xx': said(550),
    '421-close': said(421),
    'wrong-code': lost,
    endless: lost,
    'long-line': lost,
    // Tolerated, as by every mail server: no reply can smuggle anything.
    'bare-lf': 'accepted 250',
    extra: on,
    'reply-close': on,
    ...but,
  };
}
const always = (outcome: string): Row =>
  row(outcome, () => outcome, outcome, { 'bare-lf': outcome });

const EXPECTED: Record<HostileStage, Row> = {
  connect: row('failed banner', (code) => `failed banner ${code}`, 'failed ehlo', {
    refuse: 'failed connect',
    silence: 'failed connect',
  }),
  banner: row('failed banner', (code) => `failed banner ${code}`, 'failed ehlo'),
  ehlo: row('failed ehlo', (code) => `failed ehlo ${code}`, 'broken mail'),
  starttls: row('failed starttls, tls', () => 'accepted 250', 'failed handshake, tls', {
    // Refused without closing: opportunistic mode stays in plaintext, no handshake having failed.
    refuse: 'broken mail',
    '421-close': 'failed starttls 421, tls',
  }),
  handshake: always('failed handshake, tls'),
  ehlo2: row('failed ehlo2', (code) => `failed ehlo2 ${code}`, 'broken mail'),
  mail: row('broken mail', (code) => `refused mail ${code}`, 'broken rcpt'),
  rcpt: row('broken rcpt', (code) => `refused rcpt ${code}`, 'broken data'),
  data: row('broken data', (code) => `refused data ${code}`, 'broken dot', {
    // The body fits the socket's buffer: nobody can tell what became of it.
    'reply-close': 'broken dot, may be duplicate',
  }),
  body: row('broken body', (code) => `refused body ${code}`, 'broken body', {
    'bare-lf': 'broken body',
    // Reads on while it talks: the whole message went out.
    endless: 'broken dot, may be duplicate',
  }),
  dot: row('broken dot, may be duplicate', (code) => `refused dot ${code}`, 'accepted 250'),
  rset: always('refused rcpt 550'),
  quit: always('accepted 250'),
};

/** Where PIPELINING answers come in one batch, the surplus is noticed one or two replies later. */
const PIPELINED: Partial<Record<HostileStage, Partial<Row>>> = {
  mail: { extra: 'broken data' },
};

interface Variant {
  hasPipelining: boolean;
  isSecure: boolean;
}

const identity = testAuthority().issue(['mx.test']);
let openBefore = 0;

beforeAll(() => {
  openBefore = descriptors().length;
});

for (const stage of STAGES) {
  test(
    `${stage}: 16 behaviours`,
    () => runRow(stage, { hasPipelining: false, isSecure: false }),
    ROW_MS,
  );
}
for (const stage of ['mail', 'rcpt', 'data', 'body', 'dot', 'rset'] as const) {
  test(
    `${stage}: 16 behaviours, pipelined`,
    () => runRow(stage, { hasPipelining: true, isSecure: false }),
    ROW_MS,
  );
}
for (const stage of ['body', 'dot'] as const) {
  test(
    `${stage}: 16 behaviours, pipelined under TLS`,
    () => runRow(stage, { hasPipelining: true, isSecure: true }),
    ROW_MS,
  );
}

test('no descriptor is left', async () => {
  expect(openBefore).toBeGreaterThan(0);
  await waitFor(() => descriptors().length <= openBefore);
  expect(descriptors().length).toBeLessThanOrEqual(openBefore);
});

async function runRow(stage: HostileStage, variant: Variant): Promise<void> {
  const expected = { ...EXPECTED[stage], ...(variant.hasPipelining ? PIPELINED[stage] : {}) };
  const seen: Partial<Row> = {};
  const waiting = [...BEHAVIOURS];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      seen[next] = await runCell(stage, next, variant);
    }
  };
  await Promise.all(Array.from({ length: stage === 'body' ? PARALLEL_BODIES : PARALLEL }, work));
  // Both ends share one thread with seven other cells: what went wrong for want of time goes right alone.
  for (const behaviour of BEHAVIOURS) {
    for (let again = 0; again < RETRIES && seen[behaviour] !== expected[behaviour]; again++) {
      seen[behaviour] = await runCell(stage, behaviour, variant);
    }
  }
  expect(seen as Row).toEqual(expected);
}

/** The outcome in words, and whatever is wrong beside it. */
async function runCell(
  stage: HostileStage,
  behaviour: Behaviour,
  variant: Variant,
): Promise<string> {
  if (stage === 'connect' && behaviour === 'refuse') return runClosedPort();
  if (stage === 'connect' && behaviour === 'silence') return runDeafPort();
  const needsTls = variant.isSecure || ['starttls', 'handshake', 'ehlo2'].includes(stage);
  const receiver = await startHostileReceiver({
    stage,
    behaviour,
    dripMs: DRIP_MS,
    hasPipelining: variant.hasPipelining,
    ...(needsTls ? { tls: identity } : {}),
  });
  try {
    const startedAt = performance.now();
    const message = stage === 'body' ? LARGE : SMALL;
    const outcome = await deliver(receiver.port, message, deadlinesFor(stage));
    // A body that is taken and never answered runs through two deadlines.
    const stages = outcome.startsWith('broken dot') && stage === 'body' ? 2 : 1;
    const problems: string[] = [];
    if (performance.now() - startedAt > stages * DEADLINE_MS + GRACE_MS) problems.push('too late');
    if (receiver.connections() !== 1) problems.push(`${receiver.connections()} connections`);
    // Before the receiver closes anything: what we gave up must be closed by us.
    await waitFor(() => !holdsSocketTo(receiver.port));
    if (holdsSocketTo(receiver.port)) problems.push('descriptor left');
    const mayHaveArrived = outcome.startsWith('accepted') || outcome.includes('dot');
    if (!mayHaveArrived && receiver.received.length > 0) problems.push('arrived');
    return [outcome, ...problems].join(', ');
  } finally {
    await receiver.stop();
  }
}

async function runClosedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return deliver(
    typeof address === 'object' ? (address?.port ?? 0) : 0,
    SMALL,
    deadlinesFor('connect'),
  );
}

async function runDeafPort(): Promise<string> {
  const deaf = await openDeafPort();
  const startedAt = performance.now();
  const outcome = await deliver(deaf.port, SMALL, deadlinesFor('connect'));
  const isLate = performance.now() - startedAt > DEADLINE_MS + GRACE_MS;
  deaf.stop();
  return isLate ? `${outcome}, too late` : outcome;
}

/** One session, one message, QUIT; the outcome in words. */
async function deliver(port: number, message: Buffer, deadlines: Deadlines): Promise<string> {
  const options: SessionOptions = {
    address: '127.0.0.1',
    port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.test',
    tls: { mode: 'opportunistic', verify: false },
    auth: null,
    deadlines,
  };
  const opened = await openSession(options);
  if (opened.kind === 'failed') {
    expect(opened.isLocal).toBe(false);
    const code = opened.reply === null ? '' : ` ${opened.reply.code}`;
    return `failed ${opened.stage}${code}${opened.tlsFailed ? ', tls' : ''}`;
  }
  const { session } = opened;
  const result = await session.send({
    from: 'sender@client.test',
    to: 'someone@hostile.test',
    message: new OutgoingMessage(message, null),
    needsSmtpUtf8: false,
    dsn: false,
  });
  if (result.kind === 'broken') expect(session.isUsable).toBe(false);
  await session.quit();
  expect(session.isUsable).toBe(false);
  switch (result.kind) {
    case 'accepted':
      return `accepted ${result.reply.code}`;
    case 'refused':
      return `refused ${result.stage} ${result.reply.code}`;
    case 'broken':
      return `broken ${result.stage}${result.mayBeDuplicate ? ', may be duplicate' : ''}`;
    case 'unsupported':
      return `unsupported ${result.extension}`;
  }
}

/** Whether a descriptor is open whose other end is `port`: a closed one has inode 0 in the kernel's table. */
function holdsSocketTo(port: number): boolean {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return rows.some((row) => {
    const columns = row.trim().split(/\s+/);
    return columns[2] === remote && columns[9] !== '0';
  });
}

/** Closing is reported a turn or two before the kernel's table shows it. */
async function waitFor(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 100 && !isTrue(); i++) await Bun.sleep(10);
}
