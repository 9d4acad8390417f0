/**
 * The `resend` package, unchanged, with nothing but base URL and key: every call for a resource that
 * exists here, through the compiled binary, and through two nodes on one database, request by request.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Resend } from 'resend';
import { openBinary, openNodesOnPostgres, type Target } from './target.ts';

/** The names that the package's own types know (docs/client-libraries.md L3). */
const NAMES =
  'invalid_idempotency_key validation_error missing_api_key restricted_api_key invalid_api_key not_found ' +
  'method_not_allowed invalid_idempotent_request concurrent_idempotent_requests invalid_attachment ' +
  'invalid_from_address invalid_access invalid_parameter invalid_region missing_required_field ' +
  'monthly_quota_exceeded daily_quota_exceeded rate_limit_exceeded security_error application_error ' +
  'internal_server_error';

let target: Target;
let resend: Resend;
let email: { from: string; to: string; subject: string; html: string };

/** What the library returned; throws with its error as the message. */
function dataOf<T>(result: { data: T | null; error: unknown }): T {
  if (result.data === null) throw new Error(JSON.stringify(result.error));
  return result.data;
}

describe.each([
  ['the compiled binary', () => openBinary()],
  ['two nodes on PostgreSQL', openNodesOnPostgres],
] as const)('%s', (_, open) => {
  beforeAll(async () => {
    target = await open();
    resend = new Resend(target.full, { baseUrl: `${target.url}/v1` });
    email = {
      from: `Shop <hello@${target.domain}>`,
      to: 'delivered@sandbox.test',
      subject: 'From the library',
      html: '<p>Hello</p>',
    };
  }, 60_000);

  afterAll(() => target.close());

  describe('emails', () => {
    test('send, get and list', async () => {
      const { id } = dataOf(
        await resend.emails.send({
          ...email,
          replyTo: 'r@example.com',
          tags: [{ name: 'kind', value: 'receipt' }],
          headers: { 'X-Order': '1' },
        }),
      );
      const found = dataOf(await resend.emails.get(id));
      expect(found).toMatchObject({
        object: 'email',
        id,
        from: email.from,
        to: [email.to],
        reply_to: ['r@example.com'],
        html: email.html,
        last_event: 'delivered',
        tags: [{ name: 'kind', value: 'receipt' }],
      });
      const list = dataOf(await resend.emails.list({ limit: 1 }));
      expect(list).toMatchObject({ object: 'list', data: [{ id }] });
      const next = dataOf(await resend.emails.list({ limit: 1, after: id }));
      expect(next.data[0]?.id).not.toBe(id);
    });

    test('a repeated send with an idempotency key gives the same id', async () => {
      const options = { idempotencyKey: `library-${Date.now()}` };
      const first = dataOf(await resend.emails.send(email, options));
      const second = await resend.emails.send(email, options);
      expect(dataOf(second).id).toBe(first.id);
      expect(second.headers?.['idempotent-replayed']).toBe('true');
      const other = await resend.emails.send({ ...email, subject: 'Other' }, options);
      expect(other.error).toMatchObject({ statusCode: 409, name: 'invalid_idempotent_request' });
    });

    test('a batch, strict and permissive, with attachments', async () => {
      const attachments = [{ filename: 'a.txt', content: Buffer.from('attached') }];
      // The package's types leave attachments out of a batch; its code sends them.
      const withFile = { ...email, attachments };
      const strict = dataOf(await resend.batch.send([withFile, { ...email, cc: email.to }]));
      expect(strict.data).toHaveLength(2);
      const id = strict.data[0]?.id ?? '';
      const listed = dataOf(await resend.emails.attachments.list({ emailId: id }));
      expect(listed.data[0]).toMatchObject({ filename: 'a.txt', size: 8 });
      const one = dataOf(
        await resend.emails.attachments.get({ emailId: id, id: listed.data[0]?.id ?? '' }),
      );
      expect(one.object).toBe('attachment');
      const permissive = dataOf(
        await resend.batch.send([email, { ...email, to: 'nowhere' }], {
          batchValidation: 'permissive',
        }),
      );
      expect(permissive.data).toHaveLength(1);
      expect(permissive.errors).toMatchObject([{ index: 1, message: expect.any(String) }]);
    });

    test('what the service does not offer is a clear error', async () => {
      const cc = await resend.emails.send({ ...email, cc: 'c@example.com' });
      expect(cc.error).toMatchObject({ statusCode: 422, name: 'validation_error' });
      const later = await resend.emails.send({ ...email, scheduledAt: 'in 1 hour' });
      expect(later.error).toMatchObject({ statusCode: 422 });
      const { id } = dataOf(await resend.emails.send(email));
      for (const result of [
        await resend.emails.cancel(id),
        await resend.emails.update({ id, scheduledAt: 'x' }),
      ]) {
        expect(result.error).toMatchObject({ statusCode: 404, name: 'not_found' });
        expect(result.error?.message).toContain('scheduled');
      }
    });
  });

  test('domains: create, get, list, verify, remove', async () => {
    const name = `library-${Date.now()}.example.com`;
    const made = dataOf(await resend.domains.create({ name }));
    expect(made.records.map(({ record }) => record)).toEqual(['DKIM', 'SPF']);
    expect(dataOf(await resend.domains.get(made.id))).toMatchObject({
      id: made.id,
      name,
      status: 'pending',
    });
    expect(dataOf(await resend.domains.list()).data.map(({ id }) => id)).toContain(made.id);
    expect(dataOf(await resend.domains.verify(made.id))).toMatchObject({
      object: 'domain',
      id: made.id,
    });
    expect(dataOf(await resend.domains.remove(made.id))).toMatchObject({
      id: made.id,
      deleted: true,
    });
  });

  test('API keys: create, list, rename, remove', async () => {
    const made = dataOf(
      await resend.apiKeys.create({ name: 'library', permission: 'sending_access' }),
    );
    expect(made.token).toStartWith('pr_live_');
    const sender = new Resend(made.token, { baseUrl: `${target.url}/v1` });
    expect((await sender.emails.send(email)).error).toBeNull();
    expect((await sender.domains.list()).error).toMatchObject({
      statusCode: 403,
      name: 'restricted_api_key',
    });
    dataOf(await resend.apiKeys.update(made.id, { name: 'renamed' }));
    const row = dataOf(await resend.apiKeys.list()).data.find(({ id }) => id === made.id);
    expect(row?.name).toBe('renamed');
    dataOf(await resend.apiKeys.remove(made.id));
    expect((await sender.emails.send(email)).error).toMatchObject({
      statusCode: 401,
      name: 'invalid_api_key',
    });
  });

  test('webhooks: create, get, list, update, new secret, remove', async () => {
    const endpoint = 'https://library.example.com/in';
    const made = dataOf(await resend.webhooks.create({ endpoint, events: ['email.delivered'] }));
    expect(made.signing_secret).toStartWith('whsec_');
    expect(dataOf(await resend.webhooks.get(made.id))).toMatchObject({
      endpoint,
      events: ['email.delivered'],
    });
    expect(dataOf(await resend.webhooks.list()).data.map(({ id }) => id)).toContain(made.id);
    dataOf(await resend.webhooks.update(made.id, { status: 'disabled' }));
    expect(dataOf(await resend.webhooks.get(made.id)).status).toBe('disabled');
    const rotated = dataOf(await resend.webhooks.rotateSigningSecret(made.id));
    expect(rotated.signing_secret).not.toBe(made.signing_secret);
    expect(dataOf(await resend.webhooks.remove(made.id))).toMatchObject({
      id: made.id,
      deleted: true,
    });
  });

  test('suppressions: add, get, list, remove, in batches', async () => {
    const mail = `library-${Date.now()}@example.com`;
    expect(dataOf(await resend.suppressions.add({ email: mail })).object).toBe('suppression');
    expect(dataOf(await resend.suppressions.get(mail))).toMatchObject({
      email: mail,
      origin: 'manual',
    });
    const rows = dataOf(await resend.suppressions.list({ limit: 5 })).data;
    expect(rows.map((row) => row.email)).toContain(mail);
    const { id } = dataOf(await resend.suppressions.get(mail));
    expect(dataOf(await resend.suppressions.get(id)).email).toBe(mail);
    expect(dataOf(await resend.suppressions.remove(id)).deleted).toBe(true);
    expect((await resend.suppressions.get(mail)).error?.name).toBe('not_found');
    const two = [`a-${mail}`, `b-${mail}`];
    expect(dataOf(await resend.suppressions.batch.add({ emails: two })).data).toHaveLength(2);
    const removed = dataOf(await resend.suppressions.batch.remove({ emails: two })).data;
    expect(removed.map(({ deleted }) => deleted)).toEqual([true, true]);
  });

  test('logs: list and get', async () => {
    const list = dataOf(await resend.logs.list({ limit: 1 }));
    const row = list.data[0];
    expect(row).toMatchObject({
      endpoint: expect.any(String),
      response_status: expect.any(Number),
    });
    expect(dataOf(await resend.logs.get(row?.id ?? ''))).toMatchObject({
      object: 'log',
      id: row?.id,
    });
  });

  test('every error has a name that the package knows', async () => {
    const bad = new Resend('pr_live_wrong', { baseUrl: `${target.url}/v1` });
    const results = [
      await bad.emails.send(email),
      await resend.emails.get('no-such-id'),
      await resend.emails.send({ ...email, to: [] }),
      await resend.emails.send({ ...email, from: 'nobody' }),
      await resend.emails.send({ ...email, from: 'a@elsewhere.example.net' }),
      await resend.domains.create({ name: 'com' }),
      await resend.broadcasts.list(),
      await resend.contacts.list(),
      await resend.templates.list(),
      await resend.audiences.list(),
      await resend.topics.list(),
      await resend.emails.receiving.list(),
    ];
    for (const { error } of results) {
      expect(NAMES.split(' ')).toContain(error?.name ?? 'none');
      expect(error?.message.length).toBeGreaterThan(10);
    }
  });
});
