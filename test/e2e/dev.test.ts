/**
 * `postrider dev` on the compiled binary, as developers use it: the `resend` package and nodemailer unchanged, the
 * inbox without a password, webhooks at http://localhost; and nothing of it beyond this machine or after its end.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import { Resend } from 'resend';
import { Webhook } from 'standardwebhooks';

import { Arrivals } from '../rig/arrivals.ts';
import { BINARY, runBinary } from '../rig/binary.ts';
import { EmulatorProcess } from '../rig/emulator.ts';

const EMAIL = { from: 'Shop <shop@any.example>', to: 'bob@example.org', subject: 'Your order' };

let dev: EmulatorProcess;
beforeAll(async () => {
  dev = await EmulatorProcess.start();
});
afterAll(() => dev.stop());

const resend = (key = 're_any_text_will_do'): Resend => new Resend(key, { baseUrl: dev.at.http });

function must<T>({ data, error }: { data: T | null; error: { message: string } | null }): T {
  if (data === null) throw new Error(error?.message ?? 'no data');
  return data;
}

const page = async (path: string): Promise<string> => (await fetch(dev.at.http + path)).text();

/** What the inbox has of the newest message with this subject, as soon as it is there. */
async function inboxed(subject: string) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const link = new RegExp(`<a href="(/dashboard/inbox/\\d+)">${subject}</a>`);
    const path = link.exec(await page('/dashboard/inbox'))?.[1];
    if (path !== undefined) return PostalMime.parse(await page(`${path}/source`));
    if (Date.now() > deadline) throw new Error(`no "${subject}" in the inbox`);
    await Bun.sleep(20);
  }
}

describe('the resend package, with any key and no domain', () => {
  test('sends; the inbox shows it as it would leave, signed and with a text part', async () => {
    const { id } = must(
      await resend().emails.send({
        ...EMAIL,
        cc: 'eve@example.net',
        html: '<h1>Hello</h1><p>See <a href="https://any.example/7">this</a>.</p>',
        attachments: [{ filename: 'a.txt', content: Buffer.from('attached') }],
        headers: { 'X-Order': '7' },
      }),
    );
    const mail = await inboxed('Your order');
    expect(mail.text?.trim()).toBe('Hello\n\nSee this <https://any.example/7>.');
    expect(mail.attachments.map(({ filename }) => filename)).toEqual(['a.txt']);
    const fields = new Map(mail.headers.map(({ key, value }) => [key, value]));
    expect(fields.get('dkim-signature')).toContain('d=any.example');
    expect(fields.get('x-order')).toBe('7');
    expect(must(await resend('another').emails.get(id))).toMatchObject({ text: null });
  });

  test('a domain that was added verifies without DNS, and shows what to publish', async () => {
    const { id, records } = must(await resend().domains.create({ name: 'added.example' }));
    expect(records.length).toBe(2);
    must(await resend().domains.verify(id));
    expect(must(await resend().domains.get(id)).status).toBe('verified');
  });

  test('a webhook goes to http://localhost, signed', async () => {
    const calls = new Arrivals<{ headers: Record<string, string>; body: string }>('webhook calls');
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        );
        calls.push({ headers, body: Buffer.concat(chunks).toString() });
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const endpoint = `http://localhost:${port}/hook`;
      const made = must(await resend().webhooks.create({ endpoint, events: ['email.delivered'] }));
      const { id } = must(await resend().emails.send({ ...EMAIL, subject: 'Hooked', text: 'x' }));
      const { headers, body } = await calls.first(({ body: text }) => text.includes(id));
      expect(new Webhook(made.signing_secret).verify(body, headers)).toMatchObject({
        type: 'email.delivered',
        data: { email_id: id },
      });
      must(await resend().webhooks.remove(made.id));
    } finally {
      server.close();
    }
  });

  test.each(['http://example.org/hook', 'http://192.168.1.7/hook', 'https://localhost/hook'])(
    'but not to %s',
    async (endpoint) => {
      const { error } = await resend().webhooks.create({ endpoint, events: ['email.sent'] });
      expect(error?.name).toBe('validation_error');
    },
  );

  test('a key that was revoked, and a request without one, are refused as ever', async () => {
    const made = must(await resend().apiKeys.create({ name: 'ci' }));
    expect(made.token).toStartWith('re_live_');
    must(await resend(made.token).emails.send({ ...EMAIL, text: 'x' }));
    must(await resend().apiKeys.remove(made.id));
    const refused = await resend(made.token).emails.send({ ...EMAIL, text: 'x' });
    expect(refused.error?.name).toBe('invalid_api_key');
    const bare = await fetch(`${dev.at.http}/domains`);
    expect([bare.status, await bare.json()]).toMatchObject([401, { name: 'missing_api_key' }]);
  });
});

describe('SMTP', () => {
  const transport = (auth?: { user: string; pass: string }) =>
    createTransport({
      host: '127.0.0.1',
      port: Number(dev.at.smtp.split(':')[1]),
      ...(auth !== undefined && { auth }),
    });

  test('nodemailer without a login, and with any', async () => {
    for (const [subject, auth] of [
      ['Without', undefined],
      ['With', { user: 'resend', pass: 'whatever' }],
    ] as const) {
      const sent = await transport(auth).sendMail({ ...EMAIL, subject, text: 'By SMTP' });
      expect(sent.response).toStartWith('250');
      expect((await inboxed(subject)).text?.trim()).toBe('By SMTP');
    }
  });
});

