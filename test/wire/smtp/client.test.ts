/**
 * Sessions against a receiver whose every reply is chosen: extensions, AUTH, reuse, refusals, local trouble.
 */
import { afterEach, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession } from '../../../src/wire/smtp/client.ts';
import type { SessionOptions, SmtpSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import type { Envelope } from '../../../src/wire/smtp/transaction.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedOptions, ScriptedSmtp } from '../../rig/scripted-smtp.ts';

const MESSAGE = Buffer.from('Subject: test\r\n\r\nhello\r\n');

let server: ScriptedSmtp;
const sessions: SmtpSession[] = [];

afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await server?.stop();
});

async function start(options: ScriptedOptions = {}): Promise<void> {
  server = await startScriptedSmtp(options);
}

function settings(changes: Partial<SessionOptions> = {}): SessionOptions {
  return {
    address: '127.0.0.1',
    port: server.port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.test',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: { ...PRODUCTION_DEADLINES, connect: 2000, rset: 5_000 },
    ...changes,
  };
}

async function open(changes: Partial<SessionOptions> = {}): Promise<SmtpSession> {
  const result = await openSession(settings(changes));
  if (result.kind !== 'ready') throw new Error(`not ready: ${JSON.stringify(result)}`);
  sessions.push(result.session);
  return result.session;
}

type Changes = Partial<Envelope> & { bytes?: Buffer; data?: Buffer };

function envelope({ bytes = MESSAGE, data, ...changes }: Changes = {}): Envelope {
  return {
    from: 'from@client.test',
    to: 'to@scripted.test',
    message: new OutgoingMessage(bytes, data ?? null),
    needsSmtpUtf8: false,
    dsn: false,
    ...changes,
  };
}

