/**
 * The compiled binary moves from files to PostgreSQL and back: old mail reads the same, its reports and links count, what
 * waited goes out; a kill -9 in a migration leaves a target that no server takes, until the next run has ended.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createTransport } from 'nodemailer';

import { BINARY } from '../rig/binary.ts';
import type { HookCall } from '../rig/hook.ts';
import { happened, listen, readEmail, sendTo } from '../rig/journey.ts';
import { freePorts } from '../rig/ports.ts';
import { PostgresServer } from '../rig/postgres.ts';
import type { ReceivedMessage } from '../rig/receiver.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

interface Answer {
  tables: { table: string; rows: number; sha256: string }[];
  config: Record<string, string>;
}

/** Asks every 50 ms, for 40 s at most. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let left = 800; !(await isSo()); left -= 1) {
    if (left === 0) throw new Error('it did not become so');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A report that the receiver gave the message up, to its return path. */
async function report(port: number, { from, to }: ReceivedMessage): Promise<void> {
  const boundary = 'report-1';
  const raw = [
    'From: MAILER-DAEMON@mx.example.net',
    `To: ${from}`,
    'Subject: Undelivered',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain',
    '',
    'It could not be delivered.',
    `--${boundary}`,
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example.net',
    '',
    `Final-Recipient: rfc822; ${to[0] ?? ''}`,
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1 User unknown',
    `--${boundary}--`,
    '',
  ].join('\r\n');
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  await transport.sendMail({ envelope: { from: '', to: [from] }, raw });
  transport.close();
}

/** Sets these keys in the config file, as `migrate` has said. */
function apply(file: string, changes: Record<string, string>): void {
  const kept = readFileSync(file, 'utf8').replace(/^\[store\]\n(?:\w+ = .*\n)*/m, '');
  const lines = Object.entries(changes).map(([path, value]) => [path, JSON.stringify(value)]);
  const store = lines
    .filter(([path]) => path?.startsWith('store.'))
    .map(([path, value]) => `${path?.slice('store.'.length)} = ${value}\n`);
  const dataDir = changes['data_dir'];
  const moved =
    dataDir === undefined ? kept : kept.replace(/^data_dir = .*$/m, `data_dir = "${dataDir}"`);
  writeFileSync(file, moved.replace('[http]\n', `[store]\n${store.join('')}[http]\n`));
}

const isOf =
  (id: string, type: string) =>
  ({ body }: HookCall): boolean =>
    body.includes(id) && (JSON.parse(body) as { type: string }).type === type;

