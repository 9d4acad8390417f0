/**
 * TLS as a client (docs/reliability.md R16 and R19): bad certificates, stripped and garbled STARTTLS, old versions, and
 * nothing that crosses the upgrade in either direction.
 */
import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { ExtraTrust, isVerified } from '../../../src/wire/smtp/tls.ts';
import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession } from '../../../src/wire/smtp/client.ts';
import type { SessionOptions, SessionResult } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { makeChains } from '../../rig/bad-certificates.ts';
import type { BadChain, Chains } from '../../rig/bad-certificates.ts';
import { startHostileReceiver } from '../../rig/hostile-receiver.ts';
import type { HostileOptions, HostileReceiver } from '../../rig/hostile-receiver.ts';

type TlsMode = SessionOptions['tls'];

const BAD: BadChain[] = [
  'self-signed',
  'wrong name',
  'expired',
  'not yet valid',
  'unknown CA',
  'missing intermediate',
  'expired intermediate',
  'signed by a leaf',
  'wildcard over two labels',
  'address instead of name',
  'for clients only',
];
const deadlines = { ...PRODUCTION_DEADLINES, banner: 2000, starttls: 2000, handshake: 2000 };

let chains: Chains;
let trusted: ExtraTrust;
let receiver: HostileReceiver | null = null;
const servers: Server[] = [];

beforeAll(() => {
  chains = makeChains();
  trusted = new ExtraTrust([chains.root]);
});

afterEach(async () => {
  await receiver?.stop();
  receiver = null;
  for (const server of servers.splice(0)) server.close();
});

/** A receiver that is honest up to QUIT, with this identity. */
async function start(
  tls: Exclude<HostileOptions['tls'], undefined>,
  changes: Partial<HostileOptions> = {},
): Promise<HostileReceiver> {
  receiver = await startHostileReceiver({
    stage: 'quit',
    behaviour: 'fin',
    dripMs: 10,
    tls,
    ...changes,
  });
  return receiver;
}

function open(port: number, tls: TlsMode): Promise<SessionResult> {
  return openSession({
    address: '127.0.0.1',
    port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.a.test',
    tls,
    auth: null,
    deadlines,
  });
}

async function deliver(port: number, tls: TlsMode): Promise<string> {
  const opened = await open(port, tls);
  if (opened.kind === 'failed') {
    expect(opened.tlsFailed).toBe(true);
    return `failed ${opened.stage}`;
  }
  const { session } = opened;
  const message = Buffer.from('A: b\r\n\r\n');
  const result = await session.send({
    from: '',
    to: 'x@a.test',
    message: new OutgoingMessage(message, null),
    needsSmtpUtf8: false,
    dsn: false,
  });
  const verdict =
    session.tls === null ? 'plaintext' : session.tls.isVerified ? 'verified' : 'unverified';
  await session.quit();
  return `${result.kind} ${verdict}`;
}

describe('certificates', () => {
  test('good ones verify, with and without an intermediate', async () => {
    for (const chain of [chains.good, chains.goodWithIntermediate]) {
      const { port } = await start(chain);
      const tls = { mode: 'required', verify: true, trust: trusted } as const;
      expect(await deliver(port, tls)).toBe('accepted verified');
      await receiver?.stop();
    }
  });

  for (const name of BAD) {
    test(`${name}: accepted where verification is not required, and reported as unverified`, async () => {
      const { port } = await start(chains.bad[name]);
      const tls = { mode: 'opportunistic', verify: false, trust: trusted } as const;
      expect(await deliver(port, tls)).toBe('accepted unverified');
    });

    test(`${name}: refused where it must verify, and nothing is sent afterwards`, async () => {
      const { port, commands } = await start(chains.bad[name]);
      const tls = { mode: 'required', verify: true, trust: trusted } as const;
      expect(await deliver(port, tls)).toBe('failed handshake');
      expect(commands.map(({ line }) => line)).toEqual(['EHLO client.test', 'STARTTLS']);
    });
  }

  test('the CA is trusted only where it was given', async () => {
    const { port } = await start(chains.good);
    expect(await deliver(port, { mode: 'required', verify: true })).toBe('failed handshake');
  });

  test('checkPeer sees the chain and decides', async () => {
    const { port, commands } = await start(chains.goodWithIntermediate);
    const seen: string[][] = [];
    const checkPeer = (chain: readonly { subject: string }[]): string | null => {
      seen.push(chain.map(({ subject }) => subject));
      return seen.length === 1 ? null : 'not this one';
    };
    const tls = { mode: 'required', verify: false, checkPeer } as const;
    expect(await deliver(port, tls)).toBe('accepted unverified');
    const before = commands.length;
    expect(await open(port, tls)).toMatchObject({ kind: 'failed', cause: 'not this one' });
    expect(commands.slice(before).map(({ line }) => line)).toEqual([
      'EHLO client.test',
      'STARTTLS',
    ]);
    expect(seen).toEqual([
      ['CN=leaf', 'CN=Intermediate'],
      ['CN=leaf', 'CN=Intermediate'],
    ]);
  });
});

