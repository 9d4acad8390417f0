/** The mail listeners together: their addresses as people write them, what each is made of, and which certificate all show. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';

import { openMailListeners } from '../../src/appliance/mail-listeners.ts';
import type { MailListeners } from '../../src/appliance/mail-listeners.ts';
import * as reporting from '../../src/flow/reports/reports.ts';
import * as receiving from '../../src/smtp/inbound.ts';
import * as submitting from '../../src/smtp/submission.ts';
import { openFixture, type Fixture } from '../flow/fixture.ts';

let fixture: Fixture;
let listeners: MailListeners | null;
beforeEach(async () => {
  listeners = null;
  fixture = await openFixture({
    toml: '[smtp]\ninbound = "[::1]:0"\nsubmission = ["127.0.0.1:0", "[::1]:0"]\nsubmissions = ["[::1]:0"]\n',
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await listeners?.stop();
  await fixture.close();
});

const rates = { take: () => ({ isAllowed: true }) } as unknown as submitting.Rates;
const open = async (): Promise<MailListeners> =>
  (listeners = await openMailListeners(fixture.ctx, { queue: fixture.sink, rates }));

/** The arguments with which an export that is a class was made, and what was made. */
function made(module: object, name: string): { args: unknown[]; one: unknown }[] {
  const spied = module as Record<string, (...args: unknown[]) => unknown>;
  const original = spied[name] as unknown as new (...args: unknown[]) => unknown;
  const all: { args: unknown[]; one: unknown }[] = [];
  spyOn(spied, name).mockImplementation((...args) => {
    const one = new original(...args);
    all.push({ args, one });
    return one;
  });
  return all;
}

test('each address has its port, an IPv6 one in brackets, and each listener may rest', async () => {
  const { addresses, restable } = await open();
  const six = expect.stringMatching(/^\[::1\]:\d+$/) as string;
  const four = expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string;
  expect(addresses).toEqual({ inbound: six, submission: [four, six], submissions: [six] });
  expect(new Set(restable).size).toBe(4);
});

test('submission spends the rates of the API, and reports tell the queue that mail is offered to', async () => {
  const submission = made(submitting, 'SubmissionServer');
  const reports = made(reporting, 'Reports');
  const inbound = made(receiving, 'InboundServer');
  await open();
  const { ctx, sink } = fixture;
  expect(submission.map(({ args: [of, parts] }) => [of === ctx, parts])).toEqual([
    [true, { queue: sink, rates }],
  ]);
  expect(reports.map(({ args: [of, queue] }) => [of === ctx, queue === sink])).toEqual([
    [true, true],
  ]);
  expect(inbound.map(({ args: [of, to] }) => [of === ctx, to === reports[0]?.one])).toEqual([
    [true, true],
  ]);
});

test('a certificate is taken over by all of them, whichever has another one', async () => {
  const opened = await open();
  const asked: unknown[] = [];
  for (const [{ prototype }, isNew] of [
    [submitting.SubmissionServer, true],
    [receiving.InboundServer, false],
  ] as const) {
    spyOn(prototype, 'prepare').mockImplementation((config) => {
      asked.push([prototype.constructor.name, config === fixture.ctx.config]);
      return () => {
        asked.push(`${prototype.constructor.name} takes over`);
        return isNew;
      };
    });
  }
  const takeOver = opened.prepare(fixture.ctx.config);
  expect(asked.splice(0)).toEqual([
    ['SubmissionServer', true],
    ['InboundServer', true],
  ]);
  expect(takeOver()).toBe(true);
  expect(asked).toEqual(['SubmissionServer takes over', 'InboundServer takes over']);
});

test('where reports cannot come in submission has ended before that is told; a stop waits for both', async () => {
  const order: string[] = [];
  const noted = (prototype: object, name: string): void => {
    const methods = prototype as Record<string, () => Promise<unknown>>;
    const stop = methods['stop'];
    spyOn(methods, 'stop').mockImplementation(async function (this: unknown) {
      await stop?.call(this as never);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} has ended`);
    });
  };
  noted(submitting.SubmissionServer.prototype, 'submission');
  noted(receiving.InboundServer.prototype, 'inbound');
  const start = spyOn(receiving.InboundServer.prototype, 'start');
  start.mockRejectedValueOnce(new Error('the address is in use'));
  order.push(await open().then(() => 'opened', String));
  expect(order.splice(0)).toEqual(['submission has ended', 'Error: the address is in use']);
  await (await open()).stop();
  listeners = null;
  expect(order.toSorted()).toEqual(['inbound has ended', 'submission has ended']);
});
