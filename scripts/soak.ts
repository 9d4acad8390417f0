/**
 * The compiled binary under steady load for hours: what grows that should not?
 *
 * `scripts/soak [--minutes 240] [--rate 70] [--warm-up 10] [--every 60] [--large 500]`: a million sends and as many webhook calls by
 * default. Nine sends of ten come over HTTP, one over SMTP; pages are read and bad requests made in between. With
 * `--large 500` every five hundredth is of 0.4 to 9 MB, and is read back (`soak-large.ts`). Prints a
 * line an interval, then each figure with its verdict; ends with 1 when one fails, when a message or a call is missing,
 * or when the log has an error. Needs dist/postrider (or POSTRIDER_BINARY), and some kilobytes of disk a message.
 */
import { readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type { SendMailOptions } from 'nodemailer';

import { BinaryAppliance } from '../test/rig/binary.ts';
import { testAuthority } from '../test/rig/certificates.ts';
import { signedIn } from '../test/rig/dashboard-pages.ts';
import { startNames } from '../test/rig/names.ts';
import { freePorts } from '../test/rig/ports.ts';
import { SENDER_DOMAIN, TEXT, recipientOf, DOMAINS } from './bench-contender.ts';
import { unitEnvironment } from './bench-postrider.ts';
import type { Receipt } from './bench-receiver.ts';
import { cpuSeconds } from './bench-usage.ts';
import { scriptOptions } from './options.ts';
import { sendLarge } from './soak-large.ts';
import { LAG_SECONDS, assess, median } from './soak-verdict.ts';
import type { Sample } from './soak-verdict.ts';

const HOOK_NAME = 'hook.rig.test';
/** How often numbers are read within an interval. */
const READ_MS = 5_000;
const TICK_MS = 100;
/** Requests that may be unanswered; beyond them the load waits, and the rate shows it. */
const UNANSWERED_MAX = 50;
const DRAIN_MS = 120_000;

const { values } = scriptOptions({
  options: {
    minutes: { type: 'string', default: '240' },
    rate: { type: 'string', default: '70' },
    'warm-up': { type: 'string', default: '10' },
    every: { type: 'string', default: '60' },
    large: { type: 'string', default: '0' },
  },
});
const [runMs, rate] = [Number(values.minutes) * 60_000, Number(values.rate)];
/** 0: none is large. */
const largeEach = Number(values.large);
const [warmUpMs, everyMs] = [Number(values['warm-up']) * 60_000, Number(values.every) * 1_000];

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const counts = { sent: 0, refused: 0, calls: 0, errors: 0 };

/** A receiver in a process of its own, which counts. */
function startReceiver(port: number): { receipt(): Receipt; stop(): void } {
  let receipt: Receipt = { count: 0, unsigned: 0, lastAt: 0 };
  const program = join(import.meta.dir, 'bench-receiver.ts');
  const child = Bun.spawn([process.execPath, program, String(port)], {
    ipc: (message) => void (receipt = message as Receipt),
  });
  return { receipt: () => receipt, stop: () => child.kill() };
}

async function startHook(): Promise<{ port: number; stop(): void }> {
  const { key, cert } = testAuthority().issue([HOOK_NAME]);
  const server = createServer({ key, cert }, (request, response) => {
    request.resume().on('end', () => {
      counts.calls += 1;
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the hook has no port');
  return { port: address.port, stop: () => server.closeAllConnections() };
}

const [names, [receiverPort = 0]] = [await startNames(), await freePorts(1)];
const [receiver, hook] = [startReceiver(receiverPort), await startHook()];
names.set(HOOK_NAME, 'A', ['127.0.0.1']);
for (let index = 0; index < DOMAINS; index += 1) {
  names.set(`bench${index}.test`, 'MX', [`10 mx.bench${index}.test`]);
  names.set(`mx.bench${index}.test`, 'A', [`127.0.1.${index + 1}`]);
}
const appliance = await BinaryAppliance.create({
  env: unitEnvironment(),
  config: `[smtp]
submissions = ["127.0.0.1:0"]
[delivery]
port = ${receiverPort}
allow_networks = ["127.0.0.0/8"]
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"
[webhooks]
allow_networks = ["127.0.0.0/8"]
[api]
single_send = "full"
[retention]
bodies = "${largeEach > 0 ? '90s' : '0'}"
[[plans]]
id = "soak"
rate_per_second = 100000
reads_per_minute = 1000000`,
});
await appliance.json(['account', 'create', 'soak', '--plan', 'soak']);
const rights = ['--permission', 'full_access', '--name', 'soak'];
const made = await appliance.json(['key', 'create', '--account', 'soak', ...rights]);
const token = String(made['token']);
const added = await appliance.json(['domain', 'add', SENDER_DOMAIN, '--account', 'soak']);
const records = added['records'] as { type: 'TXT' | 'CNAME'; name: string; value: string }[];
for (const { type, name, value } of records) names.set(name, type, [value]);
await appliance.json(['domain', 'verify', SENDER_DOMAIN]);
await appliance.start();
const ready = await appliance.log.first(({ event }) => event === 'ready');

const ask = (method: string, path: string, body?: unknown): Promise<Response> =>
  appliance.api(method, path, body, { authorization: `Bearer ${token}` });
const endpoint = `https://${HOOK_NAME}:${hook.port}/hook`;
const listening = await ask('POST', '/webhooks', { endpoint, events: ['email.delivered'] });
if (listening.status !== 201) throw new Error(await listening.text());
const transport = createTransport({
  host: '127.0.0.1',
  port: Number(/:(\d+)$/.exec(String(ready['submissions']))?.[1]),
  secure: true,
  pool: true,
  maxConnections: 2,
  tls: { rejectUnauthorized: false },
  auth: { user: 'any', pass: token },
});

const dashboard = await signedIn(appliance.url, appliance.made.admin_password);
const target = {
  account: 'soak',
  ask,
  read: (path: string) => dashboard.read(path),
  submit: (mail: SendMailOptions) => transport.sendMail(mail),
};

let lastLarge: Promise<unknown> = Promise.resolve();

async function act(index: number): Promise<void> {
  const envelope = { from: `shop@${SENDER_DOMAIN}`, to: recipientOf(index), subject: 'Sent' };
  const mail = { ...envelope, text: TEXT };
  if (largeEach > 0 && index % largeEach === 0) {
    // One at a time: several together would be refused for lack of memory, as they should.
    const sent = lastLarge.then(() => sendLarge(target, index / largeEach, envelope));
    lastLarge = sent.catch(() => undefined);
    await sent;
  } else if (index % 10 === 0) {
    await transport.sendMail(mail);
  } else {
    const answer = await ask('POST', '/emails', mail);
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`a send was answered ${answer.status}`);
  }
  counts.sent += 1;
  if (index % 50 === 0) await (await ask('GET', '/emails?limit=50')).arrayBuffer();
  if (index % 50 === 25) {
    const bad = await ask('POST', '/emails', { ...mail, to: 'nobody' });
    await bad.arrayBuffer();
    if (bad.status !== 422) throw new Error(`a bad request was answered ${bad.status}`);
    counts.refused += 1;
  }
}

let unanswered = 0;
function startLoad(): () => void {
  let index = 0;
  let owed = 0;
  let at = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    owed = Math.min(owed + ((now - at) / 1000) * rate, rate);
    at = now;
    for (; owed >= 1 && unanswered < UNANSWERED_MAX; owed -= 1) {
      unanswered += 1;
      void act((index += 1))
        .catch((error: unknown) => {
          counts.errors += 1;
          say(String(error));
        })
        .finally(() => (unanswered -= 1));
    }
  }, TICK_MS);
  return () => clearInterval(timer);
}

/** The sum of a number's series whose labels include `label`. */
function sumOf(text: string, name: string, label = ''): number {
  return text
    .split('\n')
    .filter(
      (line) =>
        (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && line.includes(label),
    )
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

const numbers = async (): Promise<string> => (await fetch(`${appliance.url}/metrics`)).text();

/** All WAL files of the data directory together, in MiB. */
function walMib(): number {
  const folder = join(appliance.folder, 'data');
  const files = readdirSync(folder).filter((name) => name.endsWith('-wal'));
  return files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) / 2 ** 20;
}

async function sampleOver(ms: number): Promise<Sample> {
  const until = performance.now() + ms;
  const [rss, descriptors, wal]: [number[], number[], number[]] = [[], [], []];
  let text = '';
  do {
    await Bun.sleep(Math.min(READ_MS, Math.max(0, until - performance.now())));
    text = await numbers();
    rss.push(sumOf(text, 'process_resident_memory_bytes') / 2 ** 20);
    descriptors.push(sumOf(text, 'process_open_fds'));
    wal.push(walMib());
  } while (performance.now() < until);
  const lag = 'postrider_event_loop_lag_seconds';
  return {
    sent: counts.sent,
    rssMib: median(rss),
    descriptors: median(descriptors),
    walMib: Math.max(...wal),
    lagCount: sumOf(text, `${lag}_count`),
    lagWithin: sumOf(text, `${lag}_bucket`, `le="${LAG_SECONDS}"`),
    cpuSeconds: cpuSeconds([appliance.pid]),
  };
}

/** Error lines so far; forgets what was read, so that hours of log do not stay in memory. */
function takeErrors(): object[] {
  const errors = appliance.log.items.filter(
    ({ level, event }) => level === 'error' && event !== 'host_problem_found',
  );
  appliance.log.clear();
  return errors;
}

const errors: object[] = [];
const samples: Sample[] = [];
const began = performance.now();
const stopLoad = startLoad();
let before: Sample | null = null;
while (performance.now() - began < runMs) {
  const sample = await sampleOver(everyMs);
  errors.push(...takeErrors());
  const isWarm = performance.now() - began >= warmUpMs;
  if (isWarm) samples.push(sample);
  const sent = sample.sent - (before?.sent ?? 0);
  const cpu = ((sample.cpuSeconds - (before?.cpuSeconds ?? 0)) / Math.max(1, sent)) * 1000;
  before = sample;
  say(
    [
      `${((performance.now() - began) / 60_000).toFixed(1).padStart(6)} min`,
      `${String(sample.sent).padStart(8)} sent (${(sent / (everyMs / 1000)).toFixed(0)}/s)`,
      `${sample.rssMib.toFixed(1).padStart(7)} MiB`,
      `${String(sample.descriptors).padStart(4)} fds`,
      `${sample.walMib.toFixed(1).padStart(5)} MiB WAL`,
      `${cpu.toFixed(2)} CPU s/1,000`,
      `${String(counts.calls).padStart(8)} calls`,
      isWarm ? '' : 'warm-up',
    ].join('  '),
  );
}
stopLoad();

const drainedBy = performance.now() + DRAIN_MS;
const isDrained = (): boolean =>
  unanswered === 0 && receiver.receipt().count >= counts.sent && counts.calls >= counts.sent;
while (!isDrained() && performance.now() < drainedBy) await Bun.sleep(500);
errors.push(...takeErrors());

const { count, unsigned } = receiver.receipt();
const verdicts = [
  ...assess(samples),
  {
    what: 'mail and calls',
    isPassed: isDrained() && unsigned === 0 && counts.errors === 0,
    words: `${counts.sent} sent, ${count} received (${unsigned} unsigned), ${counts.calls} calls, ${counts.refused} refused, ${counts.errors} failed`,
  },
  { what: 'log', isPassed: errors.length === 0, words: `${errors.length} errors` },
];
for (const error of errors.slice(0, 5)) say(JSON.stringify(error));
for (const { what, isPassed, words } of verdicts) {
  const word = isPassed === null ? 'not decided' : isPassed ? 'passed' : 'FAILED';
  say(`${word.padEnd(10)}  ${what}: ${words}`);
}
transport.close();
await appliance.stop();
receiver.stop();
hook.stop();
await names.stop();
process.exit(verdicts.some(({ isPassed }) => isPassed === false) ? 1 : 0);
