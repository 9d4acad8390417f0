/** How a process that runs an appliance ends: by which signal, with which code, and what its log says of a fault. */
import { afterEach, expect, jest, spyOn, test } from 'bun:test';
import { join } from 'node:path';

import type { Appliance } from '../../src/appliance/appliance.ts';
import { drain } from '../../src/commands/running.ts';
import { createLog } from '../../src/base/log.ts';

const MODULE = join(import.meta.dir, '../../src/commands/running.ts');

afterEach(() => jest.restoreAllMocks());

/** A log with its lines, and an appliance that stops when `end` is called. */
function stopping() {
  const lines: unknown[] = [];
  const log = createLog(
    (line) => lines.push(JSON.parse(line)),
    () => 0,
  );
  const stopped = Promise.withResolvers<void>();
  const appliance = { stop: () => stopped.promise } as unknown as Appliance;
  return { log, lines, appliance, end: stopped.resolve };
}

/** What a process of its own prints that runs `program` with everything of the module, and its exit code. */
function run(program: string): [code: number, out: string] {
  const whole = `const { endingSignal, dieOfFaults } = await import(${JSON.stringify(MODULE)});
    const log = { error: (event, { error, ...rest }) => console.log(event, String(error), JSON.stringify(rest)) };
    ${program}`;
  const child = Bun.spawnSync([process.execPath, '-e', whole]);
  return [child.exitCode, child.stdout.toString()];
}

test('what has stopped ends with 0, and the process is not cut off later', async () => {
  const { log, lines, appliance, end } = stopping();
  const timers = spyOn(globalThis, 'setTimeout');
  const cleared = spyOn(globalThis, 'clearTimeout');
  const ended = drain(appliance, log);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([30_000]);
  expect(cleared).not.toHaveBeenCalled();
  end();
  expect(await ended).toBe(0);
  const [timer]: unknown[] = timers.mock.results.map(({ value }) => value);
  expect<unknown[][]>(cleared.mock.calls).toEqual([[timer]]);
  expect(lines).toEqual([]);
});

test('what does not stop within 30 seconds is cut off with 1, and the log says so', async () => {
  const { log, lines, appliance, end } = stopping();
  const exit = spyOn(process, 'exit').mockImplementation((() => undefined) as never);
  const timers = spyOn(globalThis, 'setTimeout');
  const ended = drain(appliance, log);
  timers.mock.calls[0]?.[0]();
  expect(exit.mock.calls).toEqual([[1]]);
  expect(lines).toEqual([
    {
      time: '1970-01-01T00:00:00.000Z',
      level: 'error',
      event: 'drain_cut_off',
      hint: 'Something took too long to end. The next start repeats what was under way.',
    },
  ]);
  end();
  await ended;
});

test('the first of the signals that are named ends it, and a second one changes nothing', () => {
  const program = `
    const ending = endingSignal(['SIGINT', 'SIGTERM', 'SIGUSR2']);
    for (const signal of ['SIGUSR2', 'SIGTERM', 'SIGUSR2']) process.emit(signal, signal);
    console.log(await ending, process.listenerCount('SIGINT'), process.listenerCount('SIGHUP'));
    // Without a listener the second one of a kind would end the process.
    console.log(process.listenerCount('SIGUSR2'), process.listenerCount('SIGTERM'));`;
  expect(run(program)).toEqual([0, 'SIGUSR2 1 0\n1 1\n']);
});

const HINT = '{"hint":"This is a fault of the appliance. Please report it with this line."}';

test.each([
  ['throws later', "setTimeout(() => { throw new Error('late'); })", 'Error: late'],
  ['rejects', "void Promise.reject(new TypeError('lost'))", 'TypeError: lost'],
  ['rejects with a text', "void Promise.reject('text')", 'text'],
])('a fault that %s ends the process with 1, and the log says why', (_name, fault, said) => {
  const program = `dieOfFaults(log); setTimeout(() => console.log('alive'), 5_000); ${fault};`;
  expect(run(program)).toEqual([1, `fault ${said} ${HINT}\n`]);
});
