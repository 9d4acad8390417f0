/** A refusal that is sent before the body was read reaches the client, also where the connection ends with it. */
import { heapStats } from 'bun:jsc';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';

import { UnreadBodies } from '../../src/api/unread-body.ts';
import { startRigAppliance } from '../rig/appliance.ts';
import type { RigAppliance } from '../rig/appliance.ts';
import { testAuthority } from '../rig/certificates.ts';

const CHUNK = Buffer.alloc(64 * 1024, 'a');
/** Over the limit of 14 MB, and more than any socket buffers. */
const TOO_LONG = 20 * 1024 * 1024;

let folder: string;
let plain: RigAppliance;
let secure: RigAppliance;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-413-'));
  const { key, cert } = testAuthority().issue(['mail.rig.test']);
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
  plain = await startRigAppliance();
  secure = await startRigAppliance({
    config: `tls_cert = "${folder}/cert.pem"\ntls_key = "${folder}/key.pem"\n`,
  });
});

afterAll(async () => {
  await Promise.all([plain.stop(), secure.stop()]);
  rmSync(folder, { recursive: true });
});

interface Seen {
  /** Bytes of the body that the client could write. */
  sent: number;
  error: string | null;
  text: string;
}

/** Sends a head and `bytes` of a body that it declares as `TOO_LONG`, and reads until the server closes. */
function send(rig: RigAppliance, first: string, bytes: number): Promise<Seen> {
  const { protocol, port, hostname: host } = new URL(rig.url);
  const isTls = protocol === 'https:';
  const socket = isTls
    ? connectTls({ host, port: Number(port), rejectUnauthorized: false })
    : connect({ host, port: Number(port) });
  const seen: Seen = { sent: 0, error: null, text: '' };
  return new Promise((resolve) => {
    socket.on('data', (data) => (seen.text += data.toString('latin1')));
    socket.on('error', (error) => (seen.error = String(error)));
    socket.on('close', () => resolve(seen));
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.write(`${first}Content-Type: application/json\r\nContent-Length: ${TOO_LONG}\r\n\r\n`);
      const pump = (): void => {
        while (seen.sent < bytes) {
          seen.sent += CHUNK.length;
          if (!socket.write(CHUNK)) {
            socket.once('drain', pump);
            return;
          }
        }
      };
      pump();
    });
  });
}

const HEADS = {
  'HTTP/1.0': 'POST /emails HTTP/1.0\r\n',
  'HTTP/1.0 with a Host': 'POST /emails HTTP/1.0\r\nHost: rig.test\r\n',
  'Connection: close': 'POST /emails HTTP/1.1\r\nHost: rig.test\r\nConnection: close\r\n',
};

describe.each(Object.entries(HEADS))('%s', (_name, first) => {
  test.each(['plain', 'TLS'])(
    'over %s: the 413 arrives, and the whole body is taken',
    async (how) => {
      const rig = how === 'TLS' ? secure : plain;
      for (let time = 0; time < 3; time += 1) {
        const seen = await send(rig, first, TOO_LONG);
        expect({ ...seen, text: seen.text.slice(0, 12) }).toEqual({
          sent: TOO_LONG,
          error: null,
          text: 'HTTP/1.1 413',
        });
        expect(seen.text).toContain('payload_too_large');
        expect(seen.text.toLowerCase()).toContain('x-request-id: ');
      }
    },
  );
});

test('a client that sends nothing more gets the refusal at once, and the connection ends', async () => {
  const seen = await send(plain, HEADS['Connection: close'], 0);
  expect(seen.error).toBeNull();
  expect(seen.text).toContain('payload_too_large');
  expect(seen.text).toEndWith('0\r\n\r\n');
});

test('a client that leaves in the middle harms nobody', async () => {
  const { port, hostname } = new URL(plain.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`${HEADS['HTTP/1.0']}Content-Length: ${TOO_LONG}\r\n\r\n`);
  await new Promise<void>((resolve) => {
    socket.once('data', () => resolve());
  });
  socket.resetAndDestroy();
  expect((await fetch(`${plain.url}/health`)).status).toBe(200);
  expect(plain.log.items.filter(({ level }) => level === 'error')).toEqual([]);
});

