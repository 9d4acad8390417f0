/** What an appliance hands to its parts, with files and on a database that others may share. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAppliance } from '../../src/appliance/appliance.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import * as contexts from '../../src/appliance/context.ts';
import { HttpListener } from '../../src/appliance/http-listener.ts';
import * as reloading from '../../src/appliance/reload.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { isId } from '../../src/base/ids.ts';
import { LimitedLog } from '../../src/base/limited-log.ts';
import { createLog } from '../../src/base/log.ts';
import { Periodic } from '../../src/base/periodic.ts';
import { NodeSession } from '../../src/flow/node-session.ts';
import * as queues from '../../src/flow/queue/queue.ts';
import * as sharing from '../../src/flow/shared-job.ts';
import * as keeping from '../../src/flow/upkeep/certificates.ts';
import * as descriptors from '../../src/flow/upkeep/descriptors.ts';
import { TestClock } from '../rig/clock.ts';
import { testServer } from '../rig/postgres.ts';

let folder: string;
let log: Record<string, unknown>[];
let clock: TestClock;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wiring-'));
  log = [];
  clock = new TestClock();
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** The arguments with which an export that is a class was made, each time. */
function made(module: object, name: string): unknown[][] {
  const exported = module as Record<string, unknown>;
  const original = exported[name] as new (...args: unknown[]) => unknown;
  const all: unknown[][] = [];
  const spied = module as Record<string, (...args: unknown[]) => unknown>;
  spyOn(spied, name).mockImplementation((...args) => {
    all.push(args);
    return new original(...args);
  });
  return all;
}

function start(mode: string, more = ''): Promise<Appliance> {
  const text = `hostname = "mail.rig.test"\ndata_dir = "${folder}"\n${more}[http]\nlisten = "127.0.0.1:0"\n[delivery]\nmode = "${mode}"\n[smtp]\ninbound = "127.0.0.1:0"\nsubmission = ["127.0.0.1:0"]\nsubmissions = ["127.0.0.1:0"]\n`;
  const write = (line: string): void => {
    const read = JSON.parse(line) as Record<string, unknown>;
    // What a busy machine causes is left out.
    if (!String(read['event']).startsWith('loop_')) log.push(read);
  };
  const options = { clock, log: createLog(write, () => 0) };
  return startAppliance(parseConfig(text, 'rig'), options);
}

test('with files: every listener may rest, certificates are its own, and no job is shared', async () => {
  const watches = made(descriptors, 'DescriptorWatch');
  const keepers = made(keeping, 'CertificateKeeper');
  const jobs = made(sharing, 'SharedJob');
  const all = made(queues, 'Queue');
  const renew = spyOn(reloading, 'renewCertificates').mockReturnValue();
  const appliance = await start('direct');
  const [watchLog, restable] = watches[0] ?? [];
  expect([watches.length, watchLog instanceof LimitedLog]).toEqual([1, true]);
  const listeners = restable as { constructor: unknown }[];
  expect(listeners.map(({ constructor }) => constructor === HttpListener)).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect([new Set(listeners).size, jobs]).toEqual([4, []]);
  const [ctx, whenRenewed, shared] = keepers[0] ?? [];
  expect([ctx, shared]).toEqual([appliance.ctx, null]);
  (whenRenewed as () => void)();
  expect(renew.mock.calls.map(([of, { http }]) => [of === ctx, http === listeners[0]])).toEqual([
    [true, true],
  ]);
  expect(all.map(([, , options]) => options)).toEqual([{ captureAt: null }]);
  expect([appliance.capture, appliance.addresses.capture]).toEqual([null, null]);
  // Without an emulator it is reached under whatever name leads to it.
  const url = appliance.addresses.http;
  const health = await fetch(`${url}/health`, { headers: { host: 'any.example' } });
  expect(health.status).toBe(200);
  expect(appliance.reload()).toEqual({ needs_restart: [], new_certificate: false });
  await appliance.stop();
});

test('in capture mode the queue delivers to the receiver whose address is shown', async () => {
  const all = made(queues, 'Queue');
  const appliance = await start('capture');
  const { addresses, capture } = appliance;
  const [, , options] = all[0] ?? [];
  const { captureAt } = options as { captureAt: { host: string; port: number } };
  expect(addresses.capture).toBe(`${captureAt.host}:${captureAt.port}`);
  expect(captureAt).toEqual({ host: '127.0.0.1', port: expect.any(Number) as number });
  expect([capture === null, addresses.control]).toEqual([false, `${folder}/control.sock`]);
  await appliance.stop();
});

test('on a database jobs and certificates are shared, beats tell what is taken, and a drain ends the part', async () => {
  const url = await (await testServer()).freshDatabase();
  const keepers = made(keeping, 'CertificateKeeper');
  const jobs = made(sharing, 'SharedJob');
  const beat = spyOn(NodeSession.prototype, 'onBeat');
  const drain = spyOn(NodeSession.prototype, 'onDrain');
  const { end: endSession } = NodeSession.prototype as { end: () => Promise<void> };
  const end = spyOn(NodeSession.prototype, 'end');
  spyOn(NodeSession.prototype, 'leave').mockResolvedValue();
  const open = spyOn(contexts, 'openContext');
  const appliance = await start('direct', `[store]\nurl = "${url}"\n`);
  const { ctx, queue, dispatcher } = appliance;
  const names = ['domains', 'brake', 'retention'];
  expect(jobs.map(([, name]) => name).slice(0, 3)).toEqual(names);
  const holders = jobs
    .slice(0, 3)
    .map(([parts]) => parts as ConstructorParameters<typeof sharing.SharedJob>[0]);
  const [{ holder } = { holder: '' }] = holders;
  expect(isId(holder)).toBe(true);
  expect(holders.map(({ store, clock }) => [store === ctx.store, clock === ctx.clock])).toEqual(
    names.map(() => [true, true]),
  );
  expect(holders.every((one) => one.holder === holder)).toBe(true);
  const [, , shared] = keepers[0] ?? [];
  expect(Object.keys(shared as object).toSorted()).toEqual(['certificates', 'store']);

  spyOn(queue, 'counts').mockReturnValue({ inLines: 5, inFlight: 3 });
  expect(beat.mock.calls[0]?.[0]()).toEqual({ taken: 8, inDelivery: 3 });

  const exit = spyOn(process, 'exit').mockReturnValue(undefined as never);
  open.mock.calls[0]?.[1].server?.ended();
  expect(exit.mock.calls).toEqual([[1]]);

  const order: string[] = [];
  const stopQueue = queue.stop.bind(queue);
  spyOn(queue, 'stop').mockImplementation(async () => {
    await stopQueue();
    await new Promise((resolve) => setImmediate(resolve));
    order.push('the queue has stopped');
  });
  end.mockImplementation(async function (this: NodeSession) {
    order.push('the session ends');
    await endSession.call(this);
    order.push('the session has ended');
  });
  const stop = spyOn(dispatcher, 'stop');
  const jobStops = spyOn(Periodic.prototype, 'stop');
  log = [];
  drain.mock.calls[0]?.[0]();
  while (log.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(log).toEqual([
    {
      time: '1970-01-01T00:00:00.000Z',
      level: 'info',
      event: 'node_drained',
      hint: 'Stop the server now, or start it anew to take part again.',
    },
  ]);
  expect(order).toEqual(['the queue has stopped', 'the session ends', 'the session has ended']);
  expect(stop.mock.calls).toHaveLength(1);
  // Domains, brake, retention, and the look at what other nodes have changed.
  expect(jobStops.mock.calls).toHaveLength(4);
  await appliance.stop();
}, 60_000);
