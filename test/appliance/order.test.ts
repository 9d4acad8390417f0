/**
 * The order in which the parts of an appliance start and stop, each with its end: nothing accepts before what takes it is
 * there, and nothing that takes stops before what accepts.
 */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAppliance } from '../../src/appliance/appliance.ts';
import { HttpListener } from '../../src/appliance/http-listener.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { Periodic } from '../../src/base/periodic.ts';
import { ControlServer } from '../../src/control/server.ts';
import { KeyUses } from '../../src/flow/key-uses.ts';
import { NodeSession } from '../../src/flow/node-session.ts';
import { Queue } from '../../src/flow/queue/queue.ts';
import { Capture } from '../../src/flow/upkeep/capture.ts';
import { CertificateKeeper } from '../../src/flow/upkeep/certificates.ts';
import { WebhookDispatcher } from '../../src/flow/webhooks/dispatcher.ts';
import { Vitals } from '../../src/health/vitals.ts';
import { SigningPool } from '../../src/mail/dkim/signing.ts';
import { LargeMessages } from '../../src/mail/large/large-messages.ts';
import { InboundServer } from '../../src/smtp/inbound.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { TestClock } from '../rig/clock.ts';
import { testServer } from '../rig/postgres.ts';

const PARTS: [{ prototype: object }, ...string[]][] = [
  [Capture, 'start', 'stop'],
  [WebhookDispatcher, 'start', 'stop'],
  [Queue, 'start', 'setResting', 'stop'],
  [HttpListener, 'start', 'stop'],
  [SubmissionServer, 'start', 'stop'],
  [InboundServer, 'start', 'stop'],
  [Periodic, 'start', 'runNow', 'stop'],
  [CertificateKeeper, 'start', 'stop'],
  [Vitals, 'start', 'stop'],
  [ControlServer, 'start', 'stop'],
  [KeyUses, 'flush'],
  [SigningPool, 'stop'],
  [LargeMessages, 'stop'],
  [NodeSession, 'leave', 'end'],
];

let folder: string;
/** What is called of these, one line for what goes on together: a line ends when all of it has ended. */
let lines: string[];
let log: string[];

/** Notes calls from outside of the parts, in `lines`. */
function watch(): void {
  const periodics: unknown[] = [];
  /** Above 0 while a part calls another one. */
  let depth = 0;
  let open = 0;
  for (const [{ prototype }, ...methods] of PARTS) {
    const methodsOf = prototype as Record<string, (...args: unknown[]) => unknown>;
    for (const method of methods) {
      // Three seconds for load balancers.
      const isWait = prototype === NodeSession.prototype && method === 'leave';
      const original = isWait ? () => Promise.resolve() : methodsOf[method];
      if (original === undefined) throw new Error(`there is no ${method}`);
      spyOn(methodsOf, method).mockImplementation(function (this: unknown, ...args: unknown[]) {
        if (depth > 0) return original.apply(this, args);
        let name = prototype.constructor.name;
        if (prototype === Periodic.prototype) {
          if (!periodics.includes(this)) periodics.push(this);
          name += ` ${periodics.indexOf(this) + 1}`;
        }
        // Its own timers may have it run at any moment.
        const before = [`${name}.start`, `${name}.stop`].includes(lines.at(-1) ?? '');
        if (method === 'runNow' && !before) return original.apply(this, args);
        if (open === 0) lines.push(`${name}.${method}`);
        else lines.push(`${lines.pop()} + ${name}.${method}`);
        depth += 1;
        const result = original.apply(this, args);
        depth -= 1;
        if (!(result instanceof Promise)) return result;
        open += 1;
        return result.finally(() => (open -= 1));
      });
    }
  }
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'order-'));
  [lines, log] = [[], []];
  watch();
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

