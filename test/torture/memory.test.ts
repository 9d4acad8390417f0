/**
 * Memory of the binary while more comes in than it could keep: bodies of 14 MB, whole and unfinished, and submissions.
 *
 * docs/reliability.md R56. POSTRIDER_BODIES and POSTRIDER_SUBMISSIONS change how many come at once.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { connect } from 'node:net';

import { unitEnvironment } from '../../scripts/bench-postrider.ts';
import { flood, floodMail, memoryOf, statuses } from '../rig/flood.ts';
import { bulkKey, FAST_PLAN } from '../rig/bulk-account.ts';
import { startWorld, type World } from '../rig/world.ts';

const BODIES = Number(process.env['POSTRIDER_BODIES'] ?? 100);
const SUBMISSIONS = Number(process.env['POSTRIDER_SUBMISSIONS'] ?? 50);
const MAX_MIB = 768;
/** The client is on the same two cores and sends 1.4 GB: both say only that nothing hangs (see `event-loop.test.ts`). */
const READY_MEDIAN_MS = 2_000;
const READY_WORST_MS = 15_000;
const BODY_BYTES = 14 * 1024 * 1024 - 64;
/** An accepted one: the plan allows 10 MB of attachments. */
const BASE64_BYTES = 13_300_000;

let world: World;
let bulk: string;
let submissions: number;
beforeAll(async () => {
  world = await startWorld({
    config: `${FAST_PLAN}[api]\nsingle_send = "full"\n[smtp]\nsubmissions = ["127.0.0.1:0"]`,
    env: unitEnvironment(),
  });
  bulk = await bulkKey(world);
  const ready = await world.appliance.log.first(({ event }) => event === 'ready');
  submissions = Number(/:(\d+)$/.exec(String(ready['submissions']))?.[1]);
}, 30_000);
afterAll(() => world.stop());

function email(content: (space: number) => string, bytes: number): Buffer {
  const around = (middle: string): string =>
    '{"from":"a@bulk.test","to":"delivered@sandbox.test","subject":"s","text":"t",' +
    `"attachments":[{"filename":"a.bin","content":${middle}}]}`;
  return Buffer.from(around(content(bytes - around('').length)));
}

const base64 = (space: number): string => `"${'QUJD'.repeat((space - 2) >> 2)}"`;
const integers = (space: number): string => `[${'200,'.repeat((space - 6) >> 2)}1]`;
const lists = (space: number): string => `[${'[],'.repeat(Math.floor((space - 4) / 3))}[]]`;

/** What others notice meanwhile: waits for `/ready` and statuses of small sends. */
async function beside<T>(
  work: Promise<T>,
): Promise<{ result: T; waits: number[]; sends: Set<number> }> {
  const seen = { isOver: false, waits: [] as number[], sends: new Set<number>() };
  const ended = work.finally(() => {
    seen.isOver = true;
  });
  while (!seen.isOver) {
    const began = performance.now();
    await (await fetch(`${world.appliance.url}/ready`)).text();
    seen.waits.push(performance.now() - began);
    const small = { from: 'a@example.org', to: 'delivered@sandbox.test', subject: 's', text: 't' };
    const sent = await world.appliance.api('POST', '/emails', small);
    await sent.text();
    seen.sends.add(sent.status);
    await Bun.sleep(20);
  }
  seen.waits.sort((one, other) => one - other);
  return { result: await ended, waits: seen.waits, sends: seen.sends };
}

function expectServed(seen: { waits: number[]; sends: Set<number> }, what: object): void {
  const { nowMib, peakMib } = memoryOf(world.appliance.pid);
  const median = seen.waits[seen.waits.length >> 1] ?? 0;
  const worst = seen.waits.at(-1) ?? 0;
  const figures = {
    ...what,
    nowMib,
    peakMib,
    medianMs: Math.round(median),
    worstMs: Math.round(worst),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(peakMib).toBeLessThan(MAX_MIB);
  expect(median).toBeLessThan(READY_MEDIAN_MS);
  expect(worst).toBeLessThan(READY_WORST_MS);
  expect([...seen.sends]).toEqual([200]);
}

test.each([
  ['base64', email(base64, BASE64_BYTES), ['200', '503'], 0],
  ['integer lists', email(integers, BODY_BYTES), ['200', '422', '503', 'none'], 0],
  ['lists of nothing', email(lists, BODY_BYTES), ['422', '503'], 0],
  ['unfinished bodies', email(base64, BODY_BYTES), ['400', '503', 'none'], 1_000],
])(
  '100 parallel requests of 14 MB, %s',
  async (name, body, expected, missing) => {
    const head =
      `POST /emails HTTP/1.1\r\nHost: rig.test\r\nAuthorization: Bearer ${bulk}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const request = {
      port: Number(new URL(world.appliance.url).port),
      head,
      body,
      stopAfter: body.length - missing,
      waitMs: missing > 0 ? 4_000 : 30_000,
    };
    const all = Promise.all(Array.from({ length: BODIES }, () => flood(request)));
    const seen = await beside(all);
    const counts = statuses(seen.result);
    expectServed(seen, { name, ...counts });
    expect(expected).toEqual(expect.arrayContaining(Object.keys(counts)));
    for (const answer of seen.result) {
      if (answer.startsWith('HTTP/1.1 503')) expect(answer).toMatch(/retry-after: \d+/i);
    }
  },
  90_000,
);

test('50 submissions of 13 MB at once', async () => {
  const body = Buffer.from(
    `From: a@bulk.test\r\nSubject: s\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(13_000_000 / 78)}.\r\n`,
  );
  const one = { port: submissions, token: bulk, body };
  const all = Promise.all(Array.from({ length: SUBMISSIONS }, () => floodMail(one)));
  const seen = await beside(all);
  const codes = seen.result.map((reply) => reply.slice(0, 9));
  const accepted = codes.filter((code) => code === '250 2.0.0').length;
  expectServed(seen, { name: 'submissions', accepted, of: codes.length });
  expect(accepted).toBeGreaterThan(0);
  expect(new Set(codes)).toEqual(new Set(['250 2.0.0', '452 4.3.1']));
}, 90_000);

test('100 downloads of 10 MB that nobody reads, and one that is read', async () => {
  const sent = await world.appliance.api(
    'POST',
    '/emails',
    JSON.parse(String(email(base64, BASE64_BYTES))),
    {
      authorization: `Bearer ${bulk}`,
    },
  );
  const { id } = (await sent.json()) as { id: string };
  const list = await world.appliance.api('GET', `/emails/${id}/attachments`, undefined, {
    authorization: `Bearer ${bulk}`,
  });
  const { data } = (await list.json()) as { data: { download_url: string; size: number }[] };
  const { pathname, search } = new URL(data[0]?.download_url ?? '');
  const port = Number(new URL(world.appliance.url).port);
  const sockets = Array.from({ length: BODIES }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    socket.on('error', () => socket.destroy());
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: rig.test\r\n\r\n`);
    return socket;
  });
  const seen = await beside(Bun.sleep(2_000));
  expectServed(seen, { name: 'downloads' });
  for (const socket of sockets) socket.destroy();
  await eventually(async () => {
    const whole = await fetch(`${world.appliance.url}${pathname}${search}`);
    return (await whole.arrayBuffer()).byteLength === data[0]?.size;
  });
}, 60_000);

/** Waits until `isTrue`: the server learns on its own time that clients are gone. */
async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  for (const until = Date.now() + 10_000; Date.now() < until; await Bun.sleep(100)) {
    if (await isTrue()) return;
  }
  throw new Error('it did not become true within 10 s');
}
