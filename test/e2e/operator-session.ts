/**
 * One operator's session on the compiled binary, from `init` to `migrate`.
 *
 * `bun test/e2e/operator-session.ts` writes its transcript again: read the difference line by line.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { testAuthority } from '../rig/certificates.ts';
import { NOBODY, OperatorTerminal, idsIn } from '../rig/operator-terminal.ts';

export const TRANSCRIPT_FILE = join(import.meta.dir, 'operator-session.txt');

/** The whole session; each part goes on where the last one ended. */
export async function hold(): Promise<string> {
  const session = await OperatorTerminal.start();
  try {
    await begin(session);
    await domains(session);
    await mail(session);
    await webhooks(session);
    await people(session);
    await withoutServer(session);
    await migration(session);
    await emulator(session);
    return session.transcript;
  } finally {
    await session.stop();
  }
}

async function begin(session: OperatorTerminal): Promise<void> {
  const { names, receiver, config, folder } = session;
  await session.run(['version']);
  await session.run(['check']);
  await session.run(['init', '--hostname', 'mail.example.com', '--data-dir', 'data']);
  await session.run(['init', '--hostname', 'mail.example.com', '--data-dir', 'data']);
  await session.run(['init', '--secret-key', 'data/secret.key', '--hostname', 'b.example.com']);
  const other = ['init', '--hostname', 'c.example.com', '--config', 'c.toml', '--data-dir', 'c'];
  await session.run([...other, '--key-prefix', 'Re']);
  await session.run([...other, '--acme', 'nobody']);
  await session.run([...other, '--store', 'mysql://nowhere']);
  const { certFile, keyFile } = testAuthority().issue(['mail.example.com']);
  copyFileSync(certFile, join(folder, 'cert.pem'));
  copyFileSync(keyFile, join(folder, 'key.pem'));
  writeFileSync(
    config,
    `hostname = "mail.example.com"
data_dir = ${JSON.stringify(join(folder, 'data'))}
[http]
listen = "127.0.0.1:0"
[smtp]
inbound = "127.0.0.1:0"
submission = ["127.0.0.1:0"]
submissions = ["127.0.0.1:0"]
tls_cert = ${JSON.stringify(join(folder, 'cert.pem'))}
tls_key = ${JSON.stringify(join(folder, 'key.pem'))}
[delivery]
port = ${receiver.port}
allow_networks = ["127.0.0.0/8"]
[tls]
extra_ca_file = ${JSON.stringify(testAuthority().certFile)}
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[webhooks]
allow_networks = ["127.0.0.0/8"]
[node]
name = "first"
[[plans]]
id = "small"
included_emails = 3
`,
  );
  await session.run(['check']);
  await session.run(['reload']);
  await session.begin(['serve'], 'submission (TLS)');
  await session.run(['serve']);
  await session.run(['reload']);
}

async function domains(session: OperatorTerminal): Promise<void> {
  await session.run(['account', 'create', 'Shop', '--plan', 'small']);
  await session.run(['account', 'change', 'Shop', '--plan', 'none']);
  await session.run(['account', 'list']);
  await session.run(['domain', 'list']);
  await session.run(['domain', 'add', 'example.org']);
  const added = await session.run(['domain', 'add', 'example.org', '--account', 'default']);
  await session.run(['domain', 'add', 'example.org', '--account', 'default']);
  await session.run(['domain', 'add', 'nonsense', '--account', 'default']);
  await session.run(['domain', 'verify', 'example.org']);
  publish(session, added);
  await session.run(['domain', 'verify', 'example.org']);
  await session.run(['domain', 'rotate-key', 'example.org', '--activate']);
  const second = await session.run(['domain', 'rotate-key', 'example.org']);
  await session.run(['domain', 'rotate-key', 'example.org', '--activate']);
  publish(session, second);
  await session.run(['domain', 'rotate-key', 'example.org', '--activate']);
  await session.run(['domain', 'records', 'example.org']);
  await session.run(['domain', 'list']);
  await session.run(['domain', 'add', 'example.org', '--account', 'Shop']);
  await session.run(['domain', 'verify', 'example.org']);
  await session.run(['domain', 'remove', 'example.org', '--account', 'Shop']);
  await session.run(['domain', 'remove', 'other.example', '--account', 'default']);
}

/** Publishes every record that a command has shown. */
function publish({ names }: OperatorTerminal, shown: string): void {
  for (const [, type, name = '', value = ''] of shown.matchAll(/(TXT|CNAME) (\S+)\n +(\S.*)$/gm)) {
    names.set(name, type as 'TXT' | 'CNAME', [value]);
  }
}

