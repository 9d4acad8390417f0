/** The opening of a session: when HELO follows EHLO, and how much of what a server says is kept. */
import { afterEach, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { TLSSocket } from 'node:tls';

import { openSession } from '../../../src/wire/smtp/client.ts';
import type { SessionOptions } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedOptions, ScriptedSmtp } from '../../rig/scripted-smtp.ts';

let server: ScriptedSmtp;
let upgrading: Server | null = null;
afterEach(async () => {
  await server?.stop();
  upgrading?.close();
  upgrading = null;
});

async function open(script: ScriptedOptions) {
  server = await startScriptedSmtp(script);
  return openAt(server.port, 'none');
}

function openAt(
  port: number,
  mode: SessionOptions['tls']['mode'],
  auth: SessionOptions['auth'] = null,
) {
  return openSession({
    address: '127.0.0.1',
    port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.test',
    tls: { mode, verify: false },
    auth,
    deadlines: PRODUCTION_DEADLINES,
  });
}

/** Replies to EHLO and HELO. */
const saying = (ehlo: string, helo?: string): ScriptedOptions => ({
  reply: (line) => (line.startsWith('EHLO') ? ehlo : line.startsWith('HELO') ? helo : undefined),
});

test.each([500, 501, 502, 503, 504])('%i to EHLO: HELO follows', async (code) => {
  const opened = await open(saying(`${code} what?`));
  expect(server.lines).toEqual(['EHLO client.test', 'HELO client.test']);
  expect(opened.kind).toBe('ready');
  if (opened.kind === 'ready') opened.session.destroy();
});

test.each([421, 450, 499, 505, 530, 550, 554])('%i to EHLO refuses the session', async (code) => {
  const opened = await open(saying(`${code} 5.7.1 not you`));
  expect(opened).toMatchObject({ kind: 'failed', stage: 'ehlo', reply: { code } });
  expect(server.lines).toEqual(['EHLO client.test']);
});

test('HELO may be refused too, and says why', async () => {
  const opened = await open(saying('502 what?', '550 5.7.1 Your name is on a list'));
  expect(opened).toMatchObject({
    kind: 'failed',
    stage: 'ehlo',
    reply: { code: 550, text: 'Your name is on a list' },
  });
});

test.each(['220 ready', '251 forwarded', '354 go on'])(
  'HELO answered with %s says nothing that opens a session',
  async (said) => {
    const opened = await open(saying('502 what?', said));
    expect(opened).toEqual({
      kind: 'failed',
      stage: 'ehlo',
      reply: null,
      cause: `unexpected reply: ${said}`,
      isLocal: false,
      tlsFailed: false,
    });
  },
);

test('no HELO follows an EHLO that is unknown only after the upgrade to TLS', async () => {
  const heard: string[] = [];
  const { cert, key } = testAuthority().issue(['mx.test']);
  upgrading = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      socket.write('250-mx.test\r\n250 STARTTLS\r\n');
      socket.once('data', () => {
        socket.write('220 go\r\n');
        const secured = new TLSSocket(socket, { isServer: true, cert, key });
        secured.on('error', () => socket.destroy());
        secured.on('data', (chunk: Buffer) => {
          heard.push(chunk.toString().trim());
          secured.write(heard.length === 1 ? '502 what?\r\n' : '250 mx.test\r\n');
        });
      });
    });
    socket.write('220 mx.test\r\n');
  });
  const listening = Promise.withResolvers<void>();
  upgrading.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const { port } = upgrading.address() as AddressInfo;
  expect(await openAt(port, 'opportunistic')).toMatchObject({
    kind: 'failed',
    stage: 'ehlo2',
    reply: { code: 502 },
  });
  expect(heard).toEqual(['EHLO client.test']);
});

