/**
 * What every command prints for people, on the compiled binary: 80 columns hold it, however long names and addresses
 * are, and each id stands whole in its line. And what `queue` prints for programs.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { eventOf, listen, sendTo } from '../rig/journey.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const ACCOUNT = 'Northern and Southern Customer Communications, Europe (2026)';
const DOMAIN = 'notifications.customer-communications.northern-europe.example.org';
const ADDRESS = 'maximilian.mustermann-schmidt@returns.customer-care.example.net';
const NOTE = `asked by telephone, letter and fax not to be written to, by ${'anyone, '.repeat(12)}ever`;
const REPLY =
  '451 4.7.1 Greylisting in action, please come back later; see https://postmaster.example.net/greylisting?' +
  'client=127.0.0.1&recipient=maximilian.mustermann-schmidt&reason=first-time-sender-of-this-domain';

type Json = Record<string, unknown>;

describeWith(['openssl'], 'on a terminal of 80 columns', () => {
  let world: World;
  let messageId = '';

  beforeAll(async () => {
    world = await startWorld();
    const { appliance, receiver, names } = world;
    names.set('returns.customer-care.example.net', 'MX', ['10 mx.example.net']);
    receiver.script.rcpt = () => REPLY as `${number} ${string}`;
    await appliance.json(['account', 'create', ACCOUNT]);
    await appliance.json(['account', 'pause', ACCOUNT, '--reason', NOTE]);
    await appliance.json(['domain', 'add', DOMAIN, '--account', ACCOUNT]);
    const made = ['key', 'create', '--account', ACCOUNT, '--name', 'k'.repeat(60), '--json'];
    const key = (await appliance.run(made)).json() as { id: string };
    await appliance.json(['key', 'revoke', key.id]);
    const note = ['--account', 'default', '--note', NOTE];
    await appliance.json(['suppression', 'add', `other.${ADDRESS}`, ...note]);
    await listen(world, ['email.sent', 'email.delivery_delayed', 'email.bounced', 'email.failed']);
    messageId = await sendTo(world, ADDRESS, { subject: `Your order ${'of things '.repeat(20)}` });
    await eventOf(world, messageId, 'email.delivery_delayed');
  });

  afterAll(() => world.stop());

  /** Words, what of `--json` must stand unbroken, and lines that may be longer: they are for copying. */
  const rows: [words: string, whole: string[], copied: RegExp | null][] = [
    ['account list', ['id'], null],
    ['key list', ['id'], null],
    ['domain list', ['id', 'name'], null],
    [`domain records ${DOMAIN}`, ['name', 'value'], /^ {2}(v=DKIM1|TXT )/],
    [`domain verify ${DOMAIN}`, [], /^ {2}(v=DKIM1|TXT )|^ +pr[0-9a-f]+\._domainkey/],
    ['queue list', ['id', 'address'], /^ *https:/],
    ['queue show ID', [], /^ *https:/],
    ['email list --account default', ['id'], null],
    ['email show ID', [], /^ *https:/],
    ['log list --account default', [], null],
    ['operator list', ['name'], null],
    ['audit', ['who'], null],
    ['suppression list --account default', ['email'], null],
    ['webhook list --account default', ['id', 'url'], null],
    ['doctor', [], /^ +\//],
    ['version', [], null],
    ['check', [], /^\//],
  ];

  test.each(rows)('%s', async (words, whole, copied) => {
    const args = words.split(' ').map((word) => (word === 'ID' ? messageId : word));
    const { stdout, stderr, code } = await world.appliance.run(args);
    const isUnfinished = words === 'doctor' || words.startsWith('domain verify');
    expect([code === 0 || isUnfinished, stderr]).toEqual([true, '']);
    const lines = stdout.split('\n');
    const wide = lines.filter((line) => Bun.stringWidth(line) > 80 && copied?.test(line) !== true);
    expect(wide).toEqual([]);
    const told: unknown = JSON.parse((await world.appliance.run([...args, '--json'])).stdout);
    const values = whole.flatMap((field) => valuesOf(told, field));
    expect(values.length).toBeGreaterThanOrEqual(whole.length);
    // Unbroken: within one line.
    expect(values.filter((value) => !lines.some((line) => line.includes(value)))).toEqual([]);
  });

  test('the help of every command', async () => {
    const { stdout: all } = await world.appliance.run(['--help']);
    const names = Array.from(all.matchAll(/^ {2}([a-z]+) {2,}[A-Z]/gm), ([, name = '']) => name);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names.filter((one) => one !== 'help')) {
      const { stdout } = await world.appliance.run([name, '--help']);
      expect(stdout).toStartWith(`Usage: postrider ${name}`);
      expect(`${all}${stdout}`.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  describe('for programs', () => {
    test('queue list', async () => {
      const listing = await world.appliance.json(['queue', 'list']);
      expect(keysOf(listing).filter((key) => /[A-Z]/.test(key))).toEqual([]);
      const [recipient] = listing['recipients'] as Json[];
      expect(recipient).toMatchObject({
        message_id: messageId,
        address: ADDRESS,
        attempts: 1,
        status: 'delivery_delayed',
        last_reason: expect.stringContaining('Greylisting in action'),
      });
      const [next, until] = [recipient?.['next_attempt_at'], recipient?.['expires_at']].map(String);
      expect([next, until]).toEqual([next, until].map((at) => new Date(at ?? '').toISOString()));
      expect(listing['destinations']).toEqual([
        {
          domain: 'returns.customer-care.example.net',
          waiting: 1,
          oldest_created_at: expect.stringMatching(/^20.*Z$/),
          reason: expect.stringContaining('Greylisting'),
        },
      ]);
      await world.appliance.json(['halt', '--reason', 'Leaking.']);
      const halted = await world.appliance.json(['queue', 'list']);
      await world.appliance.json(['resume']);
      expect(halted['halt']).toEqual({ reason: 'Leaking.', since: expect.stringMatching(/Z$/) });
    });

    test('queue show', async () => {
      const shown = await world.appliance.json(['queue', 'show', messageId]);
      expect(keysOf(shown).filter((key) => /[A-Z]/.test(key))).toEqual([]);
      expect(shown['message']).toMatchObject({ id: messageId, is_sandbox: false, reply_to: [] });
      expect(shown['attempts']).toMatchObject([
        {
          message_id: messageId,
          number: 1,
          outcome: 'deferred',
          began_at: expect.stringMatching(/^20.*Z$/),
          tls: { version: 'TLSv1.3', verified: true, policy: 'opportunistic' },
          may_be_duplicate: false,
        },
      ]);
    });
  });

  test('queue list, show, retry and fail say the same without the server', async () => {
    const { appliance } = world;
    const id = String(
      ((await appliance.json(['queue', 'list']))['recipients'] as Json[])[0]?.['id'],
    );
    const commands = [
      ['queue', 'list'],
      ['queue', 'show', messageId],
      ['queue', 'show', id],
    ];
    const beside = await Promise.all(commands.map((command) => appliance.json(command)));
    expect(await appliance.signal('SIGTERM')).toBe(0);
    for (const [index, command] of commands.entries()) {
      const alone: unknown = await appliance.json(command);
      expect([command, alone]).toEqual([command, beside[index]]);
    }
    expect(await appliance.json(['queue', 'retry', id])).toEqual({ retried: 1 });
    const elsewhere = await appliance.run(['queue', 'retry', '--domain', 'elsewhere.example']);
    expect([elsewhere.code, elsewhere.stdout]).toEqual([1, 'Recipients due now: 0.\n']);
    expect(await appliance.json(['queue', 'fail', id])).toEqual({ failed: 1, under_way: 0 });
    expect(await appliance.json(['queue', 'fail', id])).toEqual({ failed: 0, under_way: 0 });
    const ended = await appliance.json(['queue', 'show', messageId]);
    expect(ended['message']).toMatchObject({ status: 'failed' });
    expect((await appliance.json(['queue', 'list']))['recipients']).toEqual([]);
  });
});

/** The texts under this key of every object on the first two levels. */
function valuesOf(value: unknown, field: string): string[] {
  const objects = Array.isArray(value) ? value : Object.values(value as Json).flat();
  return objects.flatMap((one: unknown) => {
    const found = typeof one === 'object' && one !== null ? (one as Json)[field] : undefined;
    return typeof found === 'string' ? [found] : [];
  });
}

function keysOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).flatMap(keysOf);
  return Array.isArray(value) ? below : [...Object.keys(value), ...below];
}