async function mail(session: OperatorTerminal): Promise<void> {
  const { receiver } = session;
  const send = (to: string, ...more: string[]): Promise<string> =>
    session.run(
      ['send', '--account', 'default', '--from', 'Shop <shop@example.org>', '--to', to].concat(
        more,
      ),
      'Hello',
    );
  const wait = ['--subject', 'Your order', '--wait'];
  await send('ann@example.net', ...wait);
  receiver.script.rcpt = () => '550 5.1.1 No such user';
  await send('bob@example.net', ...wait, '--tag', 'kind=order');
  receiver.script.rcpt = () => '451 4.2.1 Later';
  const later = await send('late@example.net', '--subject', 'Later');
  const id = later.trim();
  await session.until(['queue', 'show', id], 'after one attempt');
  await send('delivered@sandbox.test', '--sandbox', ...wait);
  await send('nobody', ...wait);
  await send('ann@example.net', '--subject', 'A file', '--attachment', 'none.pdf');
  await send('ann@example.net', '--subject', 'A field', '--header', 'X-Ticket');
  await send('ann@example.net', '--subject', 'A tag', '--tag', 'order');
  await send('ann@example.net', '--from', 'shop@other.example', ...wait);
  await session.run(['email', 'list', '--account', 'default']);
  await session.run(['email', 'list', '--account', 'default', '--status', 'lost']);
  await session.run(['email', 'list', '--account', 'default', '--limit', '1', '--after', NOBODY]);
  await session.run(['email', 'show', NOBODY]);
  await session.run(['queue', 'list']);
  await session.run(['queue', 'list', '--domain', 'Example.NET']);
  await session.run(['queue', 'list', '--domain', 'other.example']);
  await session.run(['queue', 'show', NOBODY]);
  await session.run(['queue', 'show', id]);
  await session.run(['queue', 'fail', id]);
  await session.run(['queue', 'retry', id]);
  await session.run(['email', 'show', id]);
  await session.run(['suppression', 'list', '--account', 'default']);
  await send('bob@example.net', ...wait);
  await session.run(['halt', '--reason', 'a look at the disk']);
  await session.run(['halt']);
  await send('ann@example.net', '--subject', 'Halted');
  await session.run(['resume']);
  await session.run(['account', 'pause', 'default', '--reason', 'asked by phone']);
  await send('ann@example.net', '--subject', 'Paused');
  await session.run(['account', 'resume', 'default']);
}

async function webhooks(session: OperatorTerminal): Promise<void> {
  const { names, hook } = session;
  const add = ['webhook', 'add', '--account', 'default'];
  await session.run([...add, 'http://hook.example.org']);
  await session.run([...add, 'https://hook.example.org/in']);
  const { hostname } = new URL(hook.url);
  names.set(hostname, 'A', [hook.host]);
  const added = await session.run([...add, hook.url, '--event', 'email.delivered']);
  const id = idsIn(added)[0] ?? '';
  await session.run(['webhook', 'test', id, '--account', 'default']);
  hook.script.answer = () => ({ status: 503 });
  await session.run(['webhook', 'test', id, '--account', 'default']);
  await session.run(['webhook', 'test', NOBODY, '--account', 'default']);
  await session.run(['webhook', 'list', '--account', 'default']);
  await session.run(['webhook', 'replay', id, '--account', 'default']);
  await session.run(['webhook', 'replay', id, '--account', 'default', '--since', '2026-01-01']);
  await session.run(['webhook', 'replay', id, '--account', 'default', '--event', NOBODY]);
}

