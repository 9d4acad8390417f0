/**
 * Programs that are not ours submit to the compiled binary: swaks, msmtp, Python's smtplib and nodemailer, with attachments, Bcc,
 * 8-bit and SMTPUTF8 content, and ten megabytes; and they understand what they are refused with.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import { testAuthority } from '../rig/certificates.ts';
import { describeWith } from '../rig/programs.ts';
import { verifyWithDkimpy } from '../rig/dkim-verifier.ts';
import { startWorld, type World } from '../rig/world.ts';

let world: World;
let token: string;
let starttls: number;
let implicit: number;
let caFile: string;

beforeAll(async () => {
  caFile = testAuthority().certFile;
  const { certFile, keyFile } = testAuthority().issue(['mail.rig.test', '127.0.0.1']);
  world = await startWorld({
    config: `[smtp]
submission = ["127.0.0.1:0"]
submissions = ["127.0.0.1:0"]
tls_cert = "${certFile}"
tls_key = "${keyFile}"
`,
  });
  token = world.appliance.made.key;
  const ready = await world.appliance.log.first(({ event }) => event === 'ready');
  const portOf = (list: unknown): number => Number(String((list as string[])[0]).split(':')[1]);
  starttls = portOf(ready['submission']);
  implicit = portOf(ready['submissions']);
}, 30_000);
afterAll(() => world.stop());
beforeEach(() => world.receiver.messages.clear());

/** Runs a program beside the server, which is in this process. */
async function run(
  command: string[],
  options: { input?: string | Buffer; env?: Record<string, string> } = {},
): Promise<{ code: number; text: string }> {
  const child = Bun.spawn(command, {
    stdin: Buffer.from(options.input ?? ''),
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, HOME: world.appliance.folder, ...options.env },
  });
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, text: out + errors };
}

/** What reached the receivers: one copy for each recipient, the first parsed by a library that is not ours. */
async function received(copies = 1) {
  const messages = await world.receiver.messages.atLeast(copies);
  const [first] = messages;
  if (first === undefined) throw new Error('unreachable');
  const to = messages.flatMap((message) => message.to).sort();
  return { to, bytes: first.bytes, mail: await PostalMime.parse(first.bytes) };
}

/** The email as the API shows it, by the id in our 250. */
async function email(reply: string) {
  const id = /as ([0-9a-f-]{36})/.exec(reply)?.[1] ?? 'none';
  const answer = await world.appliance.api('GET', `/emails/${id}`);
  return (await answer.json()) as {
    subject: string;
    tags: object[];
    bcc: string[];
    log_id: string;
  };
}

describeWith(['swaks', 'net-ssleay'], 'swaks', () => {
  const swaks = (port: number, extra: string[], password = token) =>
    run([
      'swaks',
      '--server',
      '127.0.0.1',
      '--port',
      String(port),
      '--auth-user',
      'any',
      '--auth-password',
      password,
      '--from',
      'hello@example.org',
      '--to',
      'ann@example.net,cy@example.net',
      ...extra,
    ]);

  test.each(['PLAIN', 'LOGIN'])('by STARTTLS with AUTH %s, an attachment', async (method) => {
    const file = join(world.appliance.folder, 'notes.txt');
    writeFileSync(file, 'Attached words.\n');
    const { code, text } = await swaks(starttls, [
      '--tls',
      '--auth',
      method,
      '--attach',
      `@${file}`,
      '--header',
      'Subject: From swaks',
    ]);
    expect({ code, text }).toMatchObject({ code: 0 });
    const { mail, to, bytes } = await received(2);
    expect(mail.subject).toBe('From swaks');
    expect((await email(text)).subject).toBe('From swaks');
    expect(await verifyWithDkimpy(bytes, world.records)).toBe(true);
    expect(Buffer.from(mail.attachments[0]?.content as ArrayBuffer).toString()).toContain(
      'Attached words.',
    );
    expect(to).toEqual(['ann@example.net', 'cy@example.net']);
  });

  test('under implicit TLS', async () => {
    expect((await swaks(implicit, ['--tls-on-connect', '--auth', 'PLAIN'])).code).toBe(0);
    expect((await received(2)).to).toHaveLength(2);
  });

  test('is told no to a wrong key (28) and without TLS', async () => {
    const wrong = await swaks(
      starttls,
      ['--tls', '--auth', 'PLAIN'],
      'pr_live_wrongwrongwrongwrong',
    );
    expect(wrong.code).toBe(28);
    expect(wrong.text).toContain('535 5.7.8 The API key is invalid');
    expect((await swaks(starttls, ['--auth', 'PLAIN'])).code).toBe(28);
    expect(world.receiver.messages.items).toEqual([]);
  });

  test('is told no to a domain that is not ours (26)', async () => {
    const { code, text } = await swaks(starttls, [
      '--tls',
      '--auth',
      'PLAIN',
      '--h-From',
      'hello@nobody.example',
    ]);
    expect(code).toBe(26);
    expect(text).toContain('550 5.7.1 The domain nobody.example is not one of');
  });
});

