/**
 * `resend-mcp`, unchanged, with `RESEND_BASE_URL` and a key, spoken to over standard input and output: every tool that
 * has a counterpart here, and what it says where there is none.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';

import { Arrivals } from '../rig/arrivals.ts';
import { PACKAGES, startClientWorld } from './client-rig.ts';
import type { ClientWorld } from './client-rig.ts';

interface Answer {
  id?: number;
  error?: unknown;
  result?: { isError?: boolean; content?: { text?: string }[] };
}

let world: ClientWorld;
let child: Bun.Subprocess<'pipe', 'pipe', 'ignore'>;
const answers = new Arrivals<Answer>('answers');
let asked = 0;

beforeAll(async () => {
  world = await startClientWorld();
  child = Bun.spawn(['node', join(PACKAGES, 'resend-mcp/dist/index.js')], {
    cwd: world.appliance.folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: world.appliance.folder,
      RESEND_BASE_URL: world.appliance.url,
      RESEND_API_KEY: world.appliance.made.key,
    },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  void readAnswers(child.stdout);
  await ask('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  say({ method: 'notifications/initialized' });
}, 30_000);
afterAll(async () => {
  child.kill();
  await child.exited;
  await world.stop();
});

function say(what: object): void {
  void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...what })}\n`);
  void child.stdin.flush();
}

async function ask(method: string, params: object): Promise<Answer> {
  asked += 1;
  const id = asked;
  say({ id, method, params });
  return answers.first((answer) => answer.id === id);
}

async function readAnswers(stream: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const chunk of stream) {
    const lines = (pending + decoder.decode(chunk, { stream: true })).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) answers.push(JSON.parse(line) as Answer);
  }
}

/** The text of a tool's answer, and whether it says that it failed. */
async function call(name: string, args: object = {}): Promise<{ text: string; failed: boolean }> {
  const { result, error } = await ask('tools/call', { name, arguments: args });
  const text = result?.content?.map((part) => part.text ?? '').join('\n') ?? JSON.stringify(error);
  return { text, failed: result === undefined || result.isError === true };
}

/** The text of a tool that must succeed. */
async function use(name: string, args: object = {}): Promise<string> {
  const { text, failed } = await call(name, args);
  if (failed) throw new Error(`${name}: ${text}`);
  return text;
}

const idIn = (text: string): string =>
  /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text)?.[0] ?? 'none';

test('emails: send, get, list, attachments, a batch', async () => {
  const email = {
    from: `hello@${world.domain}`,
    to: ['ann@example.net'],
    subject: 'By a model',
    text: 'Hello',
  };
  const attachments = [{ filename: 'a.txt', content: btoa('attached') }];
  const id = idIn(await use('send-email', { ...email, cc: ['cy@example.net'], attachments }));
  expect(await use('get-email', { id })).toContain('By a model');
  expect(await use('list-emails', { limit: 5 })).toContain(id);
  const files = await use('list-sent-email-attachments', { emailId: id });
  expect(files).toContain('a.txt');
  const batch = await use('send-batch-emails', { emails: [email, email] });
  expect(batch).toMatch(/2|two/i);
  const messages = await world.receiver.messages.atLeast(2, ({ bytes }) => bytes.includes(id));
  expect(messages.flatMap(({ to }) => to).sort()).toEqual(['ann@example.net', 'cy@example.net']);
});

test('domains and API keys', async () => {
  const name = `mcp.${world.domain}`;
  const id = idIn(await use('create-domain', { name }));
  expect(await use('list-domains')).toContain(name);
  expect(await use('get-domain', { id })).toContain('DKIM');
  await use('verify-domain', { id });
  await use('remove-domain', { id });
  const key = idIn(await use('create-api-key', { name: 'mcp' }));
  await use('update-api-key', { id: key, name: 'renamed' });
  expect(await use('list-api-keys')).toContain('renamed');
  await use('remove-api-key', { id: key });
});

test('webhooks, suppressions and logs', async () => {
  const made = await use('create-webhook', { endpoint: world.hook.url, events: ['email.sent'] });
  const webhookId = idIn(made);
  expect(made).toContain('whsec_');
  expect(await use('list-webhooks')).toContain(world.hook.url);
  expect(await use('get-webhook', { webhookId })).toContain('email.sent');
  await use('update-webhook', { webhookId, events: ['email.bounced'] });
  expect(await use('rotate-webhook-signing-secret', { webhookId })).toContain('whsec_');
  await use('remove-webhook', { webhookId });
  const emails = ['a@example.net', 'b@example.net'];
  await use('add-suppression', { email: 'no-more@example.net' });
  expect(await use('list-suppressions')).toContain('no-more@example.net');
  await use('get-suppression', { idOrEmail: 'no-more@example.net' });
  await use('remove-suppression', { idOrEmail: 'no-more@example.net' });
  await use('batch-add-suppressions', { emails });
  await use('batch-remove-suppressions', { emails });
  const logs = await use('list-logs', { limit: 5 });
  expect(await use('get-log', { logId: idIn(logs) })).toContain('User Agent: resend-mcp');
});

test('what does not exist here is refused in words', async () => {
  const contacts = await call('list-contacts');
  expect([contacts.failed, contacts.text]).toEqual([true, expect.stringContaining('no contacts')]);
  const metrics = await call('get-email-metrics');
  expect(metrics.text).toContain('no email metrics');
});
