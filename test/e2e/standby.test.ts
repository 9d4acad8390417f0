/**
 * The compiled binary with `[store] require_standby`, while the only synchronous standby is away: sends are refused,
 * reads and what is under way go on, and all resumes by itself (docs/reliability.md R128).
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createTransport } from 'nodemailer';
import type { Transporter } from 'nodemailer';

import { testAuthority } from '../rig/certificates.ts';
import { happened, listen, readEmail, sendTo } from '../rig/journey.ts';
import { PostgresServer } from '../rig/postgres.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const STANDBY = 'second';

describe('a standby that is required', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let world: World;
  let submission: Transporter;

  beforeAll(async () => {
    primary = await PostgresServer.start();
    const store = await primary.freshDatabase();
    standby = await PostgresServer.start({ follows: { primary, name: STANDBY } });
    const admin = primary.admin();
    await admin.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
    await admin.unsafe('SELECT pg_reload_conf()');
    await admin.close();
    const { certFile, keyFile } = testAuthority().issue(['mail.rig.test', '127.0.0.1']);
    world = await startWorld({
      store,
      storeSettings: 'require_standby = true',
      config: `[smtp]
submission = ["127.0.0.1:0"]
tls_cert = "${certFile}"
tls_key = "${keyFile}"
`,
    });
    const ready = await world.appliance.log.first(({ event }) => event === 'ready');
    submission = createTransport({
      host: '127.0.0.1',
      port: Number(/:(\d+)$/.exec(String((ready['submission'] as string[])[0]))?.[1]),
      requireTLS: true,
      tls: { ca: testAuthority().cert, servername: 'mail.rig.test' },
      auth: { user: 'any', pass: world.appliance.made.key },
    });
    await listen(world);
  }, 120_000);

  afterAll(async () => {
    submission.close();
    await world.stop();
    await standby.stop();
    await primary.stop();
  }, 60_000);

  const mailTo = (to: string) => ({ from: 'hello@example.org', to, subject: 'Sent', text: 'x' });
  /** What the server said at last. */
  const submit = (to: string): Promise<string> =>
    submission.sendMail(mailTo(to)).then(
      ({ response }) => String(response),
      (error: unknown) => String((error as { response?: string }).response ?? error),
    );
  const accepted: string[] = [];

  test('while it is there both ways accept', async () => {
    accepted.push(await sendTo(world, 'http@example.net'));
    const id = /as ([0-9a-f-]{36})/.exec(await submit('smtp@example.net'))?.[1];
    accepted.push(id ?? 'refused');
    for (const one of accepted) await happened(world, one, 'email.delivered');
  }, 30_000);

  test('while it is away sends get 503 and 452, reads go on, and when it is back all resumes by itself', async () => {
    const { appliance } = world;
    await standby.pause();
    await appliance.log.first(({ event }) => event === 'standby_missing', 30_000);
    const refused = await appliance.api('POST', '/emails', mailTo('refused@example.net'));
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { code: 'platform_halted' },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await submit('refused@example.net')).toStartWith('452 4.3.1');
    for (const id of accepted) expect((await readEmail(world, id)).status).toBe('delivered');
    expect((await appliance.api('GET', '/emails')).status).toBe(200);
    const doctor = (await appliance.run(['doctor', '--json'])).stdout;
    expect(doctor).toContain('database_standby');

    await standby.resume();
    await appliance.log.first(({ event }) => event === 'standby_back', 30_000);
    const id = /as ([0-9a-f-]{36})/.exec(await submit('back@example.net'))?.[1];
    accepted.push(await sendTo(world, 'again@example.net'), id ?? 'refused');
    for (const one of accepted) await happened(world, one, 'email.delivered');
    // What was refused was not written.
    const to = world.receiver.messages.items.flatMap((one) => one.to);
    expect(to.toSorted()).toEqual([
      'again@example.net',
      'back@example.net',
      'http@example.net',
      'smtp@example.net',
    ]);
  }, 90_000);

  test('of sends around its loss nothing that was answered with an id is lost', async () => {
    const { appliance } = world;
    const answered: string[] = [];
    const statuses = new Map<number, number>();
    const over = new AbortController();
    const sender = async (name: string): Promise<void> => {
      for (let at = 0; !over.signal.aborted; at += 1) {
        const sent = await appliance.api('POST', '/emails', mailTo(`${name}${at}@example.net`));
        const { id } = (await sent.json()) as { id?: string };
        statuses.set(sent.status, (statuses.get(sent.status) ?? 0) + 1);
        if (id !== undefined) answered.push(id);
        // Below the account's limit of requests.
        await Bun.sleep(500);
      }
    };
    const senders = ['a', 'b', 'c', 'd'].map(sender);
    await world.receiver.messages.atLeast(10);
    await standby.pause();
    // What is under way then is answered after the seconds that a restarted standby has.
    while (!statuses.has(503)) await Bun.sleep(20);
    await standby.resume();
    const atReturn = answered.length;
    while (answered.length < atReturn + 10) await Bun.sleep(20);
    over.abort();
    await Promise.all(senders);
    expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 503]);
    for (const id of answered) await happened(world, id, 'email.delivered');
  }, 120_000);
});
