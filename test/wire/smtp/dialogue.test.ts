/** Below the words of a session: what a connection that cannot be had is called, and what is left when it ends. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { Socket } from 'node:net';

import { Dialogue, DialogueEnd } from '../../../src/wire/smtp/dialogue.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { startScriptedSmtp, type ScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { openClosedPort } from '../../rig/closed-port.ts';

let server: ScriptedSmtp | null = null;
afterEach(async () => {
  await server?.stop();
  server = null;
});

async function connect(changes: Partial<Parameters<typeof Dialogue.connect>[0]> = {}) {
  server ??= await startScriptedSmtp();
  return Dialogue.connect({
    address: '127.0.0.1',
    port: server.port,
    localAddress: null,
    deadlines: PRODUCTION_DEADLINES,
    signal: undefined,
    ...changes,
  });
}

/** Why the work ended. */
async function endOf(work: Promise<unknown>): Promise<DialogueEnd> {
  const end = await work.then(
    () => null,
    (error: unknown) => error,
  );
  if (end instanceof DialogueEnd) return end;
  throw new Error('no end');
}

test('a port that is closed is the trouble of the other machine, with its code', async () => {
  const shut = await openClosedPort();
  const end = await endOf(connect({ port: shut.port }));
  shut.stop();
  expect([end.stage, end.isLocal, end.reply]).toEqual(['connect', false, null]);
  expect(end.message).toContain('ECONNREFUSED');
});

test.each([
  ['a name', { address: 'localhost' }, 'not an IP address: localhost'],
  ['a stop that came before', { signal: AbortSignal.abort() }, 'stopped'],
  [
    'a source address of another machine',
    { localAddress: '192.0.2.1' },
    'EADDRNOTAVAIL: 192.0.2.1 is not an address of this machine, or has no port left',
  ],
  // The runtime throws these two.
  ['no port', { port: 65_536 }, expect.stringContaining('ERR_SOCKET_BAD_PORT: ') as string],
  ['no address', { localAddress: 'x' }, 'ERR_INVALID_IP_ADDRESS: Invalid IP address: x'],
])('%s is our own trouble', async (_, changes, words) => {
  const end = await endOf(connect(changes));
  expect([end.stage, end.isLocal, end.message]).toEqual(['connect', true, words]);
});

test('nothing stays on the signal when the connection has ended', async () => {
  const { signal } = new AbortController();
  const [added, removed] = [
    spyOn(signal, 'addEventListener'),
    spyOn(signal, 'removeEventListener'),
  ];
  const dialogue = await connect({ signal });
  dialogue.destroy();
  const listeners = added.mock.calls.map(([, listener]) => listener);
  expect(listeners).toHaveLength(1);
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(listeners);
});

test('no timer stays when the connection has ended', async () => {
  const [armed, cleared] = [spyOn(globalThis, 'setTimeout'), spyOn(globalThis, 'clearTimeout')];
  const dialogue = await connect();
  await dialogue.reply('banner');
  dialogue.destroy();
  const timers = armed.mock.results.map(({ value }): unknown => value);
  const ended = cleared.mock.calls.map(([timer]): unknown => timer);
  armed.mockRestore();
  cleared.mockRestore();
  expect(timers.length).toBeGreaterThan(0);
  expect(timers.filter((timer) => !ended.includes(timer))).toEqual([]);
});

test('the stop ends what is waited for, at its stage, as our own doing', async () => {
  server = await startScriptedSmtp({ reply: () => null });
  const stop = new AbortController();
  const dialogue = await connect({ signal: stop.signal });
  await dialogue.reply('banner');
  const waiting = endOf(dialogue.command('EHLO x', 'ehlo'));
  stop.abort();
  const end = await waiting;
  expect([end.stage, end.isLocal, end.message]).toEqual(['ehlo', true, 'stopped']);
  // Whatever is asked later has the same end, at its own stage.
  const later = await endOf(dialogue.command('MAIL', 'mail'));
  expect([later.stage, later.isLocal, later.message, dialogue.isOpen]).toEqual([
    'mail',
    true,
    'stopped',
    false,
  ]);
});

