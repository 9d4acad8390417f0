/** `operator` and `audit` on the compiled binary, beside a running server and without one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { BinaryAppliance } from '../rig/binary.ts';

let appliance: BinaryAppliance;
beforeAll(async () => {
  appliance = await BinaryAppliance.create();
});
afterAll(() => appliance.stop());

async function signIn(name: string, password: string): Promise<number> {
  const { status } = await fetch(`${appliance.url}/dashboard/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ name, password }),
  });
  return status;
}

describe.each([['cold'], ['warm']])('%s', (kind) => {
  beforeAll(async () => {
    if (kind === 'warm') await appliance.start();
  });

  test('operators are added, listed, given a password, and removed', async () => {
    const name = `${kind}.anna`;
    const add = ['operator', 'add', name, '--read-only', '--account', 'default'];
    const made = await appliance.json(add);
    expect(made).toMatchObject({
      name,
      role: 'read_only',
      account: 'default',
      second_factor: false,
    });
    expect((await appliance.run(add)).code).toBe(1);
    const list = await appliance.run(['operator', 'list']);
    expect(list.stdout).toContain(name);
    expect(list.stdout).not.toContain(String(made['password']));
    const set = ['operator', 'password', name, '--stdin'];
    expect((await appliance.run(set, 'short\n')).code).toBe(1);
    expect((await appliance.run(set, 'long enough for anyone\n')).code).toBe(0);
    if (kind === 'warm') {
      expect(await signIn(name, String(made['password']))).toBe(401);
      expect(await signIn(name, 'long enough for anyone')).toBe(303);
      expect(await signIn('admin', appliance.made.admin_password)).toBe(303);
    }
    expect((await appliance.run(['operator', 'totp-reset', name])).code).toBe(0);
    expect((await appliance.run(['operator', 'remove', name])).code).toBe(0);
    expect((await appliance.run(['operator', 'remove', name])).code).toBe(1);
    const last = await appliance.run(['operator', 'remove', 'admin']);
    expect([last.code, last.stderr]).toEqual([1, expect.stringContaining('last operator')]);
    expect((await appliance.run(['operator', 'add', 'No Name'])).code).toBe(1);
  });

  test('what a command changes is in the audit log, what it reads is not', async () => {
    await appliance.json(['account', 'create', `${kind}-shop`]);
    await appliance.json(['account', 'list']);
    const rows = (await appliance.json(['audit', '--limit', '3'])) as unknown as object[];
    expect(rows[0]).toMatchObject({
      via: 'command',
      who: process.env['SUDO_USER'] ?? Bun.spawnSync(['id', '-un']).stdout.toString().trim(),
      action: 'account.create',
      target: `name=${kind}-shop`,
      at: expect.stringMatching(/Z$/),
    });
    const text = (await appliance.run(['audit'])).stdout;
    expect(text).toContain('operator.remove');
    expect(text).not.toContain('long enough');
    expect(text.split('\n').filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
  });
});