test.each([
  [true, 'mx.a.test', true],
  [true, 'mx.b.test', false],
  [false, 'mx.a.test', false],
])('a runtime that says trusted: %p, for a certificate of %s: verified %p', (trusted, name, is) => {
  // A runtime with a bug in one of its two checks: the socket is what such a one would hand over.
  const socket = {
    authorized: trusted,
    authorizationError: 'UNABLE_TO_GET_ISSUER_CERT',
    getPeerCertificate: () => ({ subject: {}, subjectaltname: `DNS:${name}` }),
  };
  expect(isVerified(socket as unknown as TLSSocket, 'mx.a.test')).toBe(is);
});

test('a check that throws on the chain refuses it', async () => {
  const { port, commands } = await start(chains.good);
  const checkPeer = (): never => {
    throw new Error('key of\r\nan unknown kind');
  };
  const result = await open(port, { mode: 'required', verify: false, checkPeer });
  expect(result).toMatchObject({
    kind: 'failed',
    stage: 'handshake',
    cause: 'certificate cannot be read: key of an unknown kind',
  });
  expect(commands.at(-1)?.line).toBe('STARTTLS');
});

describe('STARTTLS', () => {
  test('everything after it is under TLS', async () => {
    const { port, commands } = await start(chains.good);
    expect(await deliver(port, { mode: 'opportunistic', verify: false })).toBe(
      'accepted unverified',
    );
    expect(commands.map(({ line, isSecure }) => `${isSecure ? 'tls' : 'plain'} ${line}`)).toEqual([
      'plain EHLO client.test',
      'plain STARTTLS',
      'tls EHLO client.test',
      'tls MAIL FROM:<>',
      'tls RCPT TO:<x@a.test>',
      'tls DATA',
      'tls QUIT',
    ]);
  });

  test('stripped: plaintext in opportunistic mode, a failure where required', async () => {
    receiver = await startHostileReceiver({ stage: 'quit', behaviour: 'fin', dripMs: 10 });
    const { port } = receiver;
    expect(await deliver(port, { mode: 'opportunistic', verify: false })).toBe(
      'accepted plaintext',
    );
    expect(await deliver(port, { mode: 'required', verify: true })).toBe('failed starttls');
    expect(receiver.received).toHaveLength(1);
  });

  test('refused with 454: plaintext in opportunistic mode, a failure where required', async () => {
    const options = { stage: 'starttls', behaviour: '4xx' } as const;
    const { port, received } = await start(chains.good, options);
    expect(await deliver(port, { mode: 'opportunistic', verify: false })).toBe(
      'accepted plaintext',
    );
    expect(await deliver(port, { mode: 'required', verify: false })).toBe('failed starttls');
    expect(received).toHaveLength(1);
  });

  for (const maxVersion of ['TLSv1', 'TLSv1.1'] as const) {
    test(`${maxVersion} only: no TLS at all, so a new connection may go without`, async () => {
      const { port, commands } = await start({ ...chains.good, minVersion: 'TLSv1', maxVersion });
      expect(await deliver(port, { mode: 'opportunistic', verify: false })).toBe(
        'failed handshake',
      );
      expect(commands.map(({ line }) => line)).toEqual(['EHLO client.test', 'STARTTLS']);
      expect(await deliver(port, { mode: 'none', verify: false })).toBe('accepted plaintext');
    });
  }

  test('TLS 1.2 is enough', async () => {
    const { port } = await start({ ...chains.good, maxVersion: 'TLSv1.2' });
    const opened = await open(port, { mode: 'required', verify: true, trust: trusted });
    if (opened.kind !== 'ready') throw new Error('not ready');
    expect(opened.session.tls).toMatchObject({ version: 'TLSv1.2', isVerified: true });
    opened.session.destroy();
  });
});

test('implicit TLS', async () => {
  const server = createTlsServer({ key: chains.good.key, cert: chains.good.cert }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', () => socket.write('250 fine\r\n'));
    socket.write('220 mx.a.test\r\n');
  });
  await listen(server);
  servers.push(server);
  const { port } = server.address() as AddressInfo;
  const opened = await open(port, { mode: 'implicit', verify: true, trust: trusted });
  if (opened.kind !== 'ready') throw new Error(JSON.stringify(opened));
  expect(opened.session.tls?.isVerified).toBe(true);
  await opened.session.quit();
  expect(await open(port, { mode: 'implicit', verify: true })).toMatchObject({
    kind: 'failed',
    stage: 'handshake',
    tlsFailed: true,
  });
});

