/**
 * A receiver that asks to slow down, as the operator sees it: named on the overview and above the queue with its reason
 * and when it ends, what waits for it grouped by destination and by reason, and all of it gone after a retry.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { type MachineClock, systemClock } from '../../../src/base/clock.ts';
import { startNames, type Names } from '../../rig/names.ts';
import { startReceiver, type Receiver } from '../../rig/receiver.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

const DEFERRAL = '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred';
const FULL = '452 4.2.2 The mailbox is full';
/** How far the wall clock was set forward since the start. */
const SET_FORWARD_MS = 3_600_000;

let names: Names;
let receiver: Receiver;
let rig: DashboardRig;
let setForwardMs = 0;
const clock: MachineClock = { ...systemClock, now: () => Date.now() + setForwardMs };

beforeAll(async () => {
  names = await startNames();
  receiver = await startReceiver({ hostname: 'mta5.am0.yahoodns.net' });
  for (const [domain, host] of [
    ['slow.test', 'mta5.am0.yahoodns.net'],
    ['full.test', 'mx.full.test'],
  ] as const) {
    names.set(domain, 'MX', [`10 ${host}`]);
    names.set(host, 'A', [receiver.host]);
  }
  receiver.script.rcpt = (to) =>
    to.endsWith('@slow.test') ? DEFERRAL : to.endsWith('@full.test') ? FULL : null;
  rig = await startDashboardRig({
    clock,
    config: `[dns]\nservers = ["${names.listen.host}:${names.listen.port}"]`,
    delivery: `port = ${receiver.port}\nallow_networks = ["127.0.0.0/8"]`,
  });
});
afterAll(async () => {
  await rig.stop();
  await Promise.all([names.stop(), receiver.stop()]);
});

async function attempted(to: string): Promise<void> {
  const id = await rig.send({ from: 'a@sender.example', to, subject: to, text: 't' });
  await rig.rig.log.first((line) => line.event === 'attempt' && line['message_id'] === id);
}

/** The texts of the cells of a card's table, row by row; null: there is no such card. */
function rowsOf(page: string, title: string | RegExp): string[][] | null {
  const cards = page.split('<section class="card">').slice(1);
  const found = cards.find((card) => {
    const heading = /<h2>([^<]*)<\/h2>/.exec(card)?.[1] ?? '';
    return typeof title === 'string' ? heading === title : title.test(heading);
  });
  return found === undefined ? null : tableIn(found.slice(0, found.indexOf('</section>')));
}

function tableIn(markup: string): string[][] {
  const body = /<tbody>(.*?)<\/tbody>/s.exec(markup)?.[1] ?? '';
  return body
    .split('</tr>')
    .slice(0, -1)
    .map((row) =>
      Array.from(row.matchAll(/<td[^>]*>(.*?)<\/td>/gs), ([, cell = '']) =>
        cell
          .replaceAll(/<[^>]*>/g, ' ')
          .replaceAll(/\s+/g, ' ')
          .trim(),
      ),
    );
}

const SLOWED = /asked to slow down$/;

test('nobody is named while nobody asked', async () => {
  expect(rowsOf((await rig.visit('')).text, SLOWED)).toBeNull();
  expect(rowsOf((await rig.visit('/queue')).text, SLOWED)).toBeNull();
});

test('the overview names the receiver, its reply with the hint, and the end by the wall clock', async () => {
  await attempted('one@slow.test');
  setForwardMs = SET_FORWARD_MS;
  const { text } = await rig.visit('');
  expect(text).toContain('<h2>1 receiver asked to slow down</h2>');
  const [row, ...others] = rowsOf(text, SLOWED) ?? [];
  expect(others).toEqual([]);
  const [site, reason, until = ''] = row ?? [];
  expect(site).toBe('Yahoo');
  expect(reason).toContain(`replied ${DEFERRAL}`);
  expect(reason).toContain('See https://senders.yahooinc.com/');
  // A minute from the reply, which came a moment ago.
  const leftMs = Date.parse(until.replace(' UTC', 'Z').replace(' ', 'T')) - clock.now();
  expect(leftMs).toBeLessThanOrEqual(60_000);
  expect(leftMs).toBeGreaterThan(0);
});

test('the queue is grouped by destination, and one of them by reason', async () => {
  await attempted('two@slow.test');
  await attempted('three@slow.test');
  await attempted('four@full.test');
  const { text } = await rig.visit('/queue');
  expect(rowsOf(text, SLOWED)?.map(([site]) => site)).toEqual(['Yahoo']);
  const list = tableIn(text.slice(text.lastIndexOf('<table>')));
  expect(list.map(([domain, waiting]) => [domain, waiting])).toEqual([
    ['slow.test', '3'],
    ['full.test', '1'],
  ]);
  expect(list[0]?.[3]).toContain('[TSS04]');
  expect(list[1]?.[3]).toContain(FULL);

  const one = (await rig.visit('/queue?domain=slow.test')).text;
  const groups = rowsOf(one, 'Reasons') ?? [];
  expect(groups.map(([, waiting]) => waiting)).toEqual(['2', '1']);
  // As every time of a page, so that a script can show it in the reader's zone; no milliseconds.
  const until = /Slowed down until <time datetime="([^"]+)">([^<]+) UTC<\/time>: mta5/.exec(one);
  expect(until?.[1]?.slice(0, 19)).toBe(until?.[2]?.replace(' ', 'T') ?? '');
  expect(groups[0]?.[0]).toStartWith('Slowed down until ');
  expect(groups[1]?.[0]).toStartWith('mta5.am0.yahoodns.net (127.0.0.1) replied 421');
  expect(one).toContain('three@slow.test');
  expect(one).not.toContain('four@full.test');
});

test('a reason that all share is said once, in its own card', async () => {
  await attempted('five@full.test');
  const { text } = await rig.visit('/queue?domain=full.test');
  expect(text.split(FULL).length - 1).toBe(1);
  expect(rowsOf(text, 'Reasons')?.map(([, waiting]) => waiting)).toEqual(['2']);
});

test('a retry ends the pause, and the card with it', async () => {
  receiver.script.rcpt = () => null;
  await rig.submit('/queue/retry', { domain: 'slow.test' });
  await receiver.messages.atLeast(3, ({ to }) => to.some((one) => one.endsWith('@slow.test')));
  await rig.rig.log.atLeast(
    3,
    (line) =>
      line.event === 'attempt' && line['domain'] === 'slow.test' && line['status'] === 'delivered',
  );
  expect(rowsOf((await rig.visit('')).text, SLOWED)).toBeNull();
  expect((await rig.visit('/queue?domain=slow.test')).text).toContain(
    'No recipients are waiting for slow.test.',
  );
});