describeWith(['msmtp'], 'msmtp', () => {
  const msmtp = (input: string, extra: string[] = [], password = token) =>
    run(
      [
        'msmtp',
        '--host=127.0.0.1',
        `--port=${starttls}`,
        '--auth=plain',
        '--user=any',
        '--passwordeval=printenv SMTP_PASSWORD',
        '--tls=on',
        '--tls-starttls=on',
        `--tls-trust-file=${caFile}`,
        '--from=hello@example.org',
        ...extra,
      ],
      { input, env: { SMTP_PASSWORD: password } },
    );
  const message =
    'From: Acme <hello@example.org>\nTo: ann@example.net\nBcc: secret@example.net\nSubject: From msmtp\n\nHello.\n.\n..\nend\n';

  test('with recipients of the header, Bcc and lines that begin with dots', async () => {
    const { code, text } = await msmtp(message, ['--read-recipients']);
    expect({ code, text }).toMatchObject({ code: 0 });
    const { mail, to, bytes } = await received(2);
    expect(to).toEqual(['ann@example.net', 'secret@example.net']);
    for (const copy of world.receiver.messages.items) {
      expect(copy.bytes.toString()).not.toContain('secret');
    }
    expect(await verifyWithDkimpy(bytes, world.records)).toBe(true);
    expect(mail.text).toBe('Hello.\n.\n..\nend\n');
  });

  test('shows our words when it is refused, with its codes for login (77) and data', async () => {
    const wrong = await msmtp(message, ['--read-recipients'], 'pr_live_wrongwrongwrongwrong');
    expect(wrong.code).toBe(77);
    expect(wrong.text).toContain('The API key is invalid or has been revoked.');
    const foreign = await msmtp(message.replace('example.org', 'nobody.example'), [
      '--read-recipients',
    ]);
    expect(foreign.code).not.toBe(0);
    expect(foreign.text).toContain('The domain nobody.example is not one of');
  });
});

describeWith(['python3'], "Python's smtplib", () => {
  const python = (script: string, env: Record<string, string> = {}) =>
    run(['python3', '-c', `${PRELUDE}\n${script}`], {
      env: {
        TOKEN: token,
        PORT: String(starttls),
        TLS_PORT: String(implicit),
        CA: caFile,
        ...env,
      },
    });
  const PRELUDE = `
import os, smtplib, ssl, hashlib
from email.message import EmailMessage
from email import policy
context = ssl.create_default_context(cafile=os.environ['CA'])
def greeting():
    s = smtplib.SMTP('127.0.0.1', int(os.environ['PORT']), local_hostname='client.example')
    s.starttls(context=context)
    s.login('any', os.environ['TOKEN'])
    return s
`;

  test('8-bit text in its own bytes, over a verified TLS session', async () => {
    const { code, text } = await python(`
body = 'From: hello@example.org\\r\\nTo: ann@example.net\\r\\nSubject: 8 bit\\r\\nMIME-Version: 1.0\\r\\nContent-Type: text/plain; charset=utf-8\\r\\nContent-Transfer-Encoding: 8bit\\r\\n\\r\\nGrüße 💌\\r\\n'
s = greeting()
print(s.sendmail('x@y.example', ['ann@example.net'], body.encode(), mail_options=['BODY=8BITMIME']))
s.quit()`);
    expect({ code, text }).toMatchObject({ code: 0 });
    expect((await received()).mail.text).toBe('Grüße 💌\n');
  });

  test('SMTPUTF8: letters of other scripts before the @', async () => {
    const { code, text } = await python(`
m = EmailMessage(policy=policy.SMTPUTF8)
m['From'] = 'hello@example.org'; m['To'] = 'ännchen@bücher.example.net'; m['Subject'] = 'Grüße'
m.set_content('Hallo')
s = greeting()
s.send_message(m)
s.quit()`);
    expect({ code, text }).toMatchObject({ code: 0 });
    const { to, mail } = await received();
    expect(to).toEqual(['ännchen@bücher.example.net']);
    expect(mail.subject).toBe('Grüße');
  });

  test('ten megabytes, byte for byte, implicit TLS', async () => {
    const { code, text } = await python(`
m = EmailMessage(); m['From'] = 'hello@example.org'; m['To'] = 'ann@example.net'; m['Subject'] = 'big'
m.set_content('see attachment')
blob = hashlib.shake_256(b'seed').digest(10 * 1000 * 1000)
m.add_attachment(blob, maintype='application', subtype='octet-stream', filename='big.bin')
s = smtplib.SMTP_SSL('127.0.0.1', int(os.environ['TLS_PORT']), context=context, local_hostname='c.example')
s.login('any', os.environ['TOKEN'])
s.send_message(m)
s.quit()
print(hashlib.sha256(blob).hexdigest())`);
    expect({ code, text: text.slice(0, 500) }).toMatchObject({ code: 0 });
    const content = (await received()).mail.attachments[0]?.content as ArrayBuffer;
    const sum = createHash('sha256').update(Buffer.from(content)).digest('hex');
    expect(text.trim()).toBe(sum);
  }, 30_000);

  test('several messages in one session, one of them refused', async () => {
    const { code, text } = await python(`
s = greeting()
def send(sender):
    m = EmailMessage(); m['From'] = sender; m['To'] = 'ann@example.net'; m.set_content('x')
    try:
        s.send_message(m); return 'ok'
    except smtplib.SMTPDataError as e:
        return e.smtp_code
print(send('a@example.org'), send('a@nobody.example'), send('a@example.org'))
s.quit()`);
    expect({ code, text: text.trim() }).toEqual({ code: 0, text: 'ok 550 ok' });
    // Both arrive here, not in the middle of the next test.
    expect((await received(2)).to).toEqual(['ann@example.net', 'ann@example.net']);
  });
});