test('clients that keep their connection get the refusal with its length, as ever', async () => {
  const response = await fetch(`${plain.url}/emails`, {
    method: 'POST',
    headers: { connection: 'keep-alive', 'content-type': 'application/json' },
    body: CHUNK.toString().repeat(TOO_LONG / CHUNK.length),
  });
  expect(response.status).toBe(413);
  expect(Number(response.headers.get('content-length'))).toBeGreaterThan(100);
  expect(await response.json()).toMatchObject({
    code: 'payload_too_large',
    detail: { max_bytes: 14_680_064 },
  });
});

describe('a client that never ends its body', () => {
  // No time passes but what a test lets pass.
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** A refusal beside a body of which the test gives the pieces; `over` resolves when the response has ended. */
  function refused(bodies = new UnreadBodies()) {
    let give: (bytes: number) => void = () => undefined;
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        give = (bytes) => controller.enqueue(new Uint8Array(bytes));
      },
      cancel() {
        isCancelled = true;
      },
    });
    const request = new Request('http://rig.test/', { method: 'POST', body });
    const response = bodies.after(request, new Response('refused', { status: 413 }));
    let isOver = false;
    const over = response.text().then((text) => {
      isOver = true;
      return text;
    });
    const state = () => ({ isOver, isCancelled });
    return { give: (bytes: number) => give(bytes), over, state };
  }

  /** What has arrived is read, and what ended is told. */
  async function settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    await new Promise((resolve) => process.nextTick(resolve));
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  }

  test('is cut off after twenty seconds, however regularly it sends', async () => {
    const { give, over, state } = refused();
    await settle();
    for (let second = 1; second < 20; second += 1) {
      give(1);
      await settle();
      jest.advanceTimersByTime(1_000);
      await settle();
      expect([second, state().isOver]).toEqual([second, false]);
    }
    give(1);
    await settle();
    jest.advanceTimersByTime(1_000);
    expect(await over).toBe('refused');
    expect(state().isCancelled).toBe(true);
  });

  test('is cut off after two silent seconds, and not after one', async () => {
    const { give, over, state } = refused();
    await settle();
    jest.advanceTimersByTime(1_000);
    await settle();
    give(1);
    await settle();
    jest.advanceTimersByTime(1_000);
    await settle();
    expect(state().isOver).toBe(false);
    jest.advanceTimersByTime(1_000);
    expect(await over).toBe('refused');
  });

  test('is cut off after 64 MiB', async () => {
    const { give, over } = refused();
    for (let piece = 0; piece < 64; piece += 1) give(1024 * 1024);
    expect(await over).toBe('refused');
  });

  test('is cut off when the server stops, and one that comes later is not waited for', async () => {
    const bodies = new UnreadBodies();
    const { over } = refused(bodies);
    await settle();
    bodies.end();
    expect(await over).toBe('refused');
    expect(await refused(bodies).over).toBe('refused');
  });
});

test('what was waited for is forgotten when its response has ended', async () => {
  const bodies = new UnreadBodies();
  const one = async (): Promise<void> => {
    const request = new Request('http://rig.test/', { method: 'POST', body: ended() });
    const response = bodies.after(request, new Response('refused', { status: 413 }));
    expect(await response.text()).toBe('refused');
  };
  const signals = (): number => {
    Bun.gc(true);
    return heapStats().objectTypeCounts['AbortSignal'] ?? 0;
  };
  await one();
  const before = signals();
  for (let count = 0; count < 500; count += 1) await one();
  // Some may be on the stack still.
  expect(signals() - before).toBeLessThan(50);
  bodies.end();
});

/** A body without a length that ends at once. */
function ended(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(CHUNK);
      controller.close();
    },
  });
}
