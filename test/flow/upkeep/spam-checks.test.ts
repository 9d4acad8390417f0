/** Questions to the operator's rspamd: what is sent, to whom, how often, and every end. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';

import { ConfigHolder } from '../../../src/appliance/config-holder.ts';
import { parseConfig } from '../../../src/base/config-file.ts';
import type { CapturedMessage } from '../../../src/flow/upkeep/capture.ts';
import { SpamChecks } from '../../../src/flow/upkeep/spam-checks.ts';
import type { Resolver } from '../../../src/wire/dns/resolver.ts';
import { TestClock } from '../../rig/clock.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { openClosedPort } from '../../rig/closed-port.ts';
import { startHook } from '../../rig/hook.ts';
import { type RspamdStub, saying, startRspamdStub, ANSWER } from '../../rig/rspamd-stub.ts';

let stub: RspamdStub;
beforeEach(async () => {
  stub = await startRspamdStub();
});
afterEach(() => stub.stop());

const asked: string[] = [];
const resolver = {
  async a(name: string) {
    asked.push(name);
    return { kind: 'nodata', isAuthenticated: false };
  },
  async aaaa() {
    return { kind: 'nodata', isAuthenticated: false };
  },
} as unknown as Resolver;

const configOf = (url: string) =>
  parseConfig(`hostname = "mail.rig.test"\n[inbox]\nrspamd_url = "${url}"\n`, 'test');

function checksOf(url = stub.url, timeoutMs = 10_000) {
  const clock = new TestClock();
  const config = new ConfigHolder(configOf(url));
  return { clock, config, checks: new SpamChecks({ config, clock, resolver }, timeoutMs) };
}

function message(number: number, fields: Partial<CapturedMessage> = {}): CapturedMessage {
  return {
    number,
    receivedAt: 0,
    returnPath: 'b.1@send.sender.example',
    recipient: 'ann@receiver.example',
    subject: 's',
    from: 'f',
    raw: Buffer.from('Subject: s\r\n\r\n\u0000bytes \xff'),
    ...fields,
  };
}

test('sends the bytes of the message with its envelope, and reads the score', async () => {
  const { checks, clock } = checksOf(`${stub.url}/below/`);
  clock.jump(5_000);
  const one = message(1);
  const check = await checks.check(one);
  expect(check).toMatchObject({ kind: 'scored', at: clock.now(), score: { points: 12.7 } });
  const [request] = stub.requests;
  expect(request?.path).toBe('/below/checkv2');
  expect(request?.body.equals(one.raw)).toBe(true);
  expect(request?.headers).toMatchObject({
    from: one.returnPath,
    rcpt: one.recipient,
    pass: 'all',
    'content-type': 'message/rfc822',
    'content-length': String(one.raw.length),
  });
  // No address and no name of a sending server is known.
  const names = Object.keys(request?.headers ?? {});
  expect(names.filter((name) => ['ip', 'helo', 'hostname', 'user'].includes(name))).toEqual([]);
});

test('addresses beyond ASCII go as UTF-8, empty ones as <>, and no header can be added', async () => {
  const { checks } = checksOf();
  const recipient = 'jörg@приклад.example\r\nIp: 192.0.2.1\u007f';
  await checks.check(message(1, { returnPath: '', recipient }));
  const [request] = stub.requests;
  expect(request?.headers.from).toBe('<>');
  const rcpt = Buffer.from(String(request?.headers['rcpt']), 'latin1').toString('utf8');
  expect(rcpt).toBe('jörg@приклад.exampleIp: 192.0.2.1');
  expect(request?.headers['ip']).toBeUndefined();
  await checks.check(message(2, { returnPath: recipient }));
  const from = Buffer.from(String(stub.requests[1]?.headers.from), 'latin1').toString('utf8');
  expect([from, stub.requests[1]?.headers['ip']]).toEqual([rcpt, undefined]);
});

test('without a configured rspamd nothing is asked', async () => {
  const { checks } = checksOf('');
  expect(await checks.check(message(1))).toEqual({ kind: 'off' });
  expect([stub.requests, asked]).toEqual([[], []]);
});

test('a message is asked about once a minute, however often it is looked at', async () => {
  const { checks, clock } = checksOf();
  await Promise.all([checks.check(message(1)), checks.check(message(1))]);
  await clock.advance(59_999);
  await checks.check(message(1));
  expect(stub.requests).toHaveLength(1);
  await clock.advance(1);
  await checks.check(message(1));
  await checks.check(message(2));
  expect(stub.requests).toHaveLength(3);
});

test('a failure is asked again after five seconds, and a new address at once', async () => {
  const closed = await openClosedPort();
  const url = `http://127.0.0.1:${closed.port}`;
  const { checks, clock, config } = checksOf(url);
  const failed = { kind: 'failed', url, reason: 'the connection was refused', statusCode: null };
  expect(await checks.check(message(1))).toMatchObject(failed);
  config.replaceLive(configOf(stub.url).live);
  expect(await checks.check(message(1))).toMatchObject({ kind: 'scored' });
  stub.answerWith((response) => response.writeHead(500).end());
  expect(await checks.check(message(2))).toMatchObject({ kind: 'failed' });
  stub.answerWith(saying(JSON.stringify(ANSWER)));
  await clock.advance(4_999);
  expect(await checks.check(message(2))).toMatchObject({ kind: 'failed' });
  await clock.advance(1);
  expect(await checks.check(message(2))).toMatchObject({ kind: 'scored' });
  closed.stop();
});

test('four questions at once, whoever asks; the fifth is told to come again', async () => {
  const { checks } = checksOf();
  const open: (() => void)[] = [];
  stub.answerWith((response) => open.push(() => response.end(JSON.stringify(ANSWER))));
  const first = [1, 2, 3, 4].map((number) => checks.check(message(number)));
  expect(await checks.check(message(5))).toEqual({ kind: 'busy' });
  // Whoever looks at one of the four waits with them.
  const again = checks.check(message(4));
  while (open.length < 4) await new Promise((resolve) => setImmediate(resolve));
  for (const answer of open) answer();
  for (const check of await Promise.all([...first, again])) expect(check.kind).toBe('scored');
  stub.answerWith(saying(JSON.stringify(ANSWER)));
  expect((await checks.check(message(5))).kind).toBe('scored');
  expect(stub.requests).toHaveLength(5);
});

test('only the last fifty results are kept', async () => {
  const { checks } = checksOf();
  for (let number = 1; number <= 51; number += 1) await checks.check(message(number));
  await checks.check(message(2));
  expect(stub.requests).toHaveLength(51);
  await checks.check(message(1));
  expect(stub.requests).toHaveLength(52);
});

test('a result that was asked for anew is as new as any', async () => {
  const { checks, clock } = checksOf();
  for (let number = 1; number <= 50; number += 1) await checks.check(message(number));
  await clock.advance(60_000);
  await checks.check(message(1));
  // One more than is kept: the oldest of them goes, which is the second now.
  await checks.check(message(51));
  await checks.check(message(1));
  expect(stub.requests).toHaveLength(52);
});

test('a message of more than 10 MiB is not sent', async () => {
  const { checks } = checksOf();
  const maxBytes = 10 * 1024 * 1024;
  const raw = Buffer.alloc(maxBytes, 'x');
  expect((await checks.check(message(1, { raw }))).kind).toBe('scored');
  expect(stub.requests[0]?.body).toHaveLength(maxBytes);
  const larger = message(2, { raw: Buffer.alloc(maxBytes + 1) });
  expect(await checks.check(larger)).toEqual({ kind: 'too_large', maxBytes });
});

test.each([
  [401, '{"error":"Unauthorized"}', 'it answered with status 401', 401],
  [302, '', 'it answered with status 302', 302],
  [204, '', 'it answered with status 204', 204],
  [200, '<html>', 'what it answered is not what rspamd answers', 200],
  [200, '{"score":1}', 'what it answered is not what rspamd answers', 200],
  [200, 'x'.repeat(256 * 1024 + 1), 'the answer is too long', null],
])('an answer with status %j and %.20p', async (status, text, reason, statusCode) => {
  const { checks } = checksOf();
  stub.answerWith((response) => response.writeHead(status).end(text));
  const failed = { kind: 'failed', url: stub.url, reason, statusCode };
  expect(await checks.check(message(1))).toEqual(failed as never);
});

test('an answer of 256 KiB is read, and five seconds are waited for it', async () => {
  const { config, clock } = checksOf();
  const text = JSON.stringify(ANSWER);
  stub.answerWith(saying(text.padEnd(256 * 1024)));
  const armed = spyOn(globalThis, 'setTimeout');
  const check = await new SpamChecks({ config, clock, resolver }).check(message(1));
  const waits = armed.mock.calls.map(([, ms]) => ms);
  armed.mockRestore();
  expect([check.kind, waits.includes(5_000)]).toEqual(['scored', true]);
});

test('an rspamd that says nothing is waited for so long, and a host is looked up in DNS', async () => {
  const { checks } = checksOf(stub.url, 200);
  stub.answerWith(() => undefined);
  const reason = 'no complete answer within 0.2 s';
  expect(await checks.check(message(1))).toMatchObject({ kind: 'failed', reason });
  const { checks: named } = checksOf('http://spam.rig.test:11333');
  expect(await named.check(message(1))).toMatchObject({
    reason: 'the host has no address in DNS',
  });
  expect(asked).toEqual(['spam.rig.test']);
});

test('a wall clock that is set keeps no result for longer or shorter, and is what a score is dated by', async () => {
  const { checks, clock } = checksOf();
  clock.jump(-3_600_000);
  const at = clock.now();
  expect(await checks.check(message(1))).toMatchObject({ kind: 'scored', at });
  clock.jump(7_200_000);
  expect(await checks.check(message(1))).toMatchObject({ kind: 'scored', at });
  clock.jump(-7_200_000);
  await clock.advance(60_000);
  expect(await checks.check(message(1))).toMatchObject({ kind: 'scored', at: at + 60_000 });
  expect(stub.requests).toHaveLength(2);
});

test('an rspamd behind TLS is trusted by the extra CA, and by nothing else', async () => {
  const hook = await startHook('spam.rig.test');
  hook.script.answer = () => ({ status: 200, body: JSON.stringify(ANSWER) });
  const nodata = { kind: 'nodata', isAuthenticated: false };
  const found = { ...nodata, kind: 'found', records: ['127.0.0.1'], ttlSeconds: 0 };
  const names = { a: async () => found, aaaa: async () => nodata } as unknown as Resolver;
  const inbox = `[inbox]\nrspamd_url = "https://spam.rig.test:${hook.port}"\n`;
  const check = (tls: string) => {
    const config = parseConfig(`hostname = "mail.rig.test"\n${inbox}${tls}`, 'test');
    return new SpamChecks({ config, clock: new TestClock(), resolver: names }).check(message(1));
  };
  const extraCa = `[tls]\nextra_ca_file = ${JSON.stringify(testAuthority().certFile)}\n`;
  expect((await check(extraCa)).kind).toBe('scored');
  expect((await check('')).kind).toBe('failed');
  const [{ path, method } = { path: '', method: '' }] = hook.calls.items;
  expect([hook.calls.items.length, method, path]).toEqual([1, 'POST', '/checkv2']);
  await hook.stop();
});
