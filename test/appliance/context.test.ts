/** What a context is opened with, where others share the store and where none do, and in which order it is closed. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';
import type { Mock } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { closeContext, openContext } from '../../src/appliance/context.ts';
import * as beginning from '../../src/appliance/node.ts';
import * as opening from '../../src/appliance/open-store.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import type { Context } from '../../src/flow/context.ts';
import type { Nodes } from '../../src/store/nodes.ts';
import * as dns from '../../src/wire/dns/dns.ts';
import { silentResolver } from '../flow/fixture.ts';
import { TestClock } from '../rig/clock.ts';
import { openTestStore } from '../store/test-store.ts';

let folder: string;
/** What was called, in order; each part takes a moment to end. */
let ended: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'context-'));
  ended = [];
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const log = createLog(
  () => undefined,
  () => 0,
);
const server = { ended: () => undefined };
const nodes = { is: 'nodes' } as unknown as Nodes;
const config = () =>
  parseConfig(
    `hostname = "mail.rig.test"\ndata_dir = "${folder}"\n[dns]\nservers = ["127.0.0.9:5353"]\n`,
    'rig',
  );

/** A part that says when it has ended, after so many rounds of the event loop. */
const ends = (name: string, rounds: number) => async () => {
  for (let round = 0; round < rounds; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  ended.push(name);
};

/** A store that others share. */
async function openShared() {
  const store = await openTestStore(folder);
  spyOn(opening, 'openStore').mockResolvedValue({
    store: {
      ...store,
      async close() {
        await store.close();
        ended.push('store');
      },
    },
    nodes,
  });
}

test('a server on a store of several begins a session there, by the time and the log of its parts', async () => {
  await openShared();
  const begin = spyOn(beginning, 'beginSession').mockResolvedValue('the session' as never);
  const { startup, live } = config();
  const ctx = await openContext({ startup, live }, { clock: new TestClock(), log, server });
  const [[session, given] = []] = begin.mock.calls;
  expect([begin.mock.calls.length, session === startup]).toEqual([1, true]);
  expect(Object.keys(given ?? {}).toSorted()).toEqual(['clock', 'ended', 'log', 'nodes']);
  expect([
    given?.clock === ctx.clock,
    given?.log === log,
    given?.nodes === nodes,
    given?.ended === server.ended,
  ]).toEqual([true, true, true, true]);
  expect([ctx.node as unknown, ctx.nodes]).toEqual(['the session', nodes]);
  await ctx.store.close();
});

test('a command on it has none; a session that cannot begin closes the store', async () => {
  await openShared();
  const begin = spyOn(beginning, 'beginSession').mockRejectedValue(new Error('fenced'));
  const ctx = await openContext(config(), { clock: new TestClock(), log });
  expect([ctx.node, ctx.nodes, begin.mock.calls]).toEqual([null, nodes, []]);
  await closeContext(ctx);
  await openShared();
  ended = [];
  const work = openContext(config(), { clock: new TestClock(), log, server });
  expect([await work.catch(String), ended]).toEqual(['Error: fenced', ['store']]);
});

test('long texts of a database are decoded by the thread for large messages, which the context has', async () => {
  await openShared();
  const ctx = await openContext(config(), { clock: new TestClock(), log });
  const decode = spyOn(ctx.large, 'decode').mockResolvedValue('decoded');
  const [[, parts] = []] = (opening.openStore as Mock<typeof opening.openStore>).mock.calls;
  const bytes = Buffer.from('text');
  expect(await parts?.decodeText?.(bytes)).toBe('decoded');
  expect(decode.mock.calls).toEqual([[bytes]]);
  await closeContext(ctx);
});

test('names are looked up at the servers of the config, unless a resolver is given', async () => {
  const create = spyOn(dns, 'createResolver');
  const ctx = await openContext(config(), { clock: new TestClock(), log });
  expect(create.mock.calls).toEqual([
    [{ servers: [{ host: '127.0.0.9', port: 5353 }], clock: ctx.clock }],
  ]);
  expect(ctx.resolver).toBe(create.mock.results[0]?.value as Context['resolver']);
  await closeContext(ctx);
  const resolver = silentResolver();
  const other = await openContext(config(), { clock: new TestClock(), log, resolver });
  expect([other.resolver === resolver, create.mock.calls.length]).toEqual([true, 1]);
  await closeContext(other);
});

test('the store closes when all that writes to it has ended, and the session before it', async () => {
  await closeContext({
    keyUses: { flush: ends('key uses', 3) },
    signing: { stop: () => void ended.push('signing') },
    large: { stop: () => void ended.push('large messages') },
    node: { end: ends('session', 2) },
    store: { close: ends('store', 1) },
  } as unknown as Context);
  expect(ended).toEqual(['key uses', 'signing', 'large messages', 'session', 'store']);
});
