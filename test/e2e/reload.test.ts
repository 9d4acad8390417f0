/**
 * A reload of the compiled binary while mail is being sent through both doors: nothing that is under way is lost, what
 * has changed is used from then on, and a config or certificate that will not do changes nothing at all.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { createTransport } from 'nodemailer';

import { RawClient } from '../smtp/raw-client.ts';
import { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';

const LOAD_CLIENTS = 3;
const ca = testAuthority().cert;
const folder = mkdtempSync(join(tmpdir(), 'postrider-reload-'));
const file = (name: string): string => join(folder, name);

let appliance: BinaryAppliance;
let token: string;
let httpPort: number;
let smtpPort: number;

/** Puts a new pair for this name where the config looks for the door's. */
function install(door: 'http' | 'smtp', name: string): void {
  const made = testAuthority().issue([name, 'localhost', '127.0.0.1']);
  copyFileSync(made.certFile, file(`${door}.pem`));
  copyFileSync(made.keyFile, file(`${door}.key`));
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
  token = String(made['token']);
  await appliance.start();
  const ready = await appliance.log.first(({ event }) => event === 'ready');
  httpPort = Number(new URL(appliance.url).port);
  smtpPort = Number(/:(\d+)$/.exec(String(ready['submissions']))?.[1]);
});

afterAll(async () => {
  await appliance.stop();
  rmSync(folder, { recursive: true });
});

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

const emailTo = (count: number): string =>
  JSON.stringify({
    from: 'a@example.org',
    to: Array.from({ length: count }, (_, at) => `delivered+${at}@sandbox.test`),
    subject: 's',
    text: 't',
  });

/** A request on one of the agent's connections; rejects when it is not answered. */
function ask(
  options: { agent: Agent | false; method?: string; path?: string },
  write: (call: ReturnType<typeof request>) => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const place = { host: '127.0.0.1', port: httpPort, ca, headers };
    const call = request({ method: 'POST', path: '/emails', ...place, ...options }, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
      );
    });
    call.once('error', reject);
    write(call);
  });
}

function send(agent: Agent | false, recipients = 1): Promise<Answer> {
  const text = emailTo(recipients);
  return ask({ agent }, (call) => {
    call.setHeader('content-length', text.length);
    call.end(text);
  });
}

async function readsAllowed(): Promise<number> {
  const read = { agent: false, method: 'GET', path: '/emails' } as const;
  const { headers } = await ask(read, (call) => call.end());
  return Number(headers['ratelimit-limit']);
}

/** The common name that a new handshake is shown. */
function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.end();
    });
    socket.once('error', reject);
  });
}

async function openSession(): Promise<RawClient> {
  const client = await RawClient.openTls({ host: '127.0.0.1', port: smtpPort });
  await client.hello();
  const login = Buffer.from(`\0any\0${token}`).toString('base64');
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

/** Everything that a reload may change, as it is seen from outside. */
async function state(): Promise<object> {
  return {
    http: await shown(httpPort),
    smtp: await shown(smtpPort),
    readsAllowed: await readsAllowed(),
    threeRecipients: (await send(false, 3)).status,
    overSmtp: await recipientsTaken(3),
  };
}

/** Sends without a pause on every kind of connection until it is told to stop. */
function startLoad(): { stop(): Promise<{ answers: Answer[]; replies: string[] }> } {
  const done = new AbortController();
  const answers: Answer[] = [];
  const replies: string[] = [];
  const agents = Array.from(
    { length: LOAD_CLIENTS },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  );
  const overHttp = [...agents, ...agents.map(() => false as const)].map(async (agent) => {
    while (!done.signal.aborted) answers.push(await send(agent));
  });
  const pooled = { pool: true, maxConnections: 1, maxMessages: Infinity };
  const overSmtp = [pooled, pooled, {}].map(async (options) => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: smtpPort,
      secure: true,
      tls: { ca, servername: 'localhost' },
      auth: { user: 'any', pass: token },
      ...options,
    });
    const mail = { from: 'a@example.org', to: 'delivered@sandbox.test', subject: 's', text: 't' };
    while (!done.signal.aborted) replies.push((await transport.sendMail(mail)).response);
    transport.close();
  });
  const load = Promise.all([...overHttp, ...overSmtp]);
  return {
    async stop() {
      done.abort();
      await load;
      for (const agent of agents) agent.destroy();
      return { answers, replies };
    },
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
  const load = startLoad();
  // Under way while everything changes: a request with half its body, a message between RCPT and DATA.
  const [text, begun] = [emailTo(1), Promise.withResolvers<() => void>()];
  const slow = ask({ agent: false }, (call) => {
    call.setHeader('content-length', text.length);
    call.write(text.slice(0, 20), () => begun.resolve(() => call.end(text.slice(20))));
  });
  const session = await openSession();
  await session.command('MAIL FROM:<a@example.org>');
  await session.command('RCPT TO:<delivered@sandbox.test>');
  const endSlow = await begun.promise;

  for (const round of ['middle', 'second']) {
    install('http', `${round}-http.example`);
    install('smtp', `${round}-smtp.example`);
    writeConfig(SECOND);
    const done = await appliance.json(['reload']);
    expect(done).toEqual({ needs_restart: [], new_certificate: true });
    for (let time = 0; time < 10; time += 1) {
      expect(await shown(httpPort)).toBe(`${round}-http.example`);
      expect(await shown(smtpPort)).toBe(`${round}-smtp.example`);
    }
  }
  endSlow();
  expect((await slow).status).toBe(200);
  expect(await session.command('DATA')).toStartWith('354');
  expect(await session.command('From: a@example.org\r\nSubject: s\r\n\r\nt\r\n.')).toStartWith(
    '250 2.0.0',
  );
  session.close();

  const { answers, replies } = await load.stop();
  expect(answers.length).toBeGreaterThan(4 * LOAD_CLIENTS);
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(replies.length).toBeGreaterThan(6);
  expect(replies.filter((reply) => !reply.startsWith('250 2.0.0 OK sent'))).toEqual([]);
  expect(await state()).toEqual({
    http: 'second-http.example',
    smtp: 'second-smtp.example',
    readsAllowed: 2_222,
    threeRecipients: 422,
    overSmtp: ['250', '250', '452'],
  });
}, 30_000);

/** What stands on disk is made good again at the end, so that the next row begins with it. */
async function refuses(what: () => void, words: string, exitCode: number): Promise<void> {
  const before = await state();
  what();
  appliance.log.clear();
  appliance.hangUp();
  const logged = await appliance.log.first(({ event }) => event === 'reload refused');
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
    'the key does not belong to the certificate',
  ],
  ['a file that is none', () => writeFileSync(file('smtp.pem'), 'hello'), 'is no certificate'],
  [
    'a chain that is broken behind its first certificate',
    () => {
      const whole = readFileSync(file('smtp.pem'), 'utf8');
      writeFileSync(file('smtp.pem'), whole + whole.replace(/MII/, 'XXX'));
    },
    'is no certificate',
  ],
])(
  '%s changes nothing, not even the config and the certificate of the other door',
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

test('what needs a restart is named and waits; the rest is taken over', async () => {
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
  expect(run.stderr).toContain('no server runs');
});
