/**
 * `resend-cli`, unchanged, with `RESEND_BASE_URL` and a key: every command that has a counterpart here, and what it
 * says where there is none.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { jsonOf, PACKAGES, runClient, startClientWorld } from './client-rig.ts';
import type { ClientWorld } from './client-rig.ts';

const PROGRAM = join(PACKAGES, 'resend-cli/dist/cli.cjs');

let world: ClientWorld;
let message: string[];
beforeAll(async () => {
  world = await startClientWorld();
  const from = `hello@${world.domain}`;
  message = ['--from', from, '--to', 'ann@example.net', '--subject', 'By hand'];
}, 30_000);
afterAll(() => world.stop());

/** A command that succeeds; gives what it printed. */
async function resend(...args: string[]): Promise<Record<string, unknown>> {
  const command = ['node', PROGRAM, ...args, '--json', '--quiet'];
  return jsonOf(await runClient(world, command, { env: QUIET })) as Record<string, unknown>;
}

/** A command that the API refuses; gives what it wrote. */
async function refusedBy(...args: string[]): Promise<string> {
  const command = ['node', PROGRAM, ...args, '--json', '--quiet'];
  const { code, out, errors } = await runClient(world, command, { env: QUIET });
  expect(code).toBe(1);
  return out + errors;
}

/** Without its own reports and its look for a newer release. */
const QUIET = { RESEND_TELEMETRY_DISABLED: '1', RESEND_NO_UPDATE_NOTIFIER: '1' };

const idsOf = (list: Record<string, unknown>): unknown[] =>
  (list['data'] as { id: string }[]).map(({ id }) => id);

/** A file in the appliance's folder, which is the program's working folder. */
function file(name: string, text: string): string {
  const path = join(world.appliance.folder, name);
  writeFileSync(path, text);
  return path;
}

test('emails: send, get, list, attachments', async () => {
  const content = ['--html-file', file('mail.html', '<p>Hello</p>'), '--cc', 'cy@example.net'];
  const headers = ['--reply-to', `r@${world.domain}`, '--headers', 'X-Order=7'];
  const rest = ['--tags', 'kind=receipt', '--attachment', file('a.txt', 'attached')];
  const sent = await resend('emails', 'send', ...message, ...content, ...headers, ...rest);
  const id = String(sent['id']);
  const [shown, list, files] = await Promise.all([
    resend('emails', 'get', id),
    resend('emails', 'list', '--limit', '1'),
    resend('emails', 'attachments', id),
  ]);
  expect(shown).toMatchObject({ id, cc: ['cy@example.net'], html: '<p>Hello</p>' });
  expect(idsOf(list)).toEqual([id]);
  const [fileId] = idsOf(files);
  expect(await resend('emails', 'attachment', id, String(fileId))).toMatchObject({
    filename: 'a.txt',
    size: 8,
  });
  const messages = await world.receiver.messages.atLeast(2, ({ bytes }) => bytes.includes(id));
  expect(messages.flatMap(({ to }) => to).sort()).toEqual(['ann@example.net', 'cy@example.net']);
});

test('emails: an idempotency key, and a batch', async () => {
  const twice = ['emails', 'send', ...message, '--text', 'Once', '--idempotency-key', 'cli-1'];
  expect(await resend(...twice)).toEqual(await resend(...twice));
  const [from, to] = [`hello@${world.domain}`, ['ann@example.net']];
  const emails = [1, 2].map((n) => ({ from, to, subject: `Batch ${n}`, text: 'Hello' }));
  const batch = await resend(
    'emails',
    'batch',
    '--file',
    file('batch.json', JSON.stringify(emails)),
  );
  expect(batch).toHaveLength(2);
});

test('domains: create, get, list, verify, delete', async () => {
  const made = await resend('domains', 'create', '--name', `cli.${world.domain}`);
  const id = String(made['id']);
  const [shown, list] = await Promise.all([
    resend('domains', 'get', id),
    resend('domains', 'list'),
  ]);
  expect(shown).toMatchObject({ id, status: 'pending' });
  expect(idsOf(list)).toContain(id);
  expect(await resend('domains', 'verify', id)).toMatchObject({ id });
  expect(await resend('domains', 'delete', id, '--yes')).toMatchObject({ deleted: true });
});