test('eight replies too many are kept, the ninth ends the connection', async () => {
  for (const [count, words] of [
    [8, 'unexpected reply: 250 more'],
    [9, 'the server sends replies without a command'],
  ] as const) {
    server = await startScriptedSmtp();
    const dialogue = await connect();
    await dialogue.reply('banner');
    server.say('250 more\r\n'.repeat(count));
    while (dialogue.isOpen) await Bun.sleep(1);
    const end = await endOf(dialogue.command('MAIL', 'mail'));
    expect([count, end.message, end.isLocal, end.reply]).toEqual([count, words, false, null]);
    await server.stop();
  }
});

test('part of a reply that nobody asked for ends the next command, or the next few', async () => {
  for (const [said, words] of [
    ['250-mo', 'unexpected reply: part of a reply'],
    ['250 more\r\n', 'unexpected reply: 250 more'],
  ] as const) {
    for (const isOne of [true, false]) {
      server = await startScriptedSmtp();
      const dialogue = await connect();
      await dialogue.reply('banner');
      server.say(said);
      while (dialogue.isOpen) await Bun.sleep(1);
      const end = isOne
        ? await endOf(dialogue.command('MAIL', 'mail'))
        : (
            await dialogue.commands([
              ['MAIL', 'mail'],
              ['RCPT', 'rcpt'],
            ])
          ).end;
      expect([end?.stage, end?.message, server.lines]).toEqual(['mail', words, []]);
      await server.stop();
    }
  }
});

test('of several commands nothing more is waited for once the server says 421', async () => {
  server = await startScriptedSmtp({ reply: (line) => (line === 'MAIL' ? '421 closing' : null) });
  const dialogue = await connect();
  await dialogue.reply('banner');
  const lines = [
    ['MAIL', 'mail'],
    ['RCPT', 'rcpt'],
  ] as const;
  const { replies, end } = await dialogue.commands(lines);
  expect([replies.map(({ code }) => code), end]).toEqual([[421], null]);
});

test('a server that closes without a word is told from one that says 421', async () => {
  for (const [said, words, code] of [
    [null, 'connection closed by the server', undefined],
    ['421 4.3.2 closing', 'unexpected reply: 421 4.3.2 closing', 421],
  ] as const) {
    server = await startScriptedSmtp();
    const dialogue = await connect();
    await dialogue.reply('banner');
    if (said === null) await server.stop();
    else server.say(`${said}\r\n`);
    while (dialogue.isOpen) await Bun.sleep(1);
    const end = await endOf(dialogue.command('MAIL', 'mail'));
    expect([end.message, end.reply?.code]).toEqual([words, code]);
    await server.stop();
  }
});

test('what a server says is kept in one line of 500 characters', () => {
  const end = new DialogueEnd('mail', `a\r\nb\u0000${'x'.repeat(600)}`);
  expect(end.message).toBe(`a b ${'x'.repeat(496)}`);
});

test('a banner that came before anyone asked is given to who asks', async () => {
  const dialogue = await connect();
  const isOpen = (): boolean => dialogue.isOpen;
  while (isOpen()) await new Promise((resolve) => setImmediate(resolve));
  expect((await dialogue.reply('banner')).code).toBe(220);
  expect(isOpen()).toBe(true);
});

test.each([
  ['a whole reply', '250 more\r\n'],
  ['part of a reply', '250-mo\r\n'],
])('%s before the handshake ends the connection at the handshake', async (_, said) => {
  const dialogue = await connect();
  await dialogue.reply('banner');
  server?.say(said);
  while (dialogue.isOpen) await new Promise((resolve) => setImmediate(resolve));
  const tls = { serverName: 'mx.test', verify: false, trust: undefined, checkPeer: undefined };
  const end = await endOf(dialogue.startTls(tls));
  expect([end.stage, end.isLocal, end.message]).toEqual([
    'handshake',
    false,
    'the server sent plaintext where the TLS handshake was expected',
  ]);
});

test('whoever destroys it has ended it', async () => {
  server = await startScriptedSmtp({ reply: () => null });
  const dialogue = await connect();
  await dialogue.reply('banner');
  const waiting = endOf(dialogue.command('EHLO x', 'ehlo'));
  dialogue.destroy();
  const end = await waiting;
  expect([end.stage, end.isLocal, end.message]).toEqual(['ehlo', true, 'closed by us']);
});

