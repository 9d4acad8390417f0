/**
 * Shows the whole thing on this machine: builds, makes a throw-away data directory, starts in capture mode, sends one
 * email through the API, prints its events and the dashboard's address, and stays up.
 *
 * `--once` ends with exit 0 when the email was delivered and the webhook of that event verified, else with 1. Promises
 * that nothing leaves the machine, and that everything it made is removed at the end. Uses the test rig's webhook
 * receiver and DNS server, because an endpoint must be https and have a name.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Resend } from 'resend';
import { Webhook } from 'standardwebhooks';

import { testAuthority } from '../test/rig/certificates.ts';
import { startHook } from '../test/rig/hook.ts';
import type { HookCall } from '../test/rig/hook.ts';
import { startNames } from '../test/rig/names.ts';
import { scriptOptions } from './options.ts';
import { command, ensureBuilt, say, serve } from './try-node.ts';
import type { Made } from './try-node.ts';

const HOOK_NAME = 'hook.try.test';

const { once: isOnce } = scriptOptions({
  options: { once: { type: 'boolean', default: false } },
}).values;
const folder = mkdtempSync(join(tmpdir(), 'postrider-try-'));
const configFile = join(folder, 'postrider.toml');

function verify(secret: string, call: HookCall): { type: string; data: { email_id: string } } {
  const headers = call.headers as Record<string, string>;
  return new Webhook(secret).verify(call.body, headers) as {
    type: string;
    data: { email_id: string };
  };
}

async function main(): Promise<void> {
  await ensureBuilt();
  const names = await startNames();
  const hook = await startHook(HOOK_NAME);
  names.set(HOOK_NAME, 'A', [hook.host]);
  const made = (await command(
    configFile,
    'init',
    '--hostname',
    'mail.try.test',
    '--data-dir',
    join(folder, 'data'),
  )) as unknown as Made;
  writeFileSync(
    configFile,
    `hostname = "mail.try.test"
data_dir = "${made.data_dir}"
[http]
listen = "127.0.0.1:0"
[delivery]
mode = "capture"
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"
[webhooks]
allow_networks = ["127.0.0.0/8"]
`,
  );
  const { child, http } = await serve(configFile, join(folder, 'serve.log'));
  try {
    await sendOne(made.key, http, names, hook);
    say(`\nDashboard  ${http}/dashboard  password ${made.admin_password}`);
    say(`API        ${http}            key ${made.key}`);
    say(`Config     ${configFile}\nLog        ${join(folder, 'serve.log')}`);
    if (!isOnce) {
      say('\nCtrl-C ends it and removes everything.');
      await new Promise<void>((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) {
          process.once(signal, () => resolve());
        }
      });
    }
  } finally {
    child.kill('SIGTERM');
    await child.exited;
    await hook.stop();
    await names.stop();
  }
}

/** A domain with its records published, an endpoint, one email, and what became of it. */
async function sendOne(
  key: string,
  http: string,
  names: Awaited<ReturnType<typeof startNames>>,
  hook: Awaited<ReturnType<typeof startHook>>,
): Promise<void> {
  const { records } = (await command(
    configFile,
    'domain',
    'add',
    'try.example',
    '--account',
    'default',
  )) as {
    records: { type: 'TXT' | 'CNAME'; name: string; value: string }[];
  };
  for (const { type, name, value } of records) names.set(name, type, [value]);
  const { status } = await command(configFile, 'domain', 'verify', 'try.example');
  say(`Domain try.example: ${String(status)}`);

  const resend = new Resend(key, { baseUrl: http });
  const endpoint = await resend.webhooks.create({
    endpoint: hook.url,
    events: ['email.delivered'],
  });
  if (endpoint.error) throw new Error(`webhook: ${endpoint.error.message}`);
  const sent = await resend.emails.send({
    from: 'Postrider <hello@try.example>',
    to: 'you@somewhere.example',
    subject: 'The first email',
    html: '<p>It <strong>works</strong>.</p>',
    text: 'It works.',
  });
  if (sent.error) throw new Error(`send: ${sent.error.message}`);
  const call = await hook.calls.first(() => true, 20_000);
  const event = verify(endpoint.data.signing_secret, call);
  if (event.type !== 'email.delivered' || event.data.email_id !== sent.data.id) {
    throw new Error(`an unexpected webhook: ${call.body}`);
  }
  const answer = await fetch(`${http}/emails/${sent.data.id}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const email = (await answer.json()) as {
    last_event: string;
    events: { type: string; occurred_at: string; payload: string | null }[];
  };
  say(`Email ${sent.data.id}: ${email.last_event}`);
  for (const one of email.events) say(`  ${one.occurred_at}  ${one.type}  ${one.payload ?? ''}`);
  say(`Webhook ${String(call.headers['webhook-id'])}: ${event.type}, signature verified`);
  if (email.last_event !== 'delivered') throw new Error('the email was not delivered');
}

let exitCode = 0;
try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  const log = Bun.file(join(folder, 'serve.log'));
  if (await log.exists()) process.stderr.write(await log.text());
  exitCode = 1;
}
rmSync(folder, { recursive: true, force: true });
process.exit(exitCode);