test('API keys: create, list, update, delete', async () => {
  const made = await resend('api-keys', 'create', '--name', 'cli');
  const id = String(made['id']);
  expect(made['token']).toBeString();
  await resend('api-keys', 'update', id, '--name', 'renamed');
  const list = await resend('api-keys', 'list');
  expect(list['data']).toContainEqual(expect.objectContaining({ id, name: 'renamed' }));
  expect(await resend('api-keys', 'delete', id, '--yes')).toMatchObject({ deleted: true });
});

test('webhooks: create, get, list, update, rotate the secret, delete', async () => {
  const events = 'email.sent,email.bounced';
  const endpoint = ['--endpoint', world.hook.url, '--events', events];
  const made = await resend('webhooks', 'create', ...endpoint);
  const id = String(made['id']);
  expect(made['signing_secret']).toStartWith('whsec_');
  await resend('webhooks', 'update', id, '--status', 'disabled');
  const [shown, list] = await Promise.all([
    resend('webhooks', 'get', id),
    resend('webhooks', 'list'),
  ]);
  expect(shown).toMatchObject({ id, status: 'disabled' });
  expect(idsOf(list)).toEqual([id]);
  const rotated = await resend('webhooks', 'rotate-signing-secret', id);
  expect(rotated['signing_secret']).not.toBe(made['signing_secret']);
  expect(await resend('webhooks', 'delete', id, '--yes')).toMatchObject({ deleted: true });
});

test('suppressions: add, get, list, delete, and in batches', async () => {
  const address = 'no-more@example.net';
  const added = await resend('suppressions', 'add', address);
  expect(await resend('suppressions', 'get', String(added['id']))).toMatchObject({
    email: address,
    origin: 'manual',
  });
  expect(idsOf(await resend('suppressions', 'list'))).toContain(added['id']);
  expect(await resend('suppressions', 'delete', address, '--yes')).toMatchObject({ deleted: true });
  const several = file('addresses.json', '["a@example.net", "b@example.net"]');
  for (const verb of ['add', 'remove']) {
    const done = await resend('suppressions', 'batch', verb, '--file', several);
    expect(done['data']).toHaveLength(2);
  }
});

test('login keeps a key with the prefix that it asks for, logout forgets it', async () => {
  const options = ['--account', 'default', '--name', 'cli', '--permission', 'full_access'];
  const { token } = await world.appliance.json(['key', 'create', ...options]);
  const withoutKey = { ...QUIET, RESEND_API_KEY: '', RESEND_CREDENTIAL_STORE: 'file' };
  const run = async (...args: string[]): Promise<unknown> => {
    const command = ['node', PROGRAM, ...args, '--json', '--quiet'];
    return jsonOf(await runClient(world, command, { env: withoutKey }));
  };
  expect(await run('login', '--key', String(token))).toMatchObject({
    success: true,
    permission: 'full_access',
  });
  expect(await run('domains', 'list')).toMatchObject({ object: 'list' });
  expect(await run('logout')).toMatchObject({ success: true });
});

test('logs, whoami and doctor', async () => {
  const list = await resend('logs', 'list', '--limit', '5');
  const id = String(idsOf(list)[0]);
  expect(await resend('logs', 'get', id)).toMatchObject({ id, object: 'log' });
  expect(await resend('whoami')).toMatchObject({ authenticated: true });
  const { checks } = (await resend('doctor')) as { checks: { name: string; status: string }[] };
  const domains = checks.find(({ name }) => name === 'Domains');
  expect(domains?.status ?? checks).toBe('pass');
});

describe('what does not exist here is refused in words', () => {
  test.each([
    ['contacts', ['contacts', 'list']],
    ['emails cannot be scheduled', ['emails', 'cancel', '01a20119-d062-7000-89e6-f05775d840bb']],
    ['no email metrics', ['emails', 'metrics']],
    ['cannot be claimed', ['domains', 'claim', 'create', '--name', 'other.example.org']],
    ['no OAuth grants', ['oauth-grants', 'list']],
  ])('%s', async (words, command) => {
    expect(await refusedBy(...command)).toContain(words);
  });

  test('a wrong key', async () => {
    const command = ['emails', 'list', '--api-key', 'pr_live_00000000000000000000'];
    expect(await refusedBy(...command)).toContain('API key');
  });
});