test('a stage ends at its own deadline, and a shorter one that follows at its own', async () => {
  server = await startScriptedSmtp({ reply: (line) => (line.startsWith('EHLO') ? '250 x' : null) });
  const deadlines = { ...PRODUCTION_DEADLINES, mail: 20 };
  const dialogue = await connect({ deadlines });
  await dialogue.reply('banner');
  expect((await dialogue.command('EHLO x', 'ehlo')).code).toBe(250);
  const began = performance.now();
  const end = await endOf(dialogue.command('MAIL FROM:<>', 'mail'));
  expect([end.stage, end.isLocal, end.message]).toEqual(['mail', false, 'timeout']);
  expect(performance.now() - began).toBeGreaterThanOrEqual(20);
});

test('of several commands each has its own time from the reply before it', async () => {
  server = await startScriptedSmtp({ reply: (line) => (line.startsWith('MAIL') ? '250 x' : null) });
  const deadlines = { ...PRODUCTION_DEADLINES, rcpt: 20 };
  const dialogue = await connect({ deadlines });
  await dialogue.reply('banner');
  const { replies, end } = await dialogue.commands([
    ['MAIL FROM:<>', 'mail'],
    ['RCPT TO:<a@x.test>', 'rcpt'],
    ['DATA', 'data'],
  ]);
  expect(replies.map(({ code }) => code)).toEqual([250]);
  expect([end?.stage, end?.message]).toEqual(['rcpt', 'timeout']);
});

test.each([
  [4_096, 0],
  [4_097, 4_094],
  [200_000, 199_997],
])(
  'of a body of %i bytes, dot included, %i have left when it is asked whether it may go',
  async (size, left) => {
    const dialogue = await connect();
    await dialogue.reply('banner');
    await dialogue.command('DATA', 'data');
    const body = Buffer.alloc(size, 'x');
    body.write('\r\n.\r\n', size - 5);
    const written: number[] = [];
    const write = spyOn(Socket.prototype, 'write');
    const progress = { isHandedOver: false };
    const end = await endOf(
      dialogue.body(body, progress, () => {
        written.push(write.mock.calls.reduce((sum, [chunk]) => sum + (chunk as Buffer).length, 0));
        return false;
      }),
    );
    write.mockRestore();
    expect(written).toEqual([left]);
    expect([end.stage, end.isLocal, end.message, progress.isHandedOver]).toEqual([
      'body',
      true,
      'this server may not hand it over any more',
      false,
    ]);
  },
);

/** What is handed to sockets, by length, while `work` runs. */
async function writtenBy(work: () => Promise<unknown>): Promise<number[]> {
  const write = spyOn(Socket.prototype, 'write');
  await work();
  const lengths = write.mock.calls.map(([chunk]) => (chunk as Buffer).length);
  write.mockRestore();
  // The server's reply to the message is the last.
  return lengths.slice(0, -1);
}

test.each([
  [false, 65_536, [65_536]],
  [false, 65_537, [65_534, 3]],
  [false, 200_000, [65_536, 65_536, 65_536, 3_392]],
  [true, 4_096, [4_096]],
  [true, 4_097, [4_094, 3]],
  [true, 65_539, [65_536, 3]],
  [true, 65_540, [65_536, 1, 3]],
])(
  'asked before the dot: %p, a body of %i bytes leaves in blocks',
  async (isAsked, size, blocks) => {
    const dialogue = await connect();
    await dialogue.reply('banner');
    await dialogue.command('DATA', 'data');
    const body = Buffer.alloc(size, 'x');
    body.write('\r\n.\r\n', size - 5);
    const progress = { isHandedOver: false };
    const may = isAsked ? () => true : undefined;
    expect(await writtenBy(() => dialogue.body(body, progress, may))).toEqual(blocks);
    expect([progress.isHandedOver, server?.bodies[0]?.length]).toEqual([true, size - 5]);
  },
);