describe('a transaction', () => {
  test('says what RFC 5321 wants, no more', async () => {
    await start();
    const session = await open();
    const result = await session.send(envelope());
    expect(result).toEqual({
      kind: 'accepted',
      reply: { code: 250, enhanced: '2.0.0', text: 'ok' },
    });
    await session.quit();
    expect(server.lines).toEqual([
      'EHLO client.test',
      'MAIL FROM:<from@client.test>',
      'RCPT TO:<to@scripted.test>',
      'DATA',
      'QUIT',
    ]);
    expect(server.bodies).toEqual(['Subject: test\r\n\r\nhello']);
  });

  test("data at hand are sent as they are, and the size said is the message's", async () => {
    await start({ keywords: ['SIZE'] });
    const session = await open();
    const message = Buffer.from('Subject: test\r\n\r\nhello\r\n');
    const data = Buffer.from('Subject: test\r\n\r\nHELLO\r\n.\r\n');
    expect((await session.send(envelope({ bytes: message, data }))).kind).toBe('accepted');
    expect(server.bodies).toEqual(['Subject: test\r\n\r\nHELLO']);
    expect(server.lines).toContain(`MAIL FROM:<from@client.test> SIZE=${message.length}`);
  });

  test('the null return path is <>', async () => {
    await start();
    await (await open()).send(envelope({ from: '' }));
    expect(server.lines).toContain('MAIL FROM:<>');
  });

  test('uses SIZE, 8BITMIME, SMTPUTF8 and DSN where offered', async () => {
    await start({ keywords: ['SIZE 100', '8bitmime', 'SMTPUTF8', 'DSN', 'PIPELINING'] });
    const session = await open();
    const message = Buffer.from('Subject: é\r\n\r\n');
    const to = 'a+b=c@scripted.test';
    await session.send(envelope({ bytes: message, needsSmtpUtf8: true, dsn: true, to }));
    expect(server.lines.slice(1, 3)).toEqual([
      `MAIL FROM:<from@client.test> SIZE=${message.length} BODY=8BITMIME SMTPUTF8 RET=HDRS`,
      'RCPT TO:<a+b=c@scripted.test> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;a+2Bb+3Dc@scripted.test',
    ]);
    expect([...session.extensions]).toEqual(['SIZE', '8BITMIME', 'SMTPUTF8', 'DSN', 'PIPELINING']);
  });

  test('asks for no notification where DSN is not offered', async () => {
    await start();
    await (await open()).send(envelope({ dsn: true }));
    expect(server.lines[2]).toBe('RCPT TO:<to@scripted.test>');
  });

  test('SMTPUTF8 that is needed and not offered: nothing is sent, the session stays usable', async () => {
    await start({ keywords: ['8BITMIME'] });
    const session = await open();
    const unsupported = { kind: 'unsupported', extension: 'SMTPUTF8' };
    expect(await session.send(envelope({ needsSmtpUtf8: true }))).toEqual(unsupported as never);
    expect(await session.send(envelope({ to: 'jörg@scripted.test' }))).toEqual(
      unsupported as never,
    );
    expect(server.lines).toEqual(['EHLO client.test']);
    expect((await session.send(envelope())).kind).toBe('accepted');
  });

  test('8-bit content where 8BITMIME is not offered: nothing is sent', async () => {
    await start();
    const session = await open();
    const result = await session.send(envelope({ bytes: Buffer.from('A: é\r\n\r\n') }));
    expect(result).toEqual({ kind: 'unsupported', extension: '8BITMIME' });
    expect(server.lines).toEqual(['EHLO client.test']);
  });

  test('refuses to put stray line ends or control characters on the wire', async () => {
    await start();
    const session = await open();
    const stray = session.send(envelope({ bytes: Buffer.from('A: b\n\r\nc') }));
    expect(stray).rejects.toThrow('CR or LF');
    const inAddress = session.send(envelope({ to: 'a@b>\r\nRCPT TO:<victim@b' }));
    expect(inAddress).rejects.toThrow('control character');
    await Promise.allSettled([stray, inAddress]);
    expect(server.lines).toEqual(['EHLO client.test']);
    expect((await session.send(envelope())).kind).toBe('accepted');
  });

  test('many messages over one session, pipelined, refused ones between', async () => {
    let wasRefused = false;
    await start({
      keywords: ['PIPELINING'],
      reply: (line) => {
        if (line === 'DATA' && wasRefused) return '503 5.5.1 no recipient';
        if (!line.startsWith('RCPT')) return undefined;
        wasRefused = line.includes('<no');
        return wasRefused ? '550-5.1.1 No such user\r\n550 5.1.1 here' : undefined;
      },
    });
    const session = await open();
    for (let i = 0; i < 20; i++) {
      const isWanted = i % 3 !== 1;
      const to = `${isWanted ? 'yes' : 'no'}@scripted.test`;
      const accepted = { kind: 'accepted', reply: { code: 250, enhanced: '2.0.0', text: 'ok' } };
      const reply = { code: 550, enhanced: '5.1.1', text: 'No such user here' };
      const refused = { kind: 'refused', stage: 'rcpt', reply };
      expect(await session.send(envelope({ to }))).toEqual(
        (isWanted ? accepted : refused) as never,
      );
    }
    expect(session.sent).toBe(13);
    expect(server.bodies).toHaveLength(13);
    expect(server.remoteAddresses).toHaveLength(1);
  });

  test('a server that wants data after refusing the only recipient gets none', async () => {
    await start({
      keywords: ['PIPELINING'],
      reply: (line) => (line.startsWith('RCPT') ? '550 5.1.1 no such user' : undefined),
    });
    const session = await open();
    const result = await session.send(envelope());
    expect(result).toMatchObject({ kind: 'refused', stage: 'rcpt', reply: { code: 550 } });
    expect(session.isUsable).toBe(false);
    expect(server.bodies).toEqual([]);
  });

  test('RSET after a refused recipient, and the session goes on', async () => {
    await start({
      reply: (line) => (line.startsWith('RCPT TO:<no') ? '450 4.2.1 busy' : undefined),
    });
    const session = await open();
    expect((await session.send(envelope({ to: 'no@scripted.test' }))).kind).toBe('refused');
    expect(server.lines.at(-1)).toBe('RSET');
    expect(session.isUsable).toBe(true);
    expect((await session.send(envelope())).kind).toBe('accepted');
  });

  test.each([
    ['MAIL', { MAIL: '421 4.3.2 closing', RCPT: null, DATA: null }, 421],
    ['RCPT', { RCPT: '421 4.3.2 closing', DATA: null }, 421],
    ['RCPT, the sender refused', { MAIL: '550 5.1.8 no', RCPT: '421 4.3.2', DATA: null }, 550],
  ])('421 to %s of a pipelined opening ends it, though nobody hangs up', async (_, said, code) => {
    const replies: Record<string, string | null> = said;
    await start({ keywords: ['PIPELINING'], reply: (line) => replies[line.slice(0, 4)] });
    const session = await open();
    expect(await session.send(envelope())).toMatchObject({ kind: 'refused', reply: { code } });
    expect(session.isUsable).toBe(false);
    expect(server.lines.at(-1)).toBe('DATA');
  });

  test('421 between messages: the session is not usable, and nothing was lost', async () => {
    await start();
    const session = await open();
    await session.send(envelope());
    server.say('421 4.4.2 idle too long\r\n');
    while (session.isUsable) await Bun.sleep(1);
    const result = await session.send(envelope());
    expect(result).toMatchObject({ kind: 'broken', stage: 'mail', mayBeDuplicate: false });
    expect(result).toMatchObject({ reply: { code: 421, enhanced: '4.4.2' } });
  });

  test('one message at a time', async () => {
    await start();
    const session = await open();
    const first = session.send(envelope());
    expect(session.isUsable).toBe(false);
    expect(session.send(envelope())).rejects.toThrow('another message');
    expect((await first).kind).toBe('accepted');
    expect(session.isUsable).toBe(true);
  });
});