describe('nodemailer', () => {
  const transport = (change: object = {}) =>
    createTransport({
      host: '127.0.0.1',
      port: starttls,
      requireTLS: true,
      auth: { user: 'any', pass: token },
      tls: { ca: testAuthority().cert, servername: 'mail.rig.test' },
      ...change,
    });

  test('what came over SMTP is read back like what came over HTTP', async () => {
    const mailer = transport();
    const sent = await mailer.sendMail({
      from: 'hello@example.org',
      to: 'ann@example.net',
      subject: 'Read back',
      text: 'Grüße',
      html: '<b>Grüße</b><img src="cid:dot">',
      headers: { 'X-Order': '4711' },
      attachments: [
        { filename: 'dot.png', content: Buffer.from([1, 2, 3]), cid: 'dot' },
        { filename: 'Rechnung ü.txt', content: 'bezahlt' },
      ],
    });
    mailer.close();
    const id = /as ([0-9a-f-]{36})/.exec(sent.response)?.[1] ?? 'none';
    const read = async (path: string): Promise<Response> =>
      world.appliance.api('GET', `/emails/${id}${path}`);
    expect(await (await read('')).json()).toMatchObject({ subject: 'Read back', text: 'Grüße' });
    const body = (await (await read('/body')).json()) as {
      html: string;
      headers: Record<string, string>;
      attachments: { filename: string; content_id: string | null; download_url: string }[];
    };
    expect(body.html).toBe('<b>Grüße</b><img src="cid:dot">');
    expect(body.headers).toEqual({ 'X-Order': '4711' });
    expect(body.attachments.map(({ filename, content_id }) => [filename, content_id])).toEqual([
      ['dot.png', 'dot'],
      ['Rechnung ü.txt', null],
    ]);
    const link = new URL(body.attachments[1]?.download_url ?? '');
    const file = await fetch(world.appliance.url + link.pathname + link.search);
    expect(await file.text()).toBe('bezahlt');
    // It arrives here, not in the middle of the next test.
    expect((await received()).to).toEqual(['ann@example.net']);
  });

  test('html, text, an inline image, Bcc, an idempotency key and a tag', async () => {
    const mailer = transport();
    const mail = {
      from: 'Acme <hello@example.org>',
      to: 'Ann <ann@example.net>',
      bcc: 'secret@example.net',
      subject: 'Grüße',
      text: 'Hallo',
      html: '<b>Hallo</b><img src="cid:dot">',
      attachments: [{ filename: 'dot.png', content: Buffer.from([1, 2, 3]), cid: 'dot' }],
      headers: { 'Idempotency-Key': 'nm-1', 'X-Tag-campaign': 'spring' },
    };
    const first = await mailer.sendMail(mail);
    const second = await mailer.sendMail(mail);
    mailer.close();
    expect(first.response).toMatch(/^250 2\.0\.0 OK queued as/);
    expect(second.response).toBe(first.response);
    const { mail: parsed, to, bytes } = await received(2);
    expect(parsed.html).toContain('<b>Hallo</b>');
    expect(parsed.attachments[0]?.contentId).toBe('<dot>');
    // nodemailer writes field names with capitals; a tag's name is taken as it comes.
    const shown = await email(first.response);
    expect(shown.tags).toEqual([{ name: 'Campaign', value: 'spring' }]);
    expect(shown.bcc).toEqual(['secret@example.net']);
    expect(to).toEqual(['ann@example.net', 'secret@example.net']);
    expect(bytes.toString()).not.toContain('secret');
    expect(await verifyWithDkimpy(bytes, world.records)).toBe(true);
    const log = await world.appliance.api('GET', `/logs/${shown.log_id}`);
    expect(await log.json()).toMatchObject({ method: 'SMTP', status: 200 });
  });

  test('reads our code and words', async () => {
    const mailer = transport({ auth: { user: 'any', pass: 'pr_live_wrongwrongwrongwrong' } });
    const error = await mailer
      .sendMail({ from: 'a@example.org', to: 'b@c.example', text: 'x' })
      .catch((reason: unknown) => reason);
    mailer.close();
    expect(error).toMatchObject({ code: 'EAUTH', responseCode: 535 });
  });
});
