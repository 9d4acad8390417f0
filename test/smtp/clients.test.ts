/**
 * Programs that are not ours submit: swaks, msmtp, Python's smtplib and nodemailer, with attachments, Bcc,
 * 8-bit and SMTPUTF8 content, and ten megabytes; and they understand what they are refused with.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import type { Listen } from '../../src/base/config.ts';
import { testAuthority } from '../rig/certificates.ts';
import { describeWith } from '../rig/programs.ts';
import { openSmtpHouse, type SmtpHouse } from './house.ts';

let house: SmtpHouse;
let caFile: string;

beforeAll(async () => {
  house = await openSmtpHouse();
  caFile = testAuthority().certFile;
});
afterAll(() => house.close());
beforeEach(() => {
  house.sink.messages.length = 0;
});

/** Runs a program beside the server, which is in this process. */
async function run(
  command: string[],
  options: { input?: string | Buffer; env?: Record<string, string> } = {},
): Promise<{ code: number; text: string }> {
  const child = Bun.spawn(command, {
    stdin: Buffer.from(options.input ?? ''),
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, HOME: house.dir, ...options.env },
  });
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, text: out + errors };
}

/** The one message that was accepted, parsed by a library that is not ours. */
async function received() {
  expect(house.sink.messages).toHaveLength(1);
  const [accepted] = house.sink.messages;
  const raw = Buffer.from(accepted?.body.raw ?? []);
  const { message, recipients } = accepted ?? { message: null, recipients: [] };
  return { message, recipients, raw, mail: await PostalMime.parse(raw) };
}

const addresses = (list: { address: string }[]): string[] => list.map(({ address }) => address);

