/**
 * A reload of the compiled binary while clients send mail over HTTP and SMTP: nothing under way is lost, what has changed
 * is used from then on, and a config or certificate that cannot be used changes nothing.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';

import { RawClient } from '../smtp/raw-client.ts';
import { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { LOAD_CLIENTS, ask, emailTo, send, shownCertificate, startLoad } from '../rig/tls-load.ts';
import type { Listeners } from '../rig/tls-load.ts';

const folder = mkdtempSync(join(tmpdir(), 'postrider-reload-'));
const file = (name: string): string => join(folder, name);

let appliance: BinaryAppliance;
let listeners: Listeners;

/** Puts a new pair for this name where the config looks for the listener's. */
function install(listener: 'http' | 'smtp', name: string): void {
  const made = testAuthority().issue([name, 'localhost', '127.0.0.1']);
  copyFileSync(made.certFile, file(`${listener}.pem`));
  copyFileSync(made.keyFile, file(`${listener}.key`));
}

interface Values {
  recipients: number;
  readsPerMinute: number;
  region?: string;
  /** Behind everything else. */
  more?: string;
}

function writeConfig({
  recipients,
  readsPerMinute,
  region = 'us-east-1',
  more = '',
}: Values): void {
  appliance.writeConfig(
    'mail.rig.test',
    `tls_cert = "${file('http.pem')}"
tls_key = "${file('http.key')}"
[smtp]
inbound = "127.0.0.1:0"
submission = ["127.0.0.1:0"]
submissions = ["127.0.0.1:0"]
tls_cert = "${file('smtp.pem')}"
tls_key = "${file('smtp.key')}"
[api]
region = "${region}"
[limits]
recipients = ${recipients}
[[plans]]
id = "load"
rate_per_second = 10000
reads_per_minute = ${readsPerMinute}
${more}`,
  );
}

const FIRST: Values = { recipients: 3, readsPerMinute: 1_111 };
const SECOND: Values = { recipients: 2, readsPerMinute: 2_222 };

beforeAll(async () => {
  install('http', 'first-http.example');
  install('smtp', 'first-smtp.example');
  appliance = await BinaryAppliance.create();
  writeConfig(FIRST);
  await appliance.json(['account', 'create', 'load', '--plan', 'load']);
  const rights = ['--permission', 'full_access', '--test'];
  const made = await appliance.json([
    'key',
    'create',
    '--account',
    'load',
    '--name',
    'k',
    ...rights,
  ]);
  await appliance.start();
  const ready = await appliance.log.first(({ event }) => event === 'ready');
  listeners = {
    httpPort: Number(new URL(appliance.url).port),
    smtpPort: portOf(ready['submissions']),
    startTlsPort: portOf(ready['submission']),
    inboundPort: portOf(ready['inbound']),
    token: String(made['token']),
    ca: [testAuthority().cert],
    name: 'localhost',
  };
});

afterAll(async () => {
  await appliance.stop();
  rmSync(folder, { recursive: true });
});

function portOf(address: unknown): number {
  return Number(/:(\d+)$/.exec(String(address))?.[1]);
}

async function readsAllowed(): Promise<number> {
  const read = { agent: false, method: 'GET', path: '/emails' } as const;
  const { headers } = await ask(listeners, read, (call) => call.end());
  return Number(headers['ratelimit-limit']);
}

/** The common name that a new handshake is shown. */
async function shown(port: number): Promise<string> {
  return String((await shownCertificate(listeners, port)).subject.CN);
}

async function openSession(): Promise<RawClient> {
  const client = await RawClient.openTls({ host: '127.0.0.1', port: listeners.smtpPort });
  await client.hello();
  const login = Buffer.from(`\0any\0${listeners.token}`).toString('base64');
  expect(await client.command(`AUTH PLAIN ${login}`)).toStartWith('235');
  return client;
}

/** The replies to as many RCPT TO of one message. */
async function recipientsTaken(count: number): Promise<string[]> {
  const client = await openSession();
  await client.command('MAIL FROM:<a@example.org>');
  const replies: string[] = [];
  for (let at = 0; at < count; at += 1) {
    replies.push((await client.command(`RCPT TO:<delivered+${at}@sandbox.test>`)).slice(0, 3));
  }
  client.close();
  return replies;
}

function nameOf({ socket }: RawClient): string {
  if (!(socket instanceof TLSSocket)) throw new Error('no TLS');
  return String(socket.getPeerCertificate().subject.CN);
}

/** Everything that a reload may change, as a client sees it. */
async function state(): Promise<object> {
  return {
    http: await shown(listeners.httpPort),
    smtp: await shown(listeners.smtpPort),
    readsAllowed: await readsAllowed(),
    threeRecipients: (await send(listeners, false, 3)).status,
    overSmtp: await recipientsTaken(3),
  };
}

