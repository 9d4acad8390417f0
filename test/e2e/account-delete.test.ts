/**
 * `account delete` on the compiled binary: mail that waits is not sent, and no byte of what the account brought by HTTP
 * or submission is in any file of the data directory, its logs, its search or the next backup, with a server and without.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createTransport } from 'nodemailer';

import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const MARKER = 'Kx9marker';
const HIDDEN = Buffer.from(MARKER.repeat(20)).toString('base64').slice(8, 40);

/** Files below `dir` in which one of the texts stands, in any case. */
function filesWith(dir: string, ...texts: string[]): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readFileSync(file).toString('latin1').toLowerCase();
      return texts.some((text) => bytes.includes(text.toLowerCase()));
    });
}

describeWith(['openssl'], 'account delete', () => {
  let world: World;
  let address = '';
  const dataDir = (): string => world.appliance.made.data_dir;

  beforeAll(async () => {
    world = await startWorld({ config: '[smtp]\nsubmission = ["127.0.0.1:0"]' });
    const ready = await world.appliance.log.first(({ event }) => event === 'ready');
    [address = ''] = ready['submission'] as string[];
  }, 60_000);

  afterAll(() => world.stop());

  /** Sends one by HTTP and one by submission; both wait at the receiver. */
  async function fill(): Promise<void> {
    const { appliance, domain } = world;
    world.receiver.script.rcpt = () => '450 4.2.0 later';
    const sent = await appliance.api(
      'POST',
      '/emails/batch',
      [
        {
          from: `${MARKER} <${MARKER}@${domain}>`,
          to: `${MARKER}@example.net`,
          subject: MARKER,
          text: MARKER,
          html: `<p>${MARKER}</p>`,
          headers: { 'X-Note': MARKER },
          tags: [{ name: 'note', value: MARKER }],
          attachments: [{ filename: `${MARKER}.txt`, content: btoa(MARKER.repeat(20)) }],
        },
      ],
      { 'idempotency-key': MARKER },
    );
    expect(sent.status).toBe(200);
    const [host = '', port = ''] = address.split(':');
    const transport = createTransport({
      host,
      port: Number(port),
      auth: { user: 'resend', pass: appliance.made.key },
      tls: { rejectUnauthorized: false },
    });
    await transport.sendMail({
      from: `${MARKER}@${domain}`,
      to: `${MARKER}2@example.net`,
      subject: `${MARKER} by submission`,
      text: MARKER,
      attachments: [{ filename: 'x.txt', content: MARKER.repeat(20) }],
    });
    transport.close();
    const hook = await appliance.api('POST', '/webhooks', {
      endpoint: `${world.hook.url}/${MARKER}`,
      events: ['email.delivery_delayed'],
    });
    expect(hook.status).toBe(201);
    await appliance.api('POST', '/suppressions', { email: `${MARKER}3@example.net` });
    await appliance.api('GET', `/emails?q=${MARKER}`);
    await appliance.log.atLeast(
      2,
      ({ event, status }) => event === 'attempt' && status === 'delivery_delayed',
    );
  }

  test('asks to be sure first', async () => {
    const run = await world.appliance.run(['account', 'delete', 'default']);
    expect(run.code).toBe(64);
    expect(run.stderr).toContain('--yes');
    const unknown = await world.appliance.run(['account', 'delete', 'nobody', '--yes']);
    expect([unknown.code, unknown.stdout]).toEqual([1, '']);
  });

  test('beside a server: everything of it is gone, and what waited is not sent', async () => {
    const { appliance, receiver } = world;
    await fill();
    await appliance.json(['account', 'create', 'kept']);
    expect(filesWith(dataDir(), MARKER).length).toBeGreaterThan(0);
    receiver.script.rcpt = () => null;
    const before = receiver.messages.items.length;

    const done = await appliance.json(['account', 'delete', 'default', '--yes']);
    expect(done).toMatchObject({ messages: 2, keys: 1, domains: 1, webhooks: 1, suppressions: 1 });
    expect(done['log_rows']).toBeGreaterThan(0);
    expect((await appliance.api('GET', '/emails')).status).toBe(401);
    expect(await appliance.json(['queue', 'retry'])).toEqual({ retried: 0 });
    const names = (await appliance.json(['account', 'list'])) as unknown as { name: string }[];
    expect(names.map(({ name }) => name)).toEqual(['kept']);

    // The logs of the requests just made are written half a second later, and the checkpoint follows its commit.
    const gone = (): string[] => filesWith(dataDir(), MARKER, HIDDEN);
    for (let left = 100; left > 0 && gone().length > 0; left -= 1) await Bun.sleep(100);
    expect(gone()).toEqual([]);
    const backup = join(appliance.folder, 'one.backup');
    expect((await appliance.run(['backup', backup])).code).toBe(0);
    expect(filesWith(appliance.folder, MARKER, HIDDEN)).toEqual([]);
    // A killed server leaves nothing behind either, and its next start sends nothing.
    await appliance.signal('SIGKILL');
    await appliance.start();
    expect(receiver.messages.items).toHaveLength(before);
    expect(filesWith(dataDir(), MARKER, HIDDEN)).toEqual([]);
  }, 60_000);

  test('without a server: the same, and the log that commands keep names nothing of it', async () => {
    const { appliance } = world;
    await appliance.signal('SIGTERM');
    const add = [
      'suppression',
      'add',
      `${MARKER}4@example.net`,
      '--account',
      'kept',
      '--note',
      MARKER,
    ];
    expect((await appliance.run(add)).code).toBe(0);
    expect(filesWith(dataDir(), MARKER).length).toBeGreaterThan(0);
    const done = await appliance.run(['account', 'delete', 'kept', '--yes']);
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toMatch(/suppressions +1\n/);
    expect(done.stdout).toContain('backups');
    expect(filesWith(dataDir(), MARKER)).toEqual([]);
    const kept = readFileSync(join(dataDir(), 'commands.log'), 'utf8');
    expect(kept).toContain('account_deleted');
    await appliance.start();
    expect(await appliance.json(['account', 'list'])).toEqual([] as never);
  }, 60_000);
});
