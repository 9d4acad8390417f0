/** How waiting ends: by the right deadline, at the right stage, and never after the end; and what stays open then. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { Socket } from 'node:net';

import { openSession, type SessionOptions } from '../../../src/wire/smtp/client.ts';
import { Dialogue, DialogueEnd } from '../../../src/wire/smtp/dialogue.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { ExtraTrust } from '../../../src/wire/smtp/tls.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { startScriptedSmtp, type ScriptedSmtp } from '../../rig/scripted-smtp.ts';

let server: ScriptedSmtp | null = null;
const spies: { mockRestore(): void }[] = [];
afterEach(async () => {
  for (const spy of spies.splice(0)) spy.mockRestore();
  await server?.stop();
  server = null;
});

async function connect(
  script: Parameters<typeof startScriptedSmtp>[0] = {},
  deadlines: Partial<typeof PRODUCTION_DEADLINES> = {},
): Promise<Dialogue> {
  server = await startScriptedSmtp(script);
  const dialogue = await Dialogue.connect({
    address: '127.0.0.1',
    port: server.port,
    localAddress: null,
    deadlines: { ...PRODUCTION_DEADLINES, ...deadlines },
    signal: undefined,
  });
  await dialogue.reply('banner');
  return dialogue;
}

/** Stage and cause of the end of the work. */
async function endOf(work: Promise<unknown>): Promise<[stage: string, cause: string]> {
  const end = await work.then(
    () => null,
    (error: unknown) => error,
  );
  if (end instanceof DialogueEnd) return [end.stage, end.message];
  throw new Error('no end');
}

/** From now on nothing that is written leaves; gives what would tell that it has. */
function hold(): (() => void)[] {
  const kept: (() => void)[] = [];
  spies.push(
    spyOn(Socket.prototype, 'write').mockImplementation(((_: unknown, left?: () => void) => {
      if (left !== undefined) kept.push(left);
      return true;
    }) as never),
  );
  return kept;
}

const BODY = Buffer.from('Subject: x\r\n\r\nx\r\n.\r\n');

test('until the end of a message has left it has the time of a block, not that of the reply', async () => {
  const dialogue = await connect({}, { body: 30, dot: 3_600_000 });
  const kept = hold();
  const progress = { isHandedOver: false };
  expect(await endOf(dialogue.body(BODY, progress))).toEqual(['body', 'timeout']);
  // What leaves after the end has not been handed over.
  expect(kept).toHaveLength(1);
  for (const left of kept) left();
  expect(progress.isHandedOver).toBe(false);
});

test('a connection that ends while a block leaves ends the body there, and no dot follows', async () => {
  const dialogue = await connect();
  const kept = hold();
  const progress = { isHandedOver: false };
  const ended = endOf(dialogue.body(Buffer.alloc(200_000, 'x'), progress));
  dialogue.destroy();
  expect(await ended).toEqual(['body', 'closed by us']);
  expect([kept.length, progress.isHandedOver]).toEqual([1, false]);
});

test('a dialogue that is over begins no handshake', async () => {
  const dialogue = await connect();
  dialogue.destroy();
  const tls = { serverName: 'mx.test', verify: false, trust: undefined, checkPeer: undefined };
  expect((await endOf(dialogue.startTls(tls)))[1]).toBe('closed by us');
});

test('between two commands nothing is late, however long it takes', async () => {
  const armed = spyOn(globalThis, 'setTimeout');
  spies.push(armed);
  const dialogue = await connect();
  expect((await dialogue.command('EHLO x', 'ehlo')).code).toBe(250);
  const timers = armed.mock.calls.filter(([, ms]) => Number(ms) >= 29_000);
  expect(timers.length).toBeGreaterThan(0);
  const later = performance.now() + 3_600_000;
  spies.push(spyOn(performance, 'now').mockReturnValue(later));
  const count = armed.mock.calls.length;
  // A deadline must have been over for two looks; while there is none, nobody looks again.
  for (let look = 0; look < 3; look += 1) armed.mock.lastCall?.[0]();
  expect([dialogue.isOpen, armed.mock.calls.length]).toEqual([true, count]);
  dialogue.destroy();
});

test('of a deadline that a shorter one replaced no timer stays', async () => {
  const [armed, cleared] = [spyOn(globalThis, 'setTimeout'), spyOn(globalThis, 'clearTimeout')];
  spies.push(armed, cleared);
  const dialogue = await connect({ reply: () => null });
  const ended = endOf(dialogue.command('QUIT', 'quit'));
  dialogue.destroy();
  expect((await ended)[0]).toBe('quit');
  // That of the connection, and that of QUIT.
  const timers = armed.mock.results.filter((_, at) => Number(armed.mock.calls[at]?.[1]) > 4_000);
  const over = cleared.mock.calls.map(([timer]): unknown => timer);
  const left = timers.filter(({ value }) => !over.includes(value));
  expect([timers.length, left]).toEqual([2, []]);
});

test('a deadline is over at the second look: at the first this process may be late itself', async () => {
  const dialogue = await connect({ reply: () => null });
  const armed = spyOn(globalThis, 'setTimeout');
  spies.push(armed);
  const ended = endOf(dialogue.command('QUIT', 'quit'));
  const [look, ms] = armed.mock.lastCall ?? [];
  expect(ms).toBeWithin(4_900, 5_002);
  const clock = spyOn(performance, 'now').mockReturnValue(performance.now() + 5_000);
  look?.();
  clock.mockRestore();
  // A reply that has come meanwhile is read before the second one.
  expect([dialogue.isOpen, armed.mock.lastCall?.[1]]).toEqual([true, 1]);
  spies.push(spyOn(performance, 'now').mockReturnValue(performance.now() + 5_000));
  armed.mock.lastCall?.[0]();
  expect(await ended).toEqual(['quit', 'timeout']);
});

function settings(port: number, changes: Partial<SessionOptions> = {}): SessionOptions {
  return {
    address: '127.0.0.1',
    port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.test',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
    ...changes,
  };
}

/** Resolves when the server has no connection any more. */
async function allClosed(one: ScriptedSmtp): Promise<void> {
  expect(one.remoteAddresses).toHaveLength(1);
  while (one.connections > 0) await new Promise((resolve) => setImmediate(resolve));
}

const REFUSALS: [string, Parameters<typeof startScriptedSmtp>[0], Partial<SessionOptions>][] = [
  ['a banner that refuses', { banner: '554 not you' }, {}],
  ['an EHLO that is refused', { reply: () => '550 not you' }, {}],
  ['no STARTTLS where it is required', {}, { tls: { mode: 'required', verify: false } }],
  ['no way to log in', {}, { auth: { username: 'a', password: 'b' } }],
];
test.each(REFUSALS)('after %s no connection stays', async (_, script, changes) => {
  server = await startScriptedSmtp(script);
  const opened = await openSession(settings(server.port, changes));
  expect(opened.kind).toBe('failed');
  await allClosed(server);
});

test('an authority that cannot be read is a fault of ours, thrown, and no connection stays', async () => {
  server = await startScriptedSmtp({
    keywords: ['STARTTLS'],
    reply: (line) => (line === 'STARTTLS' ? '220 go' : undefined),
  });
  const trust = new ExtraTrust(['no certificate']);
  const tls = { mode: 'required', verify: true, trust } as const;
  const opening = openSession(settings(server.port, { tls }));
  expect(await opening.catch((error: unknown) => error)).toBeInstanceOf(Error);
  await allClosed(server);
});

test('the authorities of the operator are read once, however many sessions they serve', () => {
  const trust = new ExtraTrust([testAuthority().cert]);
  expect(trust.context).toBe(trust.context);
});