describe('after the 220 of STARTTLS', () => {
  const injected: [what: string, text: string][] = [
    ['a full reply', '250 injected\r\n'],
    ['a whole EHLO answer', '250-mx.a.test\r\n250-AUTH PLAIN\r\n250 SIZE 1\r\n'],
    ['part of a reply', '250-inj'],
    ['one byte', '2'],
    ['150 replies', '250 injected\r\n'.repeat(150)],
    ['the rest of a multi-line reply', '220-\r\n220 '],
    ['no reply', 'QUIT\r\n'],
  ];
  for (const [what, text] of injected) {
    for (const when of ['in the same segment', 'in answer to the first handshake bytes'] as const) {
      test(`${what} ${when}: the connection is closed`, async () => {
        const sent: Buffer[] = [];
        const server = createServer((socket) => {
          let isUpgraded = false;
          socket.on('error', () => socket.destroy());
          socket.on('data', (chunk: Buffer) => {
            if (isUpgraded) {
              if (sent.length === 0 && when !== 'in the same segment') socket.write(text);
              sent.push(chunk);
            } else if (chunk.toString() === 'STARTTLS\r\n') {
              isUpgraded = true;
              socket.write(`220 go\r\n${when === 'in the same segment' ? text : ''}`);
            } else {
              socket.write('250-mx.a.test\r\n250 STARTTLS\r\n');
            }
          });
          socket.write('220 mx.a.test\r\n');
        });
        await listen(server);
        servers.push(server);
        const { port } = server.address() as AddressInfo;
        const short = { ...deadlines, handshake: 300 };
        const result = await openSession({
          address: '127.0.0.1',
          port,
          localAddress: null,
          heloName: 'client.test',
          serverName: 'mx.a.test',
          tls: { mode: 'opportunistic', verify: false },
          auth: null,
          deadlines: short,
        });
        expect(result).toMatchObject({ kind: 'failed', tlsFailed: true });
        // TLS records only: handshake or alert, never a command.
        const after = Buffer.concat(sent);
        if (after.length > 0) expect([0x15, 0x16]).toContain(after[0] ?? -1);
        expect(after.toString('latin1')).not.toMatch(/EHLO|MAIL|QUIT|RSET/);
      });
    }
  }

  test('what the server injected is never taken for an extension or a reply', async () => {
    // The same server, but it does shake hands: the session must not know of AUTH.
    const { port } = await start(chains.good, { stage: 'starttls', behaviour: 'extra' });
    expect(await open(port, { mode: 'opportunistic', verify: false })).toMatchObject({
      kind: 'failed',
      stage: 'handshake',
      cause: 'the server sent plaintext where the TLS handshake was expected',
    });
    expect(receiver?.commands.filter(({ isSecure }) => isSecure)).toEqual([]);
  });
});

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
}

test.each([
  ['expired', 'CERT_HAS_EXPIRED: certificate has expired'],
  ['self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT: self signed certificate'],
  ['unknown CA', 'SELF_SIGNED_CERT_IN_CHAIN: self signed certificate in certificate chain'],
  [
    'wrong name',
    "ERR_TLS_CERT_ALTNAME_INVALID: Hostname/IP does not match certificate's altnames: Host: mx.a.test. is not in the cert's altnames: DNS:mx.b.test",
  ],
] as const)(
  '%s: why it is refused is told whole, and is the trouble of the other side',
  async (name, cause) => {
    const { port } = await start(chains.bad[name]);
    expect(await open(port, { mode: 'required', verify: true, trust: trusted })).toEqual({
      kind: 'failed',
      stage: 'handshake',
      reply: null,
      cause,
      isLocal: false,
      tlsFailed: true,
    });
  },
);

test('what is known of a session over TLS: version, cipher, and the chain up to its root', async () => {
  const { port } = await start({ ...chains.goodWithIntermediate, maxVersion: 'TLSv1.3' });
  const lengths: number[] = [];
  const opened = await open(port, {
    mode: 'required',
    verify: true,
    trust: trusted,
    checkPeer(chain) {
      lengths.push(chain.length);
      return null;
    },
  });
  if (opened.kind !== 'ready') throw new Error('not ready');
  expect(opened.session.tls).toEqual({
    version: 'TLSv1.3',
    cipher: expect.stringMatching(/^TLS_[A-Z0-9_]+$/) as string,
    isVerified: true,
  });
  // With the root, which the runtime adds.
  expect(lengths).toEqual([3]);
  await opened.session.quit();
});
