/**
 * Under a certificate of its own (`[http] tls_cert`), with no proxy in front: everything that answers on the port does,
 * and the client library works with base URL and key alone. The table of the contract runs there too
 * (test/scenarios/interface.test.ts).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { freePorts } from '../rig/ports.ts';
import { describeWith } from '../rig/programs.ts';

/** The library with its own fetch: another process, because the CA must be trusted from the start. */
const CLIENT = `
import { Resend } from '${import.meta.resolve('resend')}';
const [url, key] = process.argv.slice(2);
const resend = new Resend(key, { baseUrl: url + '/v1' });
const email = { from: 'a@example.com', to: 'delivered@sandbox.test', subject: 's', text: 't' };
const sent = await resend.emails.send(email);
const batch = await resend.batch.send([{ ...email, attachments: [{ filename: 'a.txt', content: 'aGk=' }] }]);
const [id] = batch.data.data.map((one) => one.id);
const files = await resend.emails.attachments.list({ emailId: id });
const read = await resend.emails.get(sent.data.id);
console.log(JSON.stringify({ lastEvent: read.data.last_event, link: files.data.data[0].download_url }));
`;

describeWith(['openssl'], 'a certificate of its own', () => {
  let appliance: BinaryAppliance;
  const tls = { ca: testAuthority().cert };
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(appliance.url + path, { redirect: 'manual', ...init, tls });

  beforeAll(async () => {
    const { certFile, keyFile } = testAuthority().issue(['127.0.0.1']);
    appliance = await BinaryAppliance.create();
    const [port = 0] = await freePorts(1);
    const config = `tls_cert = "${certFile}"\ntls_key = "${keyFile}"\npublic_url = "https://127.0.0.1:${port}"`;
    appliance.writeConfig('mail.rig.test', `${config}\n[delivery]\nmode = "capture"`);
    const text = await Bun.file(appliance.made.config).text();
    writeFileSync(appliance.made.config, text.replace('127.0.0.1:0"', `127.0.0.1:${port}"`));
    await appliance.start();
  });
  afterAll(() => appliance.stop());

  test.each([
    ['/health', 200, 'application/json'],
    ['/ready', 200, 'application/json'],
    ['/metrics', 200, 'text/plain'],
    ['/docs', 200, 'text/html'],
    ['/openapi.json', 200, 'application/json'],
    ['/v1/openapi.json', 200, 'application/json'],
    ['/dashboard', 200, 'text/html'],
    ['/unsubscribe/unknown', 404, 'text/html'],
    ['/emails', 401, 'application/json'],
    ['//v1//emails/', 401, 'application/json'],
    ['/nothing', 404, 'application/json'],
  ])('%s answers %i', async (path, status, type) => {
    const { status: answered, headers } = await ask(path);
    expect([answered, headers.get('content-type')]).toEqual([
      status,
      expect.stringContaining(type),
    ]);
    expect(headers.get('x-request-id')).not.toBeNull();
    const head = await ask(path, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([status, '']);
  });

  test('the client library sends and reads, and a link of its answer leads to the bytes', async () => {
    const made = await appliance.json(
      'key create --account default --name tls --permission full_access --test'.split(' '),
    );
    const script = join(appliance.folder, 'client.mjs');
    writeFileSync(script, CLIENT);
    const child = Bun.spawn([process.execPath, script, appliance.url, String(made['token'])], {
      env: { NODE_EXTRA_CA_CERTS: testAuthority().certFile, PATH: process.env['PATH'] ?? '' },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect([await child.exited, errors]).toEqual([0, '']);
    const { lastEvent, link } = JSON.parse(out) as { lastEvent: string; link: string };
    expect(lastEvent).toBe('delivered');
    expect(link).toStartWith(`${appliance.url}/`);
    expect(await (await fetch(link, { tls })).text()).toBe('hi');
  });

  test('the operator signs in, with a cookie for https alone', async () => {
    const signedIn = await ask('/dashboard/sign-in', {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ password: appliance.made.admin_password }),
    });
    expect(signedIn.status).toBe(303);
    const cookie = signedIn.headers.get('set-cookie') ?? '';
    expect(cookie).toContain('; Secure');
    const page = await ask('/dashboard', { headers: { cookie: cookie.split(';', 1)[0] ?? '' } });
    expect(await page.text()).toContain('default');
  });

  test('plain HTTP on that port is no answer of the API, and harms nobody', async () => {
    const plain = fetch(`${appliance.url.replace('https:', 'http:')}/v1/emails`);
    expect(await plain.then(({ status }) => status).catch(() => 'closed')).not.toBe(200);
    expect((await ask('/ready')).status).toBe(200);
  });
});