test('under load: nothing is lost, and what has changed is used from then on', async () => {
  expect(await state()).toEqual({
    http: 'first-http.example',
    smtp: 'first-smtp.example',
    readsAllowed: 1_111,
    threeRecipients: 200,
    overSmtp: ['250', '250', '250'],
  });
  const load = startLoad(listeners);
  // Under way while everything changes: a request with half its body, a message between RCPT and DATA.
  const [text, begun] = [emailTo(1), Promise.withResolvers<() => void>()];
  const slow = ask(listeners, { agent: false }, (call) => {
    call.setHeader('content-length', text.length);
    call.write(text.slice(0, 20), () => begun.resolve(() => call.end(text.slice(20))));
  });
  const session = await openSession();
  await session.command('MAIL FROM:<a@example.org>');
  await session.command('RCPT TO:<delivered@sandbox.test>');
  const endSlow = await begun.promise;
  // At port 25: a report between RCPT and DATA, and a session that asks for TLS only when everything has changed.
  const inbound = { host: '127.0.0.1', port: listeners.inboundPort ?? 0 };
  const report = await RawClient.open(inbound);
  await report.hello(true);
  await report.command('MAIL FROM:<>');
  expect(await report.command('RCPT TO:<abuse@mail.rig.test>')).toStartWith('250');
  const waiting = await RawClient.open(inbound);
  await waiting.hello();

  for (const round of ['middle', 'second']) {
    install('http', `${round}-http.example`);
    install('smtp', `${round}-smtp.example`);
    writeConfig(SECOND);
    const done = await appliance.json(['reload']);
    expect(done).toEqual({ needs_restart: [], new_certificate: true });
    for (let time = 0; time < 10; time += 1) {
      expect(await shown(listeners.httpPort)).toBe(`${round}-http.example`);
      expect(await shown(listeners.smtpPort)).toBe(`${round}-smtp.example`);
    }
  }
  endSlow();
  expect((await slow).status).toBe(200);
  expect(await session.command('DATA')).toStartWith('354');
  expect(await session.command('From: a@example.org\r\nSubject: s\r\n\r\nt\r\n.')).toStartWith(
    '250 2.0.0',
  );
  session.close();
  expect(await report.command('DATA')).toStartWith('354');
  expect(await report.command('Subject: s\r\n\r\nt\r\n.')).toStartWith('250');
  report.close();
  expect(await waiting.command('STARTTLS')).toStartWith('220');
  await waiting.upgrade();
  expect(nameOf(waiting)).toBe('second-smtp.example');
  expect(await waiting.command('EHLO client.example')).toStartWith('250');
  waiting.close();

  for (const reply of ['250 2.0.0 OK sent', '250 2.0.0 OK'])
    await load.replies.atLeast(7, (one) => one.startsWith(reply));
  await load.stop();
  const [answers, replies] = [load.answers.items, load.replies.items];
  expect(answers.length).toBeGreaterThan(4 * LOAD_CLIENTS);
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(replies.length).toBeGreaterThan(6);
  // Submitted mail is `sent` at once with a sandbox key; what comes in is taken without a word more.
  expect(replies.filter((reply) => reply.startsWith('250 2.0.0 OK sent')).length).toBeGreaterThan(
    6,
  );
  expect(replies.filter((reply) => reply === '250 2.0.0 OK').length).toBeGreaterThan(2);
  expect(replies.filter((reply) => !reply.startsWith('250 2.0.0 OK'))).toEqual([]);
  expect(await state()).toEqual({
    http: 'second-http.example',
    smtp: 'second-smtp.example',
    readsAllowed: 2_222,
    threeRecipients: 422,
    overSmtp: ['250', '250', '452'],
  });
}, 60_000);

/** Puts the files on disk right again at the end, so that the next row begins with them. */
async function refuses(what: () => void, words: string, exitCode: number): Promise<void> {
  const before = await state();
  what();
  appliance.log.clear();
  appliance.hangUp();
  const logged = await appliance.log.first(({ event }) => event === 'reload_refused');
  expect(logged.level).toBe('error');
  expect(JSON.stringify(logged)).toContain(words);
  expect(String(logged['hint'])).not.toBe('');
  const told = await appliance.run(['reload']);
  expect([told.code, told.stdout]).toEqual([exitCode, '']);
  expect(told.stderr).toContain(words);
  expect(await state()).toEqual(before);
  install('http', 'second-http.example');
  install('smtp', 'second-smtp.example');
  writeConfig(SECOND);
}

const OTHER: Values = { recipients: 9, readsPerMinute: 3_333 };

test('a config with a mistake changes nothing, not even the certificates beside it', async () => {
  await refuses(
    () => {
      install('http', 'third-http.example');
      install('smtp', 'third-smtp.example');
      writeConfig({ ...OTHER, more: '[brake]\nbounces = 1' });
    },
    'brake.bounces',
    78,
  );
});

test.each([
  [
    'a key that belongs to another certificate',
    () => copyFileSync(testAuthority().issue(['x.example']).keyFile, file('smtp.key')),
    'the private key does not match the certificate',
  ],
  [
    'a file that is not a certificate',
    () => writeFileSync(file('smtp.pem'), 'hello'),
    'does not contain a usable certificate',
  ],
  [
    'a chain that is broken behind its first certificate',
    () => {
      const whole = readFileSync(file('smtp.pem'), 'utf8');
      writeFileSync(file('smtp.pem'), whole + whole.replace(/MII/, 'XXX'));
    },
    'does not contain a usable certificate',
  ],
])(
  '%s changes nothing, not even the config and the certificate of the other listener',
  async (_, spoil, words) => {
    await refuses(
      () => {
        install('http', 'third-http.example');
        install('smtp', 'third-smtp.example');
        writeConfig(OTHER);
        spoil();
      },
      words,
      78,
    );
  },
);

test('a key that needs a restart is named and waits; the rest is taken over', async () => {
  writeConfig({
    ...FIRST,
    more: '[webhooks]\nallow_networks = ["10.0.0.0/8"]\n[acme]\nemail = "a@example.org"',
  });
  const run = await appliance.run(['reload']);
  expect(run.code).toBe(0);
  expect(run.stdout).toContain('webhooks.allow_networks');
  expect(await readsAllowed()).toBe(1_111);
});

test('without a server there is nothing to reload', async () => {
  await appliance.signal('SIGTERM');
  const run = await appliance.run(['reload']);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain('No server is running');
});
