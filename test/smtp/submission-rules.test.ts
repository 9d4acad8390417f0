/** What a submitted message may say and carry: the rules of the API hold for it too. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { OperatorError } from '../../src/base/errors.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { freePorts } from '../rig/ports.ts';
import { listensAt } from '../rig/descriptors.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

let fixture: SmtpFixture;
const clients: RawClient[] = [];

beforeEach(async () => {
  fixture = await openSmtpFixture({
    toml: '[[plans]]\nid = "small"\nattachment_bytes = 1000\n',
    submission: { messageBytes: 100_000 },
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await fixture.close();
});

async function loggedIn(token = fixture.token): Promise<RawClient> {
  const client = await RawClient.open(fixture.submission);
  clients.push(client);
  await client.hello(true);
  expect(await client.login(token)).toStartWith('235 2.7.0');
  return client;
}

const MESSAGE = [
  'From: Acme <hello@acme.example>',
  'To: Ann <ann@receiver.example>',
  'Subject: s',
  '',
  'Hello.',
].join('\r\n');

/** One whole transaction; returns the reply to the final dot. */
async function send(
  client: RawClient,
  message: string,
  to = ['ann@receiver.example'],
): Promise<string> {
  await client.command('MAIL FROM:<bounces@elsewhere.example>');
  for (const address of to) await client.command(`RCPT TO:<${address}>`);
  expect(await client.command('DATA')).toStartWith('354');
  client.write(message);
  return client.command('\r\n.');
}

test('a tag named __proto__ is refused, as over the API', async () => {
  const client = await loggedIn();
  const tagged = (name: string): string =>
    MESSAGE.replace('Subject:', `X-Tag-${name}: a\r\nSubject:`);
  expect(await send(client, tagged('__proto__'))).toMatch(/^554 5\.6\.0 .*__proto__/);
  expect(await send(client, tagged('constructor'))).toStartWith('250');
});

test('a Sender needs a verified domain of the account, and one address', async () => {
  const client = await loggedIn();
  const by = (value: string): string => MESSAGE.replace('Subject:', `Sender: ${value}\r\nSubject:`);
  expect(await send(client, by('Boss <boss@bank.example>'))).toMatch(/^55\d .*Sender header/);
  for (const value of ['', 'a@acme.example, b@acme.example', 'nobody']) {
    expect(await send(client, by(value))).toMatch(/^554 5\.6\.0 .*Sender field/);
  }
  expect(await send(client, by('Robot <robot@acme.example>'))).toStartWith('250');
  const [row] = await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10);
  const body = await fixture.ctx.store.body(fixture.by.account.id, row?.id ?? '');
  expect(Buffer.from(body?.body?.raw ?? []).toString()).toContain(
    'Sender: Robot <robot@acme.example>',
  );
});

test('the attachments that a plan allows count decoded, as over the API', async () => {
  const small = await fixture.sender({ name: 'small', plan: 'small' });
  await fixture.verified(small, 'small.example');
  const { token } = await createKey(fixture.ctx, small.account.id, {
    name: 's',
    permission: 'sending_access',
  });
  const client = await loggedIn(token);
  const attached = (bytes: number): string =>
    [
      'From: a@small.example',
      'To: ann@receiver.example',
      'Subject: s',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'x'.repeat(500),
      '--b',
      'Content-Type: application/pdf',
      'Content-Disposition: attachment; filename=a.pdf',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.alloc(bytes / 2, 'a').toString('base64'),
      '--b',
      'Content-Type: text/csv',
      'Content-Disposition: attachment; filename=a.csv',
      '',
      'y'.repeat(bytes / 2),
      '--b--',
    ].join('\r\n');
  expect(await send(client, attached(1_002))).toMatch(/^55\d .*attachments have 1002 bytes.*1000/);
  expect(await send(client, attached(1_000))).toStartWith('250');
});

test('a recipient who stands in Cc and twice in To is listed in To, by the first name there', async () => {
  const client = await loggedIn();
  const message = MESSAGE.replace(
    /To:.*/,
    'Cc: Cc <ann@receiver.example>, Ben Two <ben@receiver.example>\r\nTo: Ann <ANN@receiver.example>, Other <ann@receiver.example>',
  );
  expect(await send(client, message, ['ben@receiver.example', 'ann@receiver.example'])).toStartWith(
    '250',
  );
  const [row] = await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10);
  expect([row?.to, row?.cc, row?.bcc]).toEqual([
    ['Ann <ann@receiver.example>'],
    ['Ben Two <ben@receiver.example>'],
    [],
  ]);
});

test('the same message for the same recipients in another order is the same', async () => {
  const client = await loggedIn();
  const message = MESSAGE.replace('Subject:', 'Idempotency-Key: k\r\nSubject:');
  const to = ['ann@receiver.example', 'ben@receiver.example'];
  const first = await send(client, message, to);
  expect(first).toStartWith('250');
  expect(await send(client, message, to.toReversed())).toBe(first);
  expect(await send(client, message, ['Ben@Receiver.example', 'ANN@receiver.example'])).toBe(first);
  expect(await send(client, message, to.slice(1))).toStartWith('554 5.5.0 This idempotency key');
  // What is kept of it is a response as over HTTP.
  const { store, clock } = fixture.ctx;
  const { id } = fixture.by.account;
  const [row] = await store.emailsByPage(id, 1, 10);
  const kept = await store.idempotencyRecord(id, 'k', clock.steady());
  expect(kept).toMatchObject({ key: 'k', route: 'SMTP', status: 200 });
  expect(JSON.parse(kept?.response ?? '')).toEqual({ id: row?.id ?? '', status: 'queued' });
  expect(first).toBe(`250 2.0.0 OK queued as ${row?.id}`);
});

test('with one address in use, none stays open, and a later start finds them free', async () => {
  const [free = 0, used = 0] = await freePorts(2);
  const listening = Promise.withResolvers<void>();
  const other = createServer().listen(used, '127.0.0.1', listening.resolve);
  await listening.promise;
  const { config } = fixture.ctx;
  const submission = [free, used].map((port) => ({ host: '127.0.0.1', port }));
  const startup = { ...config.startup, smtp: { ...config.startup.smtp, submission } };
  const server = new SubmissionServer(
    { ...fixture.ctx, config: { ...config, startup } },
    { queue: fixture.sink, rates: { take: () => ({ isAllowed: true, retrySeconds: 0 }) } },
  );
  const failed = await server.start().catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(OperatorError);
  expect(listensAt(free)).toBe(false);
  await new Promise((resolve) => other.close(resolve));
  expect((await server.start()).submission).toEqual(submission);
  await server.stop();
});

test('a Message-ID that names another email of this service is replaced, whichever of its names it has', async () => {
  await fixture.close();
  fixture = await openSmtpFixture({ toml: '[cluster]\nname = "cluster.appliance.example"\n' });
  const another = '01913c7e-89ab-7cde-8f01-23456789abcd';
  const { hostname } = fixture.ctx.config.startup;
  const client = await loggedIn();
  const message = `Message-ID: <${another}@${hostname}>\r\n${MESSAGE}`;
  expect(await send(client, message)).toStartWith('250');
  const [row] = await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10);
  expect(row?.messageId).toBe(`<${row?.id}@cluster.appliance.example>`);
  const body = await fixture.ctx.store.body(fixture.by.account.id, row?.id ?? '');
  const raw = Buffer.from(body?.body?.raw ?? []).toString();
  expect(raw).toContain(`${row?.id}@cluster.appliance.example`);
  expect(raw).not.toContain(another);
});
