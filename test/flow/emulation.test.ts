/** What an emulator does otherwise at each step of the flow, and that an appliance does none of it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  confirmRecipient,
  removeConfirmation,
  unconfirmed,
} from '../../src/flow/accept/confirmed-recipients.ts';
import { authenticate, createKey } from '../../src/flow/accounts/keys.ts';
import type { Context } from '../../src/flow/context.ts';
import { checkDns } from '../../src/flow/domains/check.ts';
import { sendingDomain } from '../../src/flow/domains/lookup.ts';
import type { Identity } from '../../src/flow/draft.ts';
import type { Emulation } from '../../src/flow/emulation.ts';
import { addEndpoint } from '../../src/flow/webhooks/endpoints.ts';
import { CallPoster } from '../../src/flow/webhooks/post.ts';
import type { Domain } from '../../src/store/rows.ts';
import { openFixture, refusal, type Fixture, type RequestSender } from './fixture.ts';

let fixture: Fixture;
let sender: RequestSender;
let asked: unknown[];
let developer: Identity;
let made: Domain;
let ctx: Context;

beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  asked = [];
  const { requestId: _, ...identity } = sender;
  developer = identity as Identity;
  made = { ...(await fixture.verified(sender, 'made.example')), name: 'any.example' };
  const emulation: Emulation = {
    async identify(token) {
      asked.push(token);
      return token === 'nobody' ? null : developer;
    },
    async verified(accountId, name) {
      asked.push([accountId, name]);
      return made;
    },
  };
  ctx = { ...fixture.ctx, emulation };
});
afterEach(() => fixture.close());

test('a key that the store does not have is asked about, one that it has is not, nor a revoked one', async () => {
  const { key, token } = await createKey(fixture.ctx, sender.account.id, {
    name: 'own',
    permission: 'sending_access',
  });
  const foreign = `pr_live_${'x'.repeat(36)}`;
  expect([
    (await authenticate(ctx, token))?.key.id,
    (await authenticate(ctx, 'any text'))?.key.id,
    (await authenticate(ctx, foreign))?.key.id,
    await authenticate(ctx, 'nobody'),
  ]).toEqual([key.id, sender.key.id ?? '', sender.key.id ?? '', null]);
  await fixture.ctx.store.revokeKey(sender.account.id, key.id, 1);
  ctx.identities.forget();
  expect(await authenticate(ctx, token)).toBeNull();
  expect(asked).toEqual(['any text', foreign, 'nobody']);
  fixture.ctx.identities.forget();
  for (const text of ['any text', foreign]) {
    expect(await authenticate(fixture.ctx, text)).toBeNull();
  }
});

test('a domain that is not there or not verified is made, one that is verified stays', async () => {
  const { id } = sender.account;
  const verified = await fixture.verified(sender, 'acme.example');
  const pending = await fixture.verified(sender, 'pending.example');
  await fixture.ctx.store.finishDomainCheck({ ...pending, now: 1, status: 'pending' });
  const found = async (of: Context): Promise<(string | undefined)[]> => [
    (await sendingDomain(of, id, 'acme.example'))?.id,
    (await sendingDomain(of, id, 'pending.example'))?.id,
    (await sendingDomain(of, id, 'any.example'))?.id,
  ];
  expect(await found(fixture.ctx)).toEqual([verified.id, pending.id, undefined]);
  expect(await found(ctx)).toEqual([verified.id, made.id, made.id]);
  expect(asked).toEqual([
    [id, 'pending.example'],
    [id, 'any.example'],
  ]);
});

test('every record is found without a question to DNS', async () => {
  expect(await checkDns(ctx, made)).toEqual({
    records: { DKIM: { kind: 'found' }, SPF: { kind: 'found' }, DMARC: { kind: 'found' } },
    isProven: true,
  });
  // This resolver fails every question.
  expect((await checkDns(fixture.ctx, made)).records.DKIM.kind).toBe('unknown');
});

test('a webhook may go to http on this machine, and to nowhere else', async () => {
  const heard: unknown[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      heard.push([request.method, request.url, request.headers['webhook-id'], body]);
      response.writeHead(202).end('taken');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://localhost:${port}/hook`;
  const { id } = sender.account;
  const posters = [ctx, fixture.ctx].map((of) => new CallPoster(of, 5_000));
  try {
    const { endpoint } = await addEndpoint(ctx, id, { url, events: [] });
    for (const other of ['http://8.8.8.8/', `http://u:p@localhost:${port}/`]) {
      expect((await refusal(addEndpoint(ctx, id, { url: other, events: [] }))).code).toBe(
        'validation_failed',
      );
    }
    const refused = addEndpoint(fixture.ctx, id, { url, events: [] });
    expect((await refusal(refused)).code).toBe('validation_failed');
    const [local, guarded] = await Promise.all(
      posters.map((poster) => poster.post(endpoint.id, 'event', '{}')),
    );
    expect(local).toMatchObject({ kind: 'responded', statusCode: 202, excerpt: 'taken' });
    expect(guarded).toMatchObject({ kind: 'failed', isRefused: true });
    expect(heard).toEqual([['POST', '/hook', 'event', '{}']]);
  } finally {
    for (const poster of posters) poster.close();
    server.close();
  }
});

test('a confirmation is of one address in any case, is taken back once, and its absence is said', async () => {
  const { id } = sender.account;
  const real = fixture.ctx;
  expect([
    (await confirmRecipient(real, id, 'Ann@Receiver.example')).isNew,
    (await confirmRecipient(real, id, 'ann@receiver.example')).isNew,
  ]).toEqual([true, false]);
  const recipients = ['ann', 'ben', 'cy'].map((name) => ({
    address: `${name}@receiver.example`,
    domain: 'receiver.example',
  }));
  const own = { address: 'boss@made.example', domain: 'made.example' };
  const missing = await unconfirmed(real, id, [...recipients, own]);
  expect([...missing]).toEqual(['ben@receiver.example', 'cy@receiver.example']);
  await removeConfirmation(real, id, 'ANN@receiver.example');
  for (const [email, code, message] of [
    ['Ann@Receiver.example', 'not_found', 'ann@receiver.example is not a confirmed recipient.'],
    ['ann', 'validation_failed', null],
  ] as const) {
    const error = await refusal(removeConfirmation(real, id, email));
    expect(error.code).toBe(code);
    if (message !== null) expect(error.message).toBe(message);
  }
});