test('a stop while TLS is asked for is our own doing, which no plaintext would repair', async () => {
  const stopping = new AbortController();
  server = await startScriptedSmtp({
    keywords: ['STARTTLS'],
    reply(line) {
      if (line !== 'STARTTLS') return undefined;
      stopping.abort();
      return null;
    },
  });
  const opened = await openSession({
    address: '127.0.0.1',
    port: server.port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.test',
    tls: { mode: 'opportunistic', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
    signal: stopping.signal,
  });
  expect(opened).toEqual({
    kind: 'failed',
    stage: 'starttls',
    reply: null,
    cause: 'stopped',
    isLocal: true,
    tlsFailed: false,
  });
});

test('mechanisms that are offered in both spellings of AUTH count together', async () => {
  for (const keywords of [
    ['AUTH PLAIN', 'AUTH=LOGIN'],
    ['AUTH=PLAIN', 'auth login'],
    ['auth plain'],
    ['auth=plain'],
  ]) {
    server = await startScriptedSmtp({
      keywords,
      reply: (line) => (line.startsWith('AUTH PLAIN ') ? '235 ok' : undefined),
    });
    const auth = { username: 'user', password: 'word' };
    const opened = await openAt(server.port, 'none', auth);
    expect([keywords, opened.kind]).toEqual([keywords, 'ready']);
    if (opened.kind === 'ready') opened.session.destroy();
    await server.stop();
  }
});

test('the first line of the reply to EHLO is a greeting, and no keyword', async () => {
  const opened = await open(saying('250-SIZE of mx.test\r\n250-X-AUTH=PLAIN b\r\n250 dsn'));
  if (opened.kind !== 'ready') throw new Error('not ready');
  expect([...opened.session.extensions]).toEqual(['X-AUTH=PLAIN', 'DSN']);
  opened.session.destroy();
});

test('of a senseless reply, however long, 500 characters are kept', async () => {
  const long = Array.from({ length: 50 }, (_, n) => `354${n < 49 ? '-' : ' '}${'x'.repeat(1_000)}`);
  const opened = await open(saying(long.join('\r\n')));
  expect(opened).toMatchObject({ kind: 'failed', stage: 'ehlo', reply: null });
  if (opened.kind === 'failed') {
    expect(opened.cause).toStartWith('unexpected reply: 354 xxx');
    expect(opened.cause).toHaveLength(500);
  }
});

test('one or two replies too many are kept until the next command, a flood ends the connection', async () => {
  const opened = await open({});
  if (opened.kind !== 'ready') throw new Error('not ready');
  const { session } = opened;
  server.say('250 one\r\n');
  while (session.isUsable) await Bun.sleep(1);
  expect(server.connections).toBe(1);
  server.say('250 more\r\n'.repeat(20));
  while (server.connections > 0) await Bun.sleep(1);
});

test.each([
  ['221 bye', null, 'unexpected reply: 221 bye'],
  ['250 hello', null, 'unexpected reply: 250 hello'],
  ['399 what', null, 'unexpected reply: 399 what'],
  ['400 later', 400, 'refused'],
  ['554 no', 554, 'refused'],
])('the banner %s is no welcome', async (banner, code, cause) => {
  const opened = await open({ banner });
  expect(opened).toMatchObject({
    kind: 'failed',
    stage: 'banner',
    reply: code === null ? null : { code },
    cause,
    isLocal: false,
    tlsFailed: false,
  });
  expect(server.lines).toEqual([]);
});

test.each([
  ['250 go', 'opportunistic', null],
  ['399 go', 'opportunistic', null],
  ['421 closing', 'opportunistic', 421],
  ['454 later', 'required', 454],
  ['501 what', 'required', 501],
] as const)('STARTTLS answered with %s in mode %s ends the session', async (reply, mode, code) => {
  server = await startScriptedSmtp({
    keywords: ['STARTTLS'],
    reply: (line) => (line === 'STARTTLS' ? reply : undefined),
  });
  expect(await openAt(server.port, mode)).toMatchObject({
    kind: 'failed',
    stage: 'starttls',
    reply: code === null ? null : { code },
    tlsFailed: true,
  });
  expect(server.lines).toEqual(['EHLO client.test', 'STARTTLS']);
});

test.each(['400 later', '454 later', '502 what'])(
  'STARTTLS answered with %s in opportunistic mode: the session goes on without',
  async (reply) => {
    server = await startScriptedSmtp({
      keywords: ['STARTTLS'],
      reply: (line) => (line === 'STARTTLS' ? reply : undefined),
    });
    const opened = await openAt(server.port, 'opportunistic');
    expect(opened).toMatchObject({ kind: 'ready', session: { tls: null } });
    if (opened.kind === 'ready') opened.session.destroy();
  },
);

test('a host that is told to use no TLS is not asked for it', async () => {
  server = await startScriptedSmtp({ keywords: ['STARTTLS'] });
  const opened = await openAt(server.port, 'none');
  expect([opened.kind, server.lines]).toEqual(['ready', ['EHLO client.test']]);
  if (opened.kind === 'ready') opened.session.destroy();
});

const AUTH = { username: 'user', password: 'word' };

test.each([
  [['535 no'], ['AUTH LOGIN'], 535],
  [['334 a', '535 no'], ['AUTH LOGIN', 'dXNlcg=='], 535],
  [['334 a', '334 b', '535 no'], ['AUTH LOGIN', 'dXNlcg==', 'd29yZA=='], 535],
  [['334 a', '334 b', '250 fine'], ['AUTH LOGIN', 'dXNlcg==', 'd29yZA=='], null],
  [['235 already'], ['AUTH LOGIN'], 'ready'],
])('AUTH LOGIN answered with %j: %j is said', async (said, lines, end) => {
  const replies = [...said];
  server = await startScriptedSmtp({
    keywords: ['AUTH CRAM-MD5 LOGIN'],
    reply: (line) => (line.startsWith('EHLO') ? undefined : replies.shift()),
  });
  const opened = await openAt(server.port, 'none', AUTH);
  expect(server.lines.slice(1)).toEqual(lines);
  if (opened.kind === 'ready') opened.session.destroy();
  else expect([opened.stage, opened.reply?.code ?? null]).toEqual(['auth', end as never]);
  expect(opened.kind === 'ready').toBe(end === 'ready');
});

test('AUTH PLAIN needs a 235', async () => {
  server = await startScriptedSmtp({
    keywords: ['AUTH PLAIN LOGIN'],
    reply: (line) => (line.startsWith('AUTH') ? '250 fine' : undefined),
  });
  expect(await openAt(server.port, 'none', AUTH)).toMatchObject({
    stage: 'auth',
    cause: 'unexpected reply: 250 fine',
  });
});

test('which mechanisms there were is said where none is common', async () => {
  for (const [keywords, offered] of [
    [['AUTH GSSAPI CRAM-MD5'], 'GSSAPI CRAM-MD5'],
    [['AUTH  GSSAPI   CRAM-MD5'], 'GSSAPI CRAM-MD5'],
    [['AUTH NTLM'], 'NTLM'],
    [['X-AUTH=PLAIN'], 'none'],
    [[], 'none'],
  ] as const) {
    server = await startScriptedSmtp({ keywords: [...keywords] });
    expect(await openAt(server.port, 'none', AUTH)).toMatchObject({
      cause: `no common AUTH mechanism; the server offers ${offered}`,
    });
    await server.stop();
  }
});
