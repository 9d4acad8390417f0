/** `erase` on the compiled binary, beside a running server and without one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { BinaryAppliance } from '../rig/binary.ts';

let appliance: BinaryAppliance;

beforeAll(async () => {
  appliance = await BinaryAppliance.start();
});
afterAll(() => appliance.stop());

describe('erase', () => {
  test('reports what went and what remains, with a server and without', async () => {
    const add = ['suppression', 'add', 'erika@person.example', '--account', 'default'];
    expect((await appliance.run(add)).code).toBe(0);
    for (const isRunning of [true, false]) {
      if (!isRunning) await appliance.signal('SIGTERM');
      const run = await appliance.run(['erase', 'Erika@person.example']);
      expect([run.code, run.stderr]).toEqual([0, '']);
      expect(run.stdout).toMatch(/suppressions kept +1\n/);
      expect(run.stdout).toContain('backups');
    }
    expect((await appliance.run(['erase', 'no address'])).code).toBe(1);
    await appliance.start();
  });
});