async function people(session: OperatorTerminal): Promise<void> {
  const of = ['--account', 'default'];
  await session.run(['key', 'create', '--name', 'reports', ...of, '--permission', 'none']);
  await session.run(['key', 'create', '--name', 'reports', ...of, '--test']);
  const keys = await session.run(['key', 'list', ...of]);
  await session.run(['key', 'revoke', idsIn(keys).at(-1) ?? '']);
  await session.run(['key', 'revoke', NOBODY]);
  await session.run(['key', 'list']);
  const list = 'email,reason\neve@example.net,complaint\nnobody,manual\n';
  await session.run(['suppression', 'import', '-', ...of], list);
  await session.run(['suppression', 'add', 'ann@example.net', ...of, '--note', 'by phone']);
  await session.run(['suppression', 'remove', 'eve@example.net', ...of]);
  await session.run(['suppression', 'remove', 'eve@example.net', ...of]);
  await session.run(['suppression', 'export', ...of]);
  await session.run(['recipient', 'confirm', 'Ann@Example.net', ...of]);
  await session.run(['recipient', 'confirm', 'ann@example.net', ...of]);
  await session.run(['recipient', 'confirm', 'nobody', ...of]);
  await session.run(['recipient', 'list', ...of]);
  await session.run(['recipient', 'remove', 'ann@example.net', ...of]);
  await session.run(['recipient', 'remove', 'ann@example.net', ...of]);
  await session.run(['recipient', 'list', ...of]);
  await session.run(['operator', 'add', 'ann', '--read-only', '--account', 'Shop']);
  await session.run(['operator', 'add', 'ann']);
  await session.run(['operator', 'add', 'Ann']);
  await session.run(['operator', 'password', 'ann', '--stdin'], 'a long sentence for ann\n');
  await session.run(['operator', 'password', 'ann', '--stdin'], '\n');
  await session.run(['operator', 'password', 'ann']);
  await session.run(['operator', 'totp-reset', 'ann']);
  await session.run(['operator', 'list']);
  await session.run(['operator', 'remove', 'ann']);
  await session.run(['operator', 'remove', 'admin']);
  await session.run(['password', '--stdin'], 'short\n');
  await session.run(['password', '--stdin'], 'a long sentence for the admin\n');
  await session.run(['password']);
  await session.request('GET', '/emails/nonsense');
  await session.request('POST', '/emails');
  await session.until(['log', 'list', ...of], 'POST');
  await session.run(['log', 'list', ...of]);
  await session.run(['log', 'list', ...of, '--limit', '0']);
  // What the requests used of their rates is stored within five seconds, or by the end of the server.
  await session.end();
  await session.begin(['serve'], 'submission (TLS)');
  await session.run(['node', 'list']);
  await session.run(['node', 'drain', 'here']);
  await session.run(['erase', 'ann@example.net', ...of]);
  await session.run(['erase', 'ann@example.net', '--yes']);
  await session.run(['account', 'delete', 'Shop']);
  await session.run(['account', 'delete', 'Shop', '--yes']);
  await session.run(['audit', '--limit', '100']);
  await session.run(['audit', '--before', 'now']);
  await session.run(['backup', 'kept.backup']);
  await session.run(['backup', 'kept.backup']);
  await session.run(['rekey']);
  await session.run(['restore', 'kept.backup']);
}

async function withoutServer(session: OperatorTerminal): Promise<void> {
  const of = ['--account', 'default'];
  await session.end();
  const hello = ['send', ...of, '--from', 'shop@example.org', '--to', 'late@example.net'];
  await session.run([...hello, '--subject', 'Later', '--text', 'Hello']);
  await session.run([...hello, '--subject', 'Later', '--text', 'Hello', '--wait']);
  await session.run(['tail']);
  const endpoints = await session.run(['webhook', 'list', ...of]);
  await session.run(['webhook', 'test', idsIn(endpoints)[0] ?? '', ...of]);
  await session.run(['queue', 'list']);
  await session.run(['rekey']);
  await session.run(['rekey', '--leaked']);
  await session.run(['restore', 'none.backup']);
  await session.run(['restore', 'kept.backup', '--key-only']);
  await session.run(['restore', 'kept.backup']);
  await session.run(['email', 'list', ...of]);
  await session.run(['doctor']);
}

async function migration(session: OperatorTerminal): Promise<void> {
  const { config, database, folder } = session;
  const url = await database.freshDatabase();
  await session.run(['migrate', '--to', 'elsewhere', '--password-file', 'none']);
  await session.run(['migrate', '--to', 'elsewhere']);
  await session.run(['migrate', '--to', 'mysql://nowhere']);
  await session.run(['migrate', '--to', url]);
  await session.run(['migrate', '--to', url]);
  const before = readFileSync(config, 'utf8');
  writeFileSync(config, before.replace('[http]', `[store]\nurl = "${url}"\n[http]`));
  await session.run(['email', 'list', '--account', 'default']);
  copyFileSync(join(folder, 'data', 'secret.key'), join(folder, 'copied.key'));
  const second = ['init', '--config', 'b.toml', '--data-dir', 'b', '--hostname', 'b.example.com'];
  await session.run([...second, '--store', url]);
  await session.run([...second, '--store', url, '--secret-key', 'copied.key']);
  await session.begin(['serve'], 'submission (TLS)');
  await session.until(['node', 'list', '--json'], '"taken":0');
  await session.run(['node', 'list']);
  await session.run(['node', 'drain', 'nobody']);
  await session.end();
  await session.run(['migrate', '--to', 'moved']);
}

async function emulator(session: OperatorTerminal): Promise<void> {
  const dev = ['dev', '--port', '0', '--smtp-port', '0'];
  await session.run([...dev, '--rspamd-url', 'nonsense']);
  await session.run([...dev, '--data', 'data']);
  await session.run([...dev, '--port', '99999']);
  await session.begin(dev, 'Ctrl-C ends it.');
  await session.end();
  await session.begin([...dev, '--data', 'kept', '--key', 're_own'], 'Ctrl-C ends it.');
  await session.end();
}

if (import.meta.main) writeFileSync(TRANSCRIPT_FILE, await hold());