function start(more = '') {
  const text = `hostname = "mail.rig.test"\ndata_dir = "${folder}"\n${more}[http]\nlisten = "127.0.0.1:0"\n[delivery]\nmode = "capture"\n[smtp]\ninbound = "127.0.0.1:0"\n`;
  const clock = new TestClock();
  const write = (line: string): void => {
    const { event } = JSON.parse(line) as { event: string };
    // What a busy machine causes is left out.
    if (!event.startsWith('loop_')) log.push(event);
  };
  return startAppliance(parseConfig(text, 'rig'), { clock, log: createLog(write, () => 0) });
}

const OPENED = [
  'HttpListener.start',
  'Queue.setResting',
  'Queue.start',
  'SubmissionServer.start',
  'InboundServer.start',
  'descriptors.start',
  'CertificateKeeper.start',
  'WebhookDispatcher.start',
];
const CLOSED = [
  'CertificateKeeper.stop',
  'descriptors.stop',
  'SubmissionServer.stop + InboundServer.stop',
  'HttpListener.stop',
];
const FORGOTTEN = ['KeyUses.flush', 'SigningPool.stop', 'LargeMessages.stop'];

/** The names of these, which are numbered as they start. */
function named(...names: string[]): string[] {
  const shown = (line: string): string =>
    line.replaceAll(/Periodic (\d+)/g, (_, at) => names[Number(at) - 1] ?? 'unnamed');
  return lines.splice(0).map(shown);
}

const FILES = ['clock marks', 'disk', 'descriptors', 'domains', 'brake', 'retention'];
const FILES_STOPPED = [
  ...CLOSED,
  'Queue.stop + WebhookDispatcher.stop + domains.stop + brake.stop + retention.stop',
  'disk.stop',
  'Vitals.stop',
  'Capture.stop',
  'clock marks.stop',
  'clock marks.runNow',
  ...FORGOTTEN,
];

test('with files the time is marked before all and after all, and control opens last', async () => {
  const appliance = await start();
  expect(named(...FILES)).toEqual([
    'clock marks.start',
    'Capture.start',
    'disk.start',
    'disk.runNow',
    ...OPENED,
    'domains.start',
    'brake.start',
    'retention.start',
    'Vitals.start',
    'ControlServer.start',
  ]);
  // Of a flood of lines the last ones are counted, and told before the end.
  const flood = Array.from({ length: 21 }, () => 'complaint_unmatched');
  for (const event of flood) appliance.ctx.log.warn(event);
  await appliance.stop();
  expect(named(...FILES)).toEqual(['ControlServer.stop', ...FILES_STOPPED]);
  expect(log).toEqual([
    'disk_reserve_made',
    'ready',
    ...flood.slice(1),
    'stopping',
    'lines_left_out',
    'stopped',
  ]);
});

test('on a database nodes are told first and the session ends last, and the time is that of the store', async () => {
  const url = await (await testServer()).freshDatabase();
  lines = [];
  const appliance = await start(`[store]\nurl = "${url}"\n`);
  const jobs = ['disk', 'descriptors', 'domains', 'brake', 'retention', 'revision'];
  expect(named(...jobs)).toEqual([
    'Capture.start',
    'disk.start',
    'disk.runNow',
    ...OPENED,
    'domains.start',
    'brake.start',
    'retention.start',
    'revision.start',
    'Vitals.start',
    'ControlServer.start',
  ]);
  await appliance.stop();
  expect(named(...jobs)).toEqual([
    'NodeSession.leave',
    'ControlServer.stop',
    ...CLOSED,
    'Queue.stop + WebhookDispatcher.stop + domains.stop + brake.stop + retention.stop + revision.stop',
    'disk.stop',
    'Vitals.stop',
    'Capture.stop',
    ...FORGOTTEN,
    'NodeSession.end',
  ]);
}, 60_000);

test('where the last part cannot start all others stop in the same order', async () => {
  spyOn(ControlServer.prototype, 'start').mockRejectedValue(new Error('no socket'));
  expect(await start().catch(String)).toBe('Error: no socket');
  expect(named(...FILES).slice(-FILES_STOPPED.length)).toEqual(FILES_STOPPED);
  expect(log).toEqual(['disk_reserve_made']);
});