describe('what protects the developer', () => {
  test('the inbox and its pages need no password here, but answer to no foreign name', async () => {
    expect((await fetch(dev.at.inbox)).status).toBe(200);
    const start = await fetch(`${dev.at.http}/dashboard`);
    expect(start.status).toBe(200);
    // Nobody signed in, so that nobody can sign out.
    expect(await start.text()).not.toContain('sign-out');
    for (const path of ['/dashboard/inbox', '/emails']) {
      const foreign = await fetch(dev.at.http + path, { headers: { host: 'evil.example:8025' } });
      expect(foreign.status).toBe(403);
    }
    const form = await fetch(`${dev.at.http}/dashboard/halt`, {
      method: 'POST',
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      body: new URLSearchParams({ reason: 'x' }),
    });
    expect(form.status).toBe(403);
  });

  test('every listener is on loopback', () => {
    const fds = readdirSync(`/proc/${dev.pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${dev.pid}/fd/${fd}`)];
      } catch {
        return [];
      }
    });
    const listening = ['tcp', 'tcp6'].flatMap((family) =>
      readFileSync(`/proc/${dev.pid}/net/${family}`, 'utf8')
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/))
        .filter((columns) => columns[3] === '0A' && fds.includes(`socket:[${columns[9]}]`))
        .map((columns) => columns[1]?.split(':')[0]),
    );
    // API, SMTP and the receiver of capture mode, at 127.0.0.1.
    expect(listening).toEqual(['0100007F', '0100007F', '0100007F']);
  });

  test('it is no service', async () => {
    const run = await runBinary(['dev'], { env: { NOTIFY_SOCKET: '/run/systemd/notify' } });
    expect([run.code, run.stdout]).toEqual([1, '']);
    expect(run.stderr).toContain('postrider serve');
  });
});

describe('start and end', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s removes the data', async (signal) => {
    const one = await EmulatorProcess.start();
    expect(one.temporary()).toHaveLength(1);
    expect(await one.end(signal)).toEqual({ code: 0, stderr: '' });
    expect(one.temporary()).toEqual([]);
    await one.stop();
  });

  test('--data keeps it, and takes no directory of an appliance', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dev-kept-'));
    try {
      const data = join(folder, 'data');
      const first = await EmulatorProcess.start(['--data', data]);
      const client = new Resend('re_x', { baseUrl: first.at.http });
      const { id } = must(await client.emails.send({ ...EMAIL, text: 'x' }));
      const other = await runBinary(['dev', '--data', data, '--port', '0', '--smtp-port', '0']);
      expect([other.code, other.stderr]).toEqual([1, expect.stringContaining(data)]);
      await first.end();
      const second = await EmulatorProcess.start(['--data', data]);
      const again = new Resend('re_y', { baseUrl: second.at.http });
      expect(must(await again.emails.get(id)).id).toBe(id);
      await second.end();
      await Promise.all([first.stop(), second.stop()]);
      rmSync(join(data, 'postrider-dev'));
      const refused = await runBinary(['dev', '--data', data]);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--data')]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('--key accepts that one alone, over SMTP too', async () => {
    const one = await EmulatorProcess.start(['--key', 'only-this']);
    expect(one.at.key).toBe('only-this');
    const send = (key: string) =>
      new Resend(key, { baseUrl: one.at.http }).emails.send({ ...EMAIL, text: 'x' });
    must(await send('only-this'));
    expect((await send('re_other')).error?.name).toBe('invalid_api_key');
    const port = Number(one.at.smtp.split(':')[1]);
    const login = (pass: string): Promise<unknown> =>
      createTransport({ host: '127.0.0.1', port, auth: { user: 'resend', pass } }).verify();
    await login('only-this');
    const refused = await login('re_other').catch((error: unknown) => error);
    expect(String(refused)).toContain('535');
    await one.end();
    await one.stop();
  });

  test('a second one says what to do', async () => {
    const port = new URL(dev.at.http).port;
    const taken = await runBinary(['dev', '--port', port]);
    expect(taken.code).toBe(1);
    expect(taken.stderr).toContain(`Port ${port} is in use`);
    expect(taken.stderr).toContain('use that one or stop it');
    const wrong = await runBinary(['dev', '--port', '70000']);
    expect(wrong.code).toBe(64);
  });
});

test('for people it says at once what it is, then where, and how to point a client there', async () => {
  const home = mkdtempSync(join(tmpdir(), 'dev-people-'));
  const file = join(home, 'out');
  writeFileSync(file, '');
  const child = Bun.spawn(
    ['sh', '-c', `exec "$0" dev --port 0 --smtp-port 0 > "${file}"`, BINARY],
    {
      env: { PATH: process.env['PATH'] ?? '', TMPDIR: home },
      stderr: 'pipe',
    },
  );
  try {
    const deadline = Date.now() + 10_000;
    while (!readFileSync(file, 'utf8').includes('Ctrl-C') && Date.now() < deadline)
      await Bun.sleep(20);
    const text = readFileSync(file, 'utf8');
    expect(text.split('\n')[0]).toBe(
      'Postrider emulator for this machine alone: it delivers no mail and is no service.',
    );
    const port = /API +http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
    expect(text).toContain(`export RESEND_BASE_URL=http://127.0.0.1:${port}\n`);
    expect(text).toContain('export RESEND_API_KEY=re_dev\n');
    expect(text).toContain(`inbox    http://127.0.0.1:${port}/dashboard/inbox`);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  } finally {
    child.kill('SIGINT');
    await child.exited;
    rmSync(home, { recursive: true });
  }
});
