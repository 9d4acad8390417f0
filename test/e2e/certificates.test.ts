/**
 * Certificates that change while the appliance runs: the API shows the new one after a reload, to every connection made
 * from then on, and none is reset for it. What sending goes through meanwhile is in `reload.test.ts`.
 *
 * Bun.serve's own reload changes no certificate and says nothing about it; this test tells when that is fixed.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFileSync, mkdtempSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { shownName } from '../rig/shown-certificate.ts';

const folder = mkdtempSync(join(tmpdir(), 'postrider-tls-'));
const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
let appliance: BinaryAppliance;
let port = 0;

function install(name: string): void {
  const made = testAuthority().issue([name, '127.0.0.1']);
  copyFileSync(made.certFile, cert);
  copyFileSync(made.keyFile, key);
}

beforeAll(async () => {
  install('first.example');
  appliance = await BinaryAppliance.start({ config: `tls_cert = "${cert}"\ntls_key = "${key}"` });
  port = Number(new URL(appliance.url).port);
});

afterAll(() => appliance.stop());

const CLIENTS = 4;

/** Each on a connection of its own. */
function ask(): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path: '/ready',
      ca: testAuthority().cert,
      agent: false,
    };
    const call = request(options, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    call.once('error', reject);
    call.end();
  });
}

test('a change of the files is taken over by SIGHUP, again and again, under requests', async () => {
  expect(appliance.url).toStartWith('https://');
  expect(await shownName(port)).toBe('first.example');
  const done = new AbortController();
  const answers: number[] = [];
  const load = Array.from({ length: CLIENTS }, async () => {
    while (!done.signal.aborted) answers.push(await ask());
  });
  const names = ['second.example', 'fourth.example', 'third.example'];
  for (const name of names) {
    install(name);
    appliance.log.clear();
    appliance.hangUp();
    await appliance.log.first(({ event }) => event === 'reloaded');
    for (let time = 0; time < 20; time += 1) expect(await shownName(port)).toBe(name);
  }
  done.abort();
  await Promise.all(load);
  expect(answers.length).toBeGreaterThan(CLIENTS);
  expect(answers.filter((status) => status !== 200)).toEqual([]);
});

test('files that do not belong together are refused, and the old pair stays', async () => {
  copyFileSync(testAuthority().issue(['other.example']).keyFile, key);
  appliance.hangUp();
  const refused = await appliance.log.first(({ event }) => event === 'reload_refused');
  expect(refused.level).toBe('error');
  expect(await shownName(port)).toBe('third.example');
  expect(await ask()).toBe(200);
});
