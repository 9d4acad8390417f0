/** Servers that leave the port of the HTTP listener, over servers that end when the test says so: when, in which order, and what is waited for. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';
import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';

import { IDLE_SECONDS } from '../../src/api/serve.ts';
import { HttpListener } from '../../src/appliance/http-listener.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import * as sharedPort from '../../src/base/shared-port.ts';
import { testAuthority } from '../rig/certificates.ts';

const PORT = 8_025;
const issue = (name: string) => testAuthority().issue([name, '127.0.0.1']);

interface Faked {
  /** Once a stop: whether it cut connections. */
  stops: boolean[];
  /** All its connections have ended. */
  end(): Promise<void>;
}

let servers: Faked[];
let steered: [port: number, index: number][];
let canSteer: boolean;
/** Waits that were begun and not cancelled, with their length. */
let waits: Map<unknown, { ms: number; end: () => void }>;
let http: HttpListener;

function fakeServer() {
  const ended = Promise.withResolvers<void>();
  const stops: boolean[] = [];
  const turn = async (): Promise<void> => {
    ended.resolve();
    for (let round = 0; round < 5; round += 1) await Promise.resolve();
  };
  servers.push({ stops, end: turn });
  return {
    port: PORT,
    hostname: '127.0.0.1',
    pendingRequests: 0,
    // Only the first stop says when all has ended.
    stop: (isCut = false) => (stops.push(isCut) === 1 ? ended.promise : Promise.resolve()),
  };
}

function configOf(pair: { certFile: string; keyFile: string } | null) {
  const tls = pair === null ? '' : `tls_cert = "${pair.certFile}"\ntls_key = "${pair.keyFile}"\n`;
  const text = `hostname = "mail.rig.test"\n[http]\nlisten = "127.0.0.1:0"\n${tls}`;
  return parseConfig(text, 'test');
}

const first = issue('0.example');

beforeEach(async () => {
  [servers, steered, canSteer, waits] = [[], [], true, new Map()];
  spyOn(Bun, 'serve').mockImplementation(fakeServer as never);
  spyOn(sharedPort, 'steerTo').mockImplementation((...to) => {
    steered.push(to);
    return canSteer;
  });
  const api = { handle: () => Promise.resolve(new Response('')), requestId: () => 'unused' };
  http = new HttpListener(configOf(first), api, () => null);
  await http.start();
  spyOn(globalThis, 'setTimeout').mockImplementation(((end: () => void, ms: number) => {
    const timer = {};
    waits.set(timer, { ms, end });
    return timer;
  }) as never);
  spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => void waits.delete(timer));
});
afterEach(() => mock.restore());

/** Ends the oldest wait. */
function endWait(): void {
  const [[timer, wait] = []] = waits;
  waits.delete(timer);
  wait?.end();
}

test('an old server leaves when its idle connections are gone, at once where the port cannot be steered', () => {
  http.change(issue('1.example'));
  expect([...waits.values()].map(({ ms }) => ms)).toEqual([(IDLE_SECONDS + 5) * 1_000]);
  canSteer = false;
  http.change(issue('2.example'));
  expect([...waits.values()].map(({ ms }) => ms)).toEqual([(IDLE_SECONDS + 5) * 1_000, 0]);
});

test('the newest server is steered to by the position it has, whichever of the older ones has gone', () => {
  http.change(issue('1.example'));
  http.change(issue('2.example'));
  expect(steered.splice(0)).toEqual([
    [PORT, 1],
    [PORT, 2],
  ]);
  endWait();
  // The last has the position of the one that has gone.
  expect(steered.splice(0)).toEqual([[PORT, 0]]);
  endWait();
  expect(steered.splice(0)).toEqual([[PORT, 0]]);
  http.change(issue('3.example'));
  expect(steered).toEqual([[PORT, 1]]);
  expect(servers.map(({ stops }) => stops)).toEqual([[false], [false], [], []]);
});

test('a server that left and has ended is not stopped again; one that has not is waited for', async () => {
  http.change(issue('1.example'));
  http.change(issue('2.example'));
  endWait();
  endWait();
  await servers[0]?.end();
  let isStopped = false;
  const stopping = http.stop().then(() => (isStopped = true));
  expect(servers.map(({ stops }) => stops)).toEqual([[false], [false, false], [false]]);
  await servers[2]?.end();
  await servers[1]?.end();
  await stopping;
  expect(isStopped).toBe(true);
});

test('a rest ends the waits of servers that leave, so that none of them counts afterwards', async () => {
  http.change(issue('1.example'));
  const [leaving] = waits.keys();
  http.rest();
  expect(waits.has(leaving)).toBe(false);
  await http.listenAgain();
  http.change(issue('2.example'));
  expect(steered.at(-1)).toEqual([PORT, 1]);
});

test('a stop waits for connections of a server that rests; one that has ended is not stopped again', async () => {
  http.rest();
  let isStopped = false;
  const stopping = http.stop().then(() => (isStopped = true));
  for (let round = 0; round < 20; round += 1) await Promise.resolve();
  expect(isStopped).toBe(false);
  await servers[0]?.end();
  await stopping;
  expect(servers.map(({ stops }) => stops)).toEqual([[false, false]]);
});

test('a server that rested and has ended is forgotten', async () => {
  http.rest();
  await servers[0]?.end();
  await http.listenAgain();
  void http.stop();
  expect(servers.map(({ stops }) => stops)).toEqual([[false], [false]]);
  await servers[1]?.end();
});

test('the pair that is shown now is the one that the next is compared with, cert and key', () => {
  const [old, next] = [configOf(first), issue('1.example')];
  expect(http.prepare(old)).toEqual({ kind: 'none' });
  http.change(next);
  expect(http.prepare(configOf(next))).toEqual({ kind: 'none' });
  expect(http.prepare(old).kind).toBe('pair');
  // The same key in another form is shown too.
  const sec1 = createPrivateKey(next.key).export({ type: 'sec1', format: 'pem' });
  writeFileSync(next.keyFile, sec1);
  expect(http.prepare(configOf(next))).toMatchObject({ kind: 'pair', pair: { key: sec1 } });
});

test('to go from TLS to plain needs a restart', () => {
  expect(http.prepare(configOf(null))).toEqual({ kind: 'restart' });
});