describe('the appliance moves to PostgreSQL and back', () => {
  let server: PostgresServer;
  let world: World;
  let inbound: number;

  beforeAll(async () => {
    server = await PostgresServer.start();
    [inbound = 0] = await freePorts(1);
    world = await startWorld({ config: `[smtp]\ninbound = "127.0.0.1:${inbound}"\n` });
    await listen(world);
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await server.stop();
  });

  async function migrate(to: string): Promise<Answer> {
    const answer = (await world.appliance.json(['migrate', '--to', to])) as unknown as Answer;
    apply(world.appliance.made.config, answer.config);
    return answer;
  }

  /** Sends one, which is delivered, and gives what the receiver got. */
  async function delivered(to: string): Promise<{ id: string; message: ReceivedMessage }> {
    const id = await sendTo(world, to, { headers: { 'X-Postrider-Unsubscribe': 'yes' } });
    await happened(world, id, 'email.delivered');
    const message = await world.receiver.messages.first((one) => one.to.includes(to));
    return { id, message };
  }

  /** Sends one that the receiver puts off, and one whose webhook calls nobody takes. */
  async function leaveOpen(name: string): Promise<{ late: string; unheard: string; call: string }> {
    world.receiver.script.rcpt = (to) => (to.startsWith('late') ? '451 4.2.1 Later' : null);
    const late = await sendTo(world, `late-${name}@example.net`);
    await happened(world, late, 'email.delivery_delayed');
    world.hook.script.answer = () => ({ status: 503 });
    const unheard = await sendTo(world, `unheard-${name}@example.net`);
    const { headers } = await world.hook.calls.first(isOf(unheard, 'email.delivered'), 20_000);
    return { late, unheard, call: String(headers['webhook-id']) };
  }

  /** After the move: old mail is read, reported on and unsubscribed from; what was open goes out. */
  async function checkOld(
    old: { id: string; message: ReceivedMessage },
    open: { late: string; unheard: string; call: string },
    before: Awaited<ReturnType<typeof readEmail>>,
  ): Promise<void> {
    world.receiver.script.rcpt = () => null;
    world.hook.calls.clear();
    world.hook.script.answer = () => ({ status: 200 });
    await world.appliance.start();
    expect(await readEmail(world, old.id)).toEqual(before);

    await report(inbound, old.message);
    await happened(world, old.id, 'email.bounced');

    const link = /^List-Unsubscribe: <([^>]+)>/m.exec(
      old.message.bytes.toString().replaceAll(/\r\n[ \t]+/g, ' '),
    )?.[1];
    const clicked = await fetch(world.appliance.url + new URL(link ?? '').pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    expect(clicked.status).toBe(200);

    await world.appliance.json(['queue', 'retry']);
    await happened(world, open.late, 'email.delivered');
    const call = await world.hook.calls.first(isOf(open.unheard, 'email.delivered'), 60_000);
    expect(call.headers['webhook-id']).toBe(open.call);
  }

  test('there: what waited goes out, old mail reads the same, its return path and link count', async () => {
    const old = await delivered('ann@example.net');
    const open = await leaveOpen('there');
    const before = await readEmail(world, old.id);
    const url = await server.freshDatabase();
    const early = await world.appliance.run(['migrate', '--to', url]);
    expect([early.code, early.stderr]).toEqual([
      1,
      expect.stringMatching(/uses the data directory/),
    ]);
    expect(await world.appliance.signal('SIGTERM')).toBe(0);
    const { tables } = await migrate(url);
    expect(tables.find(({ table }) => table === 'queue')?.rows).toBe(1);
    await checkOld(old, open, before);
  }, 120_000);

  test('and back, into another directory', async () => {
    const old = await delivered('bea@example.net');
    const open = await leaveOpen('back');
    const before = await readEmail(world, old.id);
    const back = join(world.appliance.folder, 'back');
    const early = await world.appliance.run(['migrate', '--to', back]);
    expect(early.code).toBe(1);
    expect(await world.appliance.signal('SIGTERM')).toBe(0);
    const home = await migrate(back);
    const there = await world.appliance.json(['migrate', '--to', await server.freshDatabase()]);
    expect((there as unknown as Answer).tables).toEqual(home.tables);
    await checkOld(old, open, before);
    const next = await delivered('cy@example.net');
    expect((await readEmail(world, next.id)).status).toBe('delivered');
  }, 120_000);

  test('killed in the middle: no server takes the target, and the next run ends it', async () => {
    await world.appliance.signal('SIGTERM');
    const url = await server.freshDatabase();
    const config = world.appliance.made.config;
    const before = readFileSync(config, 'utf8');
    const admin = server.admin(new URL(url).pathname.slice(1));
    const session = await admin.reserve();
    await session.unsafe('BEGIN; LOCK TABLE logs IN ACCESS SHARE MODE');
    const child = Bun.spawn([BINARY, 'migrate', '--config', config, '--to', url], {
      stdout: 'ignore',
      stderr: 'ignore',
    });
    await until(async () => {
      const rows = await session.unsafe('SELECT 1 FROM pg_locks WHERE NOT granted');
      return rows.length > 0;
    });
    child.kill('SIGKILL');
    await child.exited;
    await session.unsafe('COMMIT');
    await session.release();
    await admin.close();

    apply(config, { 'store.url': url });
    const serve = await world.appliance.run(['serve']);
    expect([serve.code, serve.stderr]).toEqual([78, expect.stringMatching(/interrupted/)]);
    writeFileSync(config, before);
    await migrate(url);
    await world.appliance.start();
    await delivered('dan@example.net');
    await world.appliance.signal('SIGTERM');

    // The way back needs an empty directory, and says so before it writes.
    const [dataDir = ''] = /(?<=^data_dir = ").*(?=")/m.exec(before) ?? [];
    const full = await world.appliance.run(['migrate', '--to', dataDir]);
    expect([full.code, full.stderr]).toEqual([1, expect.stringMatching(/exists already/)]);
    rmSync(join(dataDir, 'secret.key'));
    const keyless = await world.appliance.run([
      'migrate',
      '--to',
      join(world.appliance.folder, 'x'),
    ]);
    expect([keyless.code, keyless.stderr]).toEqual([
      78,
      expect.stringMatching(/secret\.key is missing/),
    ]);
    expect(existsSync(join(world.appliance.folder, 'x', 'mail.db'))).toBe(false);
  }, 120_000);
});
