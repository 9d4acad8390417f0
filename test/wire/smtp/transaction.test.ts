/** What is left of a session after a transaction: open for the next one, or closed for good. */
import { afterEach, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession, type SmtpSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import type { Envelope, SendResult } from '../../../src/wire/smtp/transaction.ts';
import { startScriptedSmtp, type ScriptedSmtp } from '../../rig/scripted-smtp.ts';

let server: ScriptedSmtp;
afterEach(() => server?.stop());

const ENVELOPE: Envelope = {
  from: 'from@client.test',
  to: 'to@scripted.test',
  message: new OutgoingMessage(Buffer.from('Subject: x\r\n\r\nx\r\n'), null),
  needsSmtpUtf8: false,
  dsn: false,
};

/** A session with a new server that replies so. */
async function openTo(
  script: Parameters<typeof startScriptedSmtp>[0],
  deadlines = PRODUCTION_DEADLINES,
): Promise<SmtpSession> {
  server = await startScriptedSmtp(script);
  return openAt(server.port, deadlines);
}

async function openAt(port: number, deadlines = PRODUCTION_DEADLINES): Promise<SmtpSession> {
  const opened = await openSession({
    address: '127.0.0.1',
    port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.test',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines,
  });
  if (opened.kind !== 'ready') throw new Error(`not ready: ${JSON.stringify(opened)}`);
  return opened.session;
}

/** Whether the session may carry another message after one to which `command` was answered with `reply`. */
async function usableAfter(command: string, reply: string): Promise<boolean> {
  const session = await openTo({
    reply: (line) => (line.toUpperCase().startsWith(command) ? reply : undefined),
  });
  const result = await session.send({ ...ENVELOPE, from: '' });
  expect(result.kind).toBe(reply.startsWith('2') ? 'accepted' : 'refused');
  const { isUsable } = session;
  session.destroy();
  return isUsable;
}

// RFC 5321 section 3.8: whoever says 421 closes.
test.each([
  ['.', '250 taken', true],
  ['.', '451 later', true],
  ['.', '421 closing', false],
  ['RCPT', '550 nobody', true],
  ['RCPT', '421 closing', false],
  ['MAIL', '451 later', true],
  ['MAIL', '421 closing', false],
])('after %s is answered %s: usable %p', async (command, reply, isUsable) => {
  expect(await usableAfter(command, reply)).toBe(isUsable);
});

/** The end of one message to a server that answers `command` with `reply`, and what it heard. */
async function sendTo(
  replies: Readonly<Record<string, string>>,
  changes: Partial<Envelope> = {},
  keywords: string[] = [],
): Promise<{ result: SendResult; lines: string[]; isUsable: boolean }> {
  const session = await openTo(
    { keywords, reply: (line) => replies[line.split(' ')[0]?.toUpperCase() ?? ''] },
    { ...PRODUCTION_DEADLINES, rset: 5_000 },
  );
  const result = await session.send({ ...ENVELOPE, ...changes });
  const { isUsable } = session;
  session.destroy();
  return { result, lines: server.lines.slice(1), isUsable };
}

describe('the first digit of a reply decides', () => {
  for (const keywords of [[], ['PIPELINING']]) {
    const way = keywords.join('') || 'one by one';
    test.each([
      ['MAIL', '200 yes', 'accepted'],
      ['MAIL', '299 yes', 'accepted'],
      ['MAIL', '300 what', 'broken'],
      ['MAIL', '354 what', 'broken'],
      ['MAIL', '399 what', 'broken'],
      ['MAIL', '400 later', 'refused'],
      ['MAIL', '599 no', 'refused'],
      ['RCPT', '251 forwarded', 'accepted'],
      ['RCPT', '300 what', 'broken'],
      ['RCPT', '400 later', 'refused'],
      ['DATA', '250 what', 'broken'],
      ['DATA', '355 what', 'broken'],
      ['DATA', '400 later', 'refused'],
      ['DATA', '554 no', 'refused'],
      ['.', '299 yes', 'accepted'],
      ['.', '300 what', 'broken'],
      ['.', '354 what', 'broken'],
      ['.', '400 later', 'refused'],
      ['.', '552 too much', 'refused'],
    ])(`${way}: %s answered with %s is %s`, async (command, reply, kind) => {
      const stage = command === '.' ? 'dot' : command.toLowerCase();
      const { result, isUsable } = await sendTo({ [command]: reply }, {}, keywords);
      expect(result.kind).toBe(kind as never);
      // What makes no sense would be taken for the reply to the next command.
      if (kind === 'broken') expect(isUsable).toBe(false);
      if (result.kind === 'refused') {
        expect([result.stage as string, result.reply.code]).toEqual([
          stage,
          Number(reply.slice(0, 3)),
        ]);
      }
      if (result.kind === 'broken') {
        expect([result.stage as string, result.cause]).toEqual([
          stage,
          `unexpected reply: ${reply}`,
        ]);
        expect(result.mayBeDuplicate).toBe(command === '.');
      }
    });
  }
});

describe('after a refusal', () => {
  test.each([
    ['MAIL', false],
    ['RCPT', true],
    ['DATA', true],
  ])('of %s alone RSET follows: %p', async (command, isReset) => {
    const { lines, isUsable } = await sendTo({ [command]: '451 later' });
    expect([lines.includes('RSET'), isUsable]).toEqual([isReset, true]);
  });

  test.each([
    ['MAIL', { MAIL: '451 later', RCPT: '503 first', DATA: '503 first' }, false],
    ['RCPT', { RCPT: '451 later', DATA: '503 first' }, true],
    ['DATA', { DATA: '451 later' }, true],
  ])('of %s in one go RSET follows: %p', async (_, replies, isReset) => {
    const { lines, isUsable } = await sendTo(replies, {}, ['PIPELINING']);
    expect([lines.includes('RSET'), isUsable]).toEqual([isReset, true]);
  });

  test.each(['250 ok', '299 ok'])('RSET answered with %s: the session goes on', async (reply) => {
    expect((await sendTo({ RCPT: '451 later', RSET: reply })).isUsable).toBe(true);
  });

  test.each(['300 what', '421 closing', '502 what', 'nonsense'])(
    'RSET answered with %s: the session is over, the refusal stays',
    async (reply) => {
      const { result, isUsable } = await sendTo({ RCPT: '451 later', RSET: reply });
      expect([result.kind, isUsable]).toEqual(['refused', false]);
    },
  );

  test('the message itself refused needs no RSET', async () => {
    const { lines, isUsable } = await sendTo({ '.': '554 no' });
    expect([lines.includes('RSET'), isUsable]).toEqual([false, true]);
  });
});

test.each([
  // Below 400 it waits for a message that nobody is to get.
  ['354 go on', false, false],
  ['250 what', false, false],
  ['399 what', false, false],
  ['400 later', true, true],
  ['503 first', true, true],
])(
  'RCPT refused, and DATA in the same write answered with %s: usable %p, RSET %p',
  async (reply, isUsable, isReset) => {
    const sent = await sendTo({ RCPT: '550 5.1.1 nobody', DATA: reply }, {}, ['PIPELINING']);
    expect(sent.result).toEqual({
      kind: 'refused',
      stage: 'rcpt',
      reply: { code: 550, enhanced: '5.1.1', text: 'nobody' },
    });
    expect([sent.isUsable, sent.lines.includes('RSET')]).toEqual([isUsable, isReset]);
  },
);

test('a recipient is asked for in the same write after a sender was refused, and that decides nothing', async () => {
  const sent = await sendTo({ MAIL: '451 4.3.2 later', RCPT: '250 yes', DATA: '503 no' }, {}, [
    'PIPELINING',
  ]);
  expect(sent.result).toMatchObject({ kind: 'refused', stage: 'mail', reply: { code: 451 } });
  expect([sent.isUsable, sent.lines]).toEqual([
    true,
    ['MAIL FROM:<from@client.test>', 'RCPT TO:<to@scripted.test>', 'DATA'],
  ]);
});

describe('a server that closes between the replies to one write', () => {
  const endAfter = async (reply: string): Promise<SendResult> => {
    const session = await openTo({
      keywords: ['PIPELINING'],
      reply: (line) =>
        line.startsWith('EHLO') ? undefined : line.startsWith('MAIL') ? reply : null,
    });
    const sending = session.send(ENVELOPE);
    while (!server.lines.includes('DATA')) await Bun.sleep(1);
    await server.stop();
    const result = await sending;
    expect(session.isUsable).toBe(false);
    return result;
  };

  test('breaks the transaction at the reply that is missing', async () => {
    expect(await endAfter('250 yes')).toEqual({
      kind: 'broken',
      stage: 'rcpt',
      cause: 'connection closed by the server',
      reply: null,
      mayBeDuplicate: false,
    });
  });

  test('has refused what it refused before', async () => {
    expect(await endAfter('550 5.7.1 no')).toMatchObject({ kind: 'refused', stage: 'mail' });
  });
});

test.each([
  ['250 taken', { kind: 'broken', cause: 'reply before the end of the message: 250 taken' }],
  ['552 5.3.4 too much', { kind: 'refused', reply: { code: 552, enhanced: '5.3.4' } }],
])('%s before the message is whole ends the session', async (said, end) => {
  const hungUp = Promise.withResolvers<void>();
  let readOn = (): unknown => null;
  const early = createServer((socket) => {
    let verb = '';
    socket.on('error', () => socket.destroy());
    socket.on('close', () => hungUp.resolve());
    socket.on('data', (chunk: Buffer) => {
      if (verb === 'said') return;
      if (verb === 'DATA') {
        // It reads no further.
        socket.pause();
        socket.write(`${said}\r\n`);
        verb = 'said';
        readOn = () => socket.resume();
        return;
      }
      verb = chunk.toString().trim();
      socket.write(verb === 'DATA' ? '354 go on\r\n' : '250 ok\r\n');
    });
    socket.write('220 early.test\r\n');
  });
  await new Promise<void>((resolve) => void early.listen(0, '127.0.0.1', resolve));
  const session = await openAt((early.address() as AddressInfo).port);
  const bytes = Buffer.alloc(50_000_000, 'x'.repeat(48) + '\r\n');
  const result = await session.send({ ...ENVELOPE, message: new OutgoingMessage(bytes, null) });
  expect(result).toMatchObject({ stage: 'body', ...end });
  expect(session.isUsable).toBe(false);
  // Nobody else closes it.
  readOn();
  await hungUp.promise;
  early.close();
});

test('a server that closes right behind its 354 is quoted, and has no message', async () => {
  const { result, isUsable } = await sendTo({ DATA: '354 go on\r\n421 4.3.2 closing' });
  expect(result).toEqual({
    kind: 'broken',
    stage: 'dot',
    cause: 'unexpected reply: 421 4.3.2 closing',
    reply: { code: 421, enhanced: '4.3.2', text: 'closing' },
    mayBeDuplicate: false,
  });
  expect([server.bodies, isUsable]).toEqual([[], false]);
});

describe('parameters', () => {
  const ALL = ['SIZE', '8BITMIME', 'SMTPUTF8', 'DSN'];
  test('none that the message does not need', async () => {
    const { lines } = await sendTo({}, {}, ALL);
    expect(lines.slice(0, 2)).toEqual([
      'MAIL FROM:<from@client.test> SIZE=17',
      'RCPT TO:<to@scripted.test>',
    ]);
  });

  test('an address that xtext cannot carry is not repeated', async () => {
    const { lines } = await sendTo({}, { to: 'jörg@scripted.test', dsn: true }, ALL);
    // The receiver of the test reads bytes as Latin-1.
    const heard = lines.map((line) => Buffer.from(line, 'latin1').toString('utf8'));
    expect(heard.slice(0, 2)).toEqual([
      'MAIL FROM:<from@client.test> SIZE=17 SMTPUTF8 RET=HDRS',
      'RCPT TO:<jörg@scripted.test> NOTIFY=SUCCESS,FAILURE,DELAY',
    ]);
  });

  test('a quoted local part is repeated in xtext', async () => {
    const { lines } = await sendTo({}, { to: '"a b"@scripted.test', dsn: true }, ALL);
    expect(lines[1]).toEndWith(' ORCPT=rfc822;"a+20b"@scripted.test');
  });

  test('a return path beyond ASCII needs SMTPUTF8 too', async () => {
    const { result } = await sendTo({}, { from: 'jörg@client.test' }, ['8BITMIME']);
    expect(result).toEqual({ kind: 'unsupported', extension: 'SMTPUTF8' });
  });
});

describe('the end of a session', () => {
  test('QUIT is said, its reply is waited for, and the connection is closed', async () => {
    const session = await openTo({});
    await session.quit();
    expect([server.lines.at(-1), session.isUsable]).toEqual(['QUIT', false]);
    while (server.connections > 0) await Bun.sleep(1);
    await session.quit();
    session.destroy();
    expect(server.lines).toEqual(['EHLO client.test', 'QUIT']);
  });

  test('a server that never answers QUIT is left after its time', async () => {
    const session = await openTo(
      { reply: (line) => (line === 'QUIT' ? null : undefined) },
      { ...PRODUCTION_DEADLINES, quit: 20 },
    );
    await session.quit();
    expect([server.lines.at(-1), session.isUsable]).toEqual(['QUIT', false]);
  });

  test('nothing is said where a message is under way, or a reply came that nobody asked for', async () => {
    const busy = await openTo({ reply: (line) => (line.startsWith('MAIL') ? null : undefined) });
    const sending = busy.send(ENVELOPE);
    await busy.quit();
    expect(await sending).toEqual({
      kind: 'broken',
      stage: 'mail',
      cause: 'closed by us',
      reply: null,
      mayBeDuplicate: false,
    });
    expect(server.lines).not.toContain('QUIT');
    await server.stop();
    const odd = await openTo({});
    server.say('250 more\r\n');
    while (odd.isUsable) await Bun.sleep(1);
    await odd.quit();
    expect(server.lines).toEqual(['EHLO client.test']);
  });

  test('what is known of it: whom it talks to, what was offered, how many were taken', async () => {
    const session = await openTo({ keywords: ['size 100', 'X-A b c'] });
    await session.send(ENVELOPE);
    await session.send({ ...ENVELOPE, needsSmtpUtf8: true });
    expect([session.remoteAddress, [...session.extensions], session.tls, session.sent]).toEqual([
      '127.0.0.1',
      ['SIZE', 'X-A'],
      null,
      1,
    ]);
    session.destroy();
  });
});