describe('opening', () => {
  test('falls back to HELO for servers from before 1995', async () => {
    await start({ reply: (line) => (line.startsWith('EHLO') ? '500 what?' : undefined) });
    const session = await open({ tls: { mode: 'opportunistic', verify: false } });
    expect(session.extensions.size).toBe(0);
    expect((await session.send(envelope())).kind).toBe('accepted');
    expect(server.lines.slice(0, 2)).toEqual(['EHLO client.test', 'HELO client.test']);
  });

  test('never falls back to HELO where TLS is required', async () => {
    await start({ reply: (line) => (line.startsWith('EHLO') ? '500 what?' : undefined) });
    const result = await openSession(settings({ tls: { mode: 'required', verify: false } }));
    expect(result).toMatchObject({ kind: 'failed', stage: 'ehlo', reply: { code: 500 } });
    expect(server.lines).toEqual(['EHLO client.test']);
  });

  test('a busy banner is a refusal with its text', async () => {
    await start({ banner: '554-5.7.1 You are on a list\r\n554 5.7.1 see https://list.test' });
    expect(await openSession(settings())).toEqual({
      kind: 'failed',
      stage: 'banner',
      reply: { code: 554, enhanced: '5.7.1', text: 'You are on a list see https://list.test' },
      cause: 'refused',
      isLocal: false,
      tlsFailed: false,
    });
  });

  test('sends from the configured source address', async () => {
    await start();
    await open({ localAddress: '127.0.0.2' });
    expect(server.remoteAddresses).toEqual(['127.0.0.2']);
  });

  test('a source address that this machine has not is local trouble', async () => {
    await start();
    const result = await openSession(settings({ localAddress: '192.0.2.1' }));
    expect(result).toMatchObject({ kind: 'failed', stage: 'connect', isLocal: true });
    expect(result).toMatchObject({ cause: expect.stringContaining('192.0.2.1 is not an address') });
  });

  test('a host name is never dialled', async () => {
    await start();
    const result = await openSession(settings({ address: 'localhost' }));
    expect(result).toMatchObject({ kind: 'failed', stage: 'connect', isLocal: true });
    expect(server.remoteAddresses).toEqual([]);
  });

  test('abort ends a session that waits for its banner, and one that was aborted before', async () => {
    await start({ banner: '220-wait' });
    const stop = new AbortController();
    const opening = openSession(settings({ signal: stop.signal }));
    while (server.remoteAddresses.length === 0) await Bun.sleep(1);
    stop.abort();
    expect(await opening).toMatchObject({ kind: 'failed', cause: 'stopped', isLocal: true });
    const late = await openSession(settings({ signal: stop.signal }));
    expect(late).toMatchObject({ kind: 'failed', stage: 'connect', isLocal: true });
  });
});