test('a small packet leaves at once, and a connection is made to the address and port, from any', async () => {
  const delays = spyOn(Socket.prototype, 'setNoDelay');
  const dials = spyOn(Socket.prototype, 'connect');
  await connect();
  await connect({ localAddress: '127.0.0.3' });
  const dialled = dials.mock.calls.map((args) => args.flat(2)[0] as unknown);
  const told = delays.mock.calls.map(([isOn]) => isOn);
  delays.mockRestore();
  dials.mockRestore();
  const port = server?.port;
  expect(dialled).toEqual([
    { host: '127.0.0.1', port },
    { host: '127.0.0.1', port, localAddress: '127.0.0.3' },
  ]);
  expect(told.filter((isOn) => isOn === true).length).toBeGreaterThanOrEqual(2);
});

test('an IPv6 connection comes from the address of our own that is asked for', async () => {
  const dials = spyOn(Socket.prototype, 'connect');
  // Nobody need listen there.
  await connect({ address: '::1', localAddress: '::1' }).catch(() => undefined);
  const dialled = dials.mock.calls.map((args) => args.flat(2)[0] as unknown);
  dials.mockRestore();
  expect(dialled).toEqual([{ host: '::1', port: server?.port, localAddress: '::1' }]);
});

test.each([
  ['EIO', 'read failed', 'EIO: read failed', false],
  ['EIO', 'read EIO', 'read EIO', false],
  [undefined, 'odd', 'odd', false],
  ['EMFILE', 'too many', 'EMFILE: too many', true],
  // Without an address of our own it is told as it came.
  ['EADDRNOTAVAIL', 'not there', 'EADDRNOTAVAIL: not there', true],
])('an error %s that says %s ends what is waited for: %s', async (code, said, words, isLocal) => {
  server = await startScriptedSmtp({ reply: () => null });
  const delays = spyOn(Socket.prototype, 'setNoDelay');
  const dialogue = await connect();
  // The one that wants no delay is ours.
  const [socket] = delays.mock.contexts as unknown as Socket[];
  delays.mockRestore();
  await dialogue.reply('banner');
  const waiting = endOf(dialogue.command('EHLO x', 'ehlo'));
  socket?.emit('error', Object.assign(new Error(said), code === undefined ? {} : { code }));
  const end = await waiting;
  expect([end.stage, end.message, end.isLocal, end.reply]).toEqual(['ehlo', words, isLocal, null]);
  expect(socket?.destroyed).toBe(true);
});

test('an error of the plain connection during the handshake ends it there', async () => {
  const delays = spyOn(Socket.prototype, 'setNoDelay');
  const dialogue = await connect();
  const [socket] = delays.mock.contexts as unknown as Socket[];
  delays.mockRestore();
  await dialogue.reply('banner');
  const tls = { serverName: 'mx.test', verify: false, trust: undefined, checkPeer: undefined };
  const ended = endOf(dialogue.startTls(tls));
  // Without a listener it would end the process.
  socket?.emit('error', Object.assign(new Error('broken'), { code: 'EIO' }));
  const end = await ended;
  expect([end.stage, end.message, end.isLocal]).toEqual(['handshake', 'EIO: broken', false]);
  expect([socket?.destroyed, dialogue.isOpen]).toEqual([true, false]);
});

test('from the upgrade on only errors of the plain connection count', async () => {
  server = await startScriptedSmtp();
  const taken: unknown[] = [];
  const dialogue = await connect();
  await dialogue.reply('banner');
  const removed = spyOn(Socket.prototype, 'removeAllListeners').mockImplementation(function (
    this: Socket,
    event?: string | symbol,
  ) {
    if (event === undefined) return this;
    taken.push([event, this.listenerCount(event) > 0]);
    for (const listener of this.listeners(event)) this.removeListener(event, listener as never);
    return this;
  });
  const tls = { serverName: 'mx.test', verify: false, trust: undefined, checkPeer: undefined };
  const end = endOf(dialogue.startTls(tls));
  const first = taken.slice(0, 3);
  removed.mockRestore();
  dialogue.destroy();
  expect((await end).stage).toBe('handshake');
  expect(first).toEqual([
    ['data', true],
    ['end', true],
    ['close', true],
  ]);
});
