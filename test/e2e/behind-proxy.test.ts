/**
 * Who may read /metrics and the details of /health behind a reverse proxy: the client the proxy names, if the operator
 * trusts that proxy, and nobody else's word. On the compiled binary, with proxies that come and go by a reload.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { request } from 'node:http';

import { BinaryAppliance } from '../rig/binary.ts';

const PROXY = '127.0.0.2';
const OTHER_PROXY = '127.0.0.3';
/** One that may read for itself, too. */
const READING_PROXY = '127.0.0.4';
const READER = '192.0.2.7';
const UNTRUSTED = '203.0.113.9';

let appliance: BinaryAppliance;

const configOf = (proxies: string[]): string =>
  `metrics_networks = ["192.0.2.0/24", "${READING_PROXY}/32"]\ntrusted_proxies = ${JSON.stringify(proxies)}`;

beforeAll(async () => {
  appliance = await BinaryAppliance.start({
    config: configOf([`${PROXY}/32`, `${READING_PROXY}/32`]),
  });
});
afterAll(() => appliance.stop());

async function trust(proxies: string[]): Promise<void> {
  appliance.writeConfig('mail.rig.test', configOf(proxies));
  expect(await appliance.json(['reload'])).toMatchObject({ needs_restart: [] });
}

/** Asks from an address of this machine. */
function ask(path: string, from: string, headers: Record<string, string>): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { localAddress: from, agent: false, headers };
    const call = request(appliance.url + path, options, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('end', () => resolve(new Response(body, { status: answer.statusCode ?? 0 })));
    });
    call.once('error', reject);
    call.end();
  });
}

async function mayRead(from: string, headers: Record<string, string> = {}): Promise<boolean> {
  const metrics = await ask('/metrics', from, headers);
  if (metrics.status === 200) expect(await metrics.text()).toContain('postrider_build_info');
  else expect([metrics.status, await metrics.json()]).toMatchObject([404, { code: 'not_found' }]);
  // Both are decided alike: /health is open to all, but says more to readers when it has more to say.
  expect((await ask('/health', from, headers)).status).toBe(200);
  return metrics.status === 200;
}

const forwarded = (...hops: string[]) => ({ 'X-Forwarded-For': hops.join(', ') });

test.each([
  ['the trusted proxy speaks for a reader', PROXY, forwarded(READER), true],
  ['it forwards for an untrusted client', PROXY, forwarded(UNTRUSTED), false],
  ['an untrusted client sent a header of its own', PROXY, forwarded(READER, UNTRUSTED), false],
  ['the reader did', PROXY, forwarded(UNTRUSTED, READER), true],
  ['two trusted hops', PROXY, forwarded(READER, PROXY), true],
  ['the proxy asks for itself', PROXY, {}, false],
  ['it names nobody', PROXY, forwarded('unknown'), false],
  ['another proxy speaks for a reader', OTHER_PROXY, forwarded(READER), false],
  ['a client says it is the reader', '127.0.0.1', forwarded(READER), false],
  ['a proxy that is a reader asks for itself', READING_PROXY, {}, true],
  ['it forwards for an untrusted client', READING_PROXY, forwarded(UNTRUSTED), false],
  [
    'it names its client in no header that is read',
    READING_PROXY,
    { 'X-Real-IP': UNTRUSTED },
    false,
  ],
  ['another header says so', PROXY, { 'X-Real-IP': READER }, false],
] as const)('%s', async (_, from, headers, expected) => {
  expect(await mayRead(from, headers)).toBe(expected);
});

test('a reload changes whose word counts, without a restart', async () => {
  await trust([`${OTHER_PROXY}/32`]);
  expect(await mayRead(OTHER_PROXY, forwarded(READER))).toBe(true);
  expect(await mayRead(PROXY, forwarded(READER))).toBe(false);
  await trust([]);
  expect(await mayRead(OTHER_PROXY, forwarded(READER))).toBe(false);
  await trust([`${PROXY}/32`, `${OTHER_PROXY}/32`]);
  expect(await mayRead(PROXY, forwarded(READER, OTHER_PROXY))).toBe(true);
});