describeWith(['swaks', 'net-ssleay'], 'swaks', () => {
  const swaks = (at: Listen, extra: string[], token = house.token) =>
    run([
      'swaks',
      '--server',
      at.host,
      '--port',
      String(at.port),
      '--auth-user',
      'any',
      '--auth-password',
      token,
      '--from',
      'hello@acme.example',
      '--to',
      'ann@receiver.example,cy@receiver.example',
      ...extra,
    ]);

  test.each(['PLAIN', 'LOGIN'])('by STARTTLS with AUTH %s, an attachment', async (method) => {
    const file = join(house.dir, 'notes.txt');
    writeFileSync(file, 'Attached words.\n');
    const { code, text } = await swaks(house.submission, [
      '--tls',
      '--auth',
      method,
      '--attach',
      `@${file}`,
      '--header',
      'Subject: From swaks',
    ]);
    expect({ code, text }).toMatchObject({ code: 0 });
    const { mail, recipients, message } = await received();
    expect(mail.subject).toBe('From swaks');
    expect(message?.subject).toBe('From swaks');
    expect(Buffer.from(mail.attachments[0]?.content as ArrayBuffer).toString()).toContain(
      'Attached words.',
    );
    expect(addresses(recipients)).toEqual(['ann@receiver.example', 'cy@receiver.example']);
  });

  test('under implicit TLS', async () => {
    expect((await swaks(house.submissions, ['--tls-on-connect', '--auth', 'PLAIN'])).code).toBe(0);
    expect(house.sink.messages).toHaveLength(1);
  });

  test('is told no to a wrong key (28) and without TLS', async () => {
    const wrong = await swaks(
      house.submission,
      ['--tls', '--auth', 'PLAIN'],
      'pr_live_wrongwrongwrongwrong',
    );
    expect(wrong.code).toBe(28);
    expect(wrong.text).toContain('535 5.7.8 The API key is invalid');
    expect((await swaks(house.submission, ['--auth', 'PLAIN'])).code).toBe(28);
    expect(house.sink.messages).toEqual([]);
  });

  test('is told no to a domain that is not ours (26)', async () => {
    const { code, text } = await swaks(house.submission, [
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
  const msmtp = (input: string, extra: string[] = [], token = house.token) =>
    run(
      [
        'msmtp',
        '--host=127.0.0.1',
        `--port=${house.submission.port}`,
        '--auth=plain',
        '--user=any',
        '--passwordeval=printenv SMTP_PASSWORD',
        '--tls=on',
        '--tls-starttls=on',
        `--tls-trust-file=${caFile}`,
        '--from=hello@acme.example',
        ...extra,
      ],
      { input, env: { SMTP_PASSWORD: token } },
    );
  const message =
    'From: Acme <hello@acme.example>\nTo: ann@receiver.example\nBcc: secret@receiver.example\nSubject: From msmtp\n\nHello.\n.\n..\nend\n';

  test('with recipients of the header, Bcc and lines that begin with dots', async () => {
    const { code, text } = await msmtp(message, ['--read-recipients']);
    expect({ code, text }).toMatchObject({ code: 0 });
    const { mail, recipients, raw } = await received();
    expect(addresses(recipients)).toEqual(['ann@receiver.example', 'secret@receiver.example']);
    expect(raw.toString()).not.toContain('secret');
    expect(mail.text).toBe('Hello.\n.\n..\nend\n');
  });

  test('shows our words when it is refused, with its codes for login (77) and data', async () => {
    const wrong = await msmtp(message, ['--read-recipients'], 'pr_live_wrongwrongwrongwrong');
    expect(wrong.code).toBe(77);
    expect(wrong.text).toContain('The API key is invalid or has been revoked.');
    const foreign = await msmtp(message.replace('acme.example', 'nobody.example'), [
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
        TOKEN: house.token,
        PORT: String(house.submission.port),
        TLS_PORT: String(house.submissions.port),
        CA: caFile,
        ...env,
      },
    });
  const PRELUDE = `
import os, smtplib, ssl, hashlib
from email.message import EmailMessage
from email import policy
context = ssl.create_default_context(cafile=os.environ['CA'])
def door():
    s = smtplib.SMTP('127.0.0.1', int(os.environ['PORT']), local_hostname='client.example')
    s.starttls(context=context)
    s.login('any', os.environ['TOKEN'])
    return s
`;

  test('8-bit text in its own bytes, over a verified TLS session', async () => {
    const { code, text } = await python(`
body = 'From: hello@acme.example\\r\\nTo: ann@receiver.example\\r\\nSubject: 8 bit\\r\\nMIME-Version: 1.0\\r\\nContent-Type: text/plain; charset=utf-8\\r\\nContent-Transfer-Encoding: 8bit\\r\\n\\r\\nGrüße 💌\\r\\n'
s = door()
print(s.sendmail('x@y.example', ['ann@receiver.example'], body.encode(), mail_options=['BODY=8BITMIME']))
s.quit()`);
    expect({ code, text }).toMatchObject({ code: 0 });
    expect((await received()).mail.text).toBe('Grüße 💌\n');
  });

  test('SMTPUTF8: letters of other scripts before the @', async () => {
    const { code, text } = await python(`
m = EmailMessage(policy=policy.SMTPUTF8)
m['From'] = 'hello@acme.example'; m['To'] = 'ännchen@bücher.example'; m['Subject'] = 'Grüße'
m.set_content('Hallo')
s = door()
s.send_message(m)
s.quit()`);
    expect({ code, text }).toMatchObject({ code: 0 });
    const { recipients, message } = await received();
    expect(addresses(recipients)).toEqual(['ännchen@xn--bcher-kva.example']);
    expect(message?.subject).toBe('Grüße');
  });

  test('ten megabytes, byte for byte, implicit TLS', async () => {
    const { code, text } = await python(`
m = EmailMessage(); m['From'] = 'hello@acme.example'; m['To'] = 'ann@receiver.example'; m['Subject'] = 'big'
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
s = door()
def send(sender):
    m = EmailMessage(); m['From'] = sender; m['To'] = 'ann@receiver.example'; m.set_content('x')
    try:
        s.send_message(m); return 'ok'
    except smtplib.SMTPDataError as e:
        return e.smtp_code
print(send('a@acme.example'), send('a@nobody.example'), send('a@acme.example'))
s.quit()`);
    expect({ code, text: text.trim() }).toEqual({ code: 0, text: 'ok 550 ok' });
  });
});

describe('nodemailer', () => {
  const transport = (change: object = {}) =>
    createTransport({
      host: '127.0.0.1',
      port: house.submission.port,
      requireTLS: true,
      auth: { user: 'any', pass: house.token },
      tls: { ca: testAuthority().cert, servername: 'mail.appliance.example' },
      ...change,
    });

  test('html, text, an inline image, Bcc, an idempotency key and a tag', async () => {
    const mailer = transport();
    const mail = {
      from: 'Acme <hello@acme.example>',
      to: 'Ann <ann@receiver.example>',
      bcc: 'secret@receiver.example',
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
    const { mail: parsed, message, recipients, raw } = await received();
    expect(parsed.html).toContain('<b>Hallo</b>');
    expect(parsed.attachments[0]?.contentId).toBe('<dot>');
    // nodemailer writes field names with capitals; a tag's name is taken as it comes.
    expect(message?.tags).toEqual([{ name: 'Campaign', value: 'spring' }]);
    expect(addresses(recipients)).toEqual(['ann@receiver.example', 'secret@receiver.example']);
    expect(raw.toString()).not.toContain('secret');
  });

  test('reads our code and words', async () => {
    const mailer = transport({ auth: { user: 'any', pass: 'pr_live_wrongwrongwrongwrong' } });
    const error = await mailer
      .sendMail({ from: 'a@acme.example', to: 'b@c.example', text: 'x' })
      .catch((reason: unknown) => reason);
    mailer.close();
    expect(error).toMatchObject({ code: 'EAUTH', responseCode: 535 });
  });
});