describe('AUTH', () => {
  const auth = { username: 'user', password: 'pä ss' };
  const plain = Buffer.from('\0user\0pä ss').toString('base64');

  test('PLAIN in one step', async () => {
    await start({
      keywords: ['AUTH LOGIN PLAIN'],
      reply: (line) => (line === `AUTH PLAIN ${plain}` ? '235 2.7.0 ok' : undefined),
    });
    await open({ auth });
    expect(server.lines.at(-1)).toBe(`AUTH PLAIN ${plain}`);
  });

  test('LOGIN where PLAIN is not offered, also in the old spelling', async () => {
    const replies = ['334 VXNlcm5hbWU6', '334 UGFzc3dvcmQ6', '235 ok'];
    await start({
      keywords: ['AUTH=LOGIN'],
      reply: (line) => (line.startsWith('EHLO') ? undefined : replies.shift()),
    });
    await open({ auth });
    expect(server.lines.slice(1)).toEqual([
      'AUTH LOGIN',
      Buffer.from('user').toString('base64'),
      Buffer.from('pä ss').toString('base64'),
    ]);
  });

  test('a wrong password is a refusal at auth', async () => {
    await start({
      keywords: ['AUTH PLAIN'],
      reply: (line) => (line.startsWith('AUTH') ? '535 5.7.8 bad credentials' : undefined),
    });
    const result = await openSession(settings({ auth }));
    expect(result).toMatchObject({ kind: 'failed', stage: 'auth', reply: { enhanced: '5.7.8' } });
  });

  test('no common mechanism', async () => {
    await start({ keywords: ['AUTH GSSAPI'] });
    const result = await openSession(settings({ auth }));
    expect(result).toMatchObject({ kind: 'failed', stage: 'auth', reply: null });
  });

  test('credentials never go out in plaintext unless the config says none', async () => {
    await start({ keywords: ['AUTH PLAIN'] });
    const result = await openSession(
      settings({ auth, tls: { mode: 'opportunistic', verify: false } }),
    );
    expect(result).toMatchObject({ kind: 'failed', stage: 'auth' });
    expect(server.lines).toEqual(['EHLO client.test']);
  });
});

test('production deadlines are those of RFC 5321 section 4.5.3.2 and docs/reliability.md R12', () => {
  const seconds = Object.fromEntries(
    Object.entries(PRODUCTION_DEADLINES).map(([stage, ms]) => [stage, ms / 1000]),
  );
  expect(seconds).toMatchObject({
    connect: 30,
    banner: 300,
    ehlo: 300,
    mail: 300,
    rcpt: 300,
    data: 120,
    body: 180,
    dot: 600,
    quit: 5,
  });
  expect(PRODUCTION_DEADLINES.bodyBytesPerSecond).toBe(500);
});

test('a body below the rate floor ends, though no block is late', async () => {
  const slow = createServer((socket) => {
    let text = '';
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      if (text.endsWith('DATA')) {
        // A sip of at most half a megabyte, a pause.
        socket.pause();
        setTimeout(() => socket.resume(), 150);
        return;
      }
      for (const line of chunk.toString().trimEnd().split('\r\n')) {
        text = line;
        socket.write(line === 'DATA' ? '354 go on\r\n' : '250 ok\r\n');
      }
    });
    socket.write('220 slow.test\r\n');
  });
  await new Promise<void>((resolve) => void slow.listen(0, '127.0.0.1', resolve));
  await start();
  const { port } = slow.address() as AddressInfo;
  // A socket may be written again only when a third of its buffer is free: with these sips after at most 0.5 s.
  const deadlines = { ...PRODUCTION_DEADLINES, body: 1_500, bodyBytesPerSecond: 192_000_000 };
  const session = await open({ port, deadlines });
  // Far more than the two kernels' buffers (10 MB by default, 38 MB where seen) and the sips of 2 s (7 MB) take together.
  const message = Buffer.alloc(96_000_000, 'steady drops, 16\r\n'.slice(2));
  const startedAt = performance.now();
  const result = await session.send(envelope({ bytes: message }));
  const tookMs = performance.now() - startedAt;
  expect(result).toMatchObject({ kind: 'broken', stage: 'body', cause: 'timeout' });
  expect(result).toMatchObject({ mayBeDuplicate: false });
  // 1.5 s of grace and 0.5 s for 96 MB at 192 MB/s, and what a busy machine adds.
  expect(tookMs).toBeGreaterThanOrEqual(1_990);
  expect(tookMs).toBeLessThan(10_000);
  slow.close();
});
