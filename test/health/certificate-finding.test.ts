/** What the host check says of a certificate that the operator renews: by the days that are left of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parseConfig } from '../../src/base/config-file.ts';
import type { Finding } from '../../src/health/finding.ts';
import { examineMachine } from '../../src/health/machine.ts';
import { silentResolver } from '../flow/fixture.ts';
import { makeAuthority } from '../rig/certificates.ts';
import { TestClock } from '../rig/clock.ts';
import { describeWith } from '../rig/programs.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

describeWith(['openssl'], 'a certificate of the config', () => {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-finding-'));
  let file: string;
  let leaf: X509Certificate;

  beforeAll(() => {
    const issued = makeAuthority().issue(['mail.shop.example']);
    file = issued.certFile;
    leaf = new X509Certificate(issued.cert);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function findingAt(now: number, path = file): Promise<Finding | undefined> {
    const config = parseConfig(
      `hostname = "mail.shop.example"\ndata_dir = "${folder}"\n[http]\ntls_cert = "${path}"\ntls_key = "${path}"`,
      'test',
    );
    const clock = new TestClock();
    clock.jump(now - clock.now());
    const ctx = { config, clock, resolver: silentResolver() };
    const findings = await examineMachine(ctx);
    return findings.find(({ check }) => check === `certificate_${path}`);
  }

  test.each([
    ['fifteen days', 15 * DAY_MS, 'ok'],
    ['two weeks and a minute', 14 * DAY_MS + MINUTE_MS, 'ok'],
    ['a minute less than two weeks', 14 * DAY_MS - MINUTE_MS, 'warning'],
    ['a minute', MINUTE_MS, 'warning'],
    ['nothing since a minute', -MINUTE_MS, 'error'],
    ['nothing since a month', -30 * DAY_MS, 'error'],
  ] as const)('of which %s is left', async (_, leftMs, level) => {
    const endsAt = Date.parse(leaf.validTo);
    const found = await findingAt(endsAt - leftMs);
    expect(found?.level).toBe(level);
    const day = new Date(endsAt).toISOString().slice(0, 10);
    expect(found?.summary).toBe(`The certificate ${file} is valid until ${day}.`);
    const renew = 'Renew it, then run systemctl reload postrider.';
    expect(found?.advice).toBe(level === 'ok' ? null : renew);
  });

  test('that begins later', async () => {
    const found = await findingAt(Date.parse(leaf.validFrom) - MINUTE_MS);
    expect([found?.level, found?.summary, found?.advice]).toEqual([
      'error',
      `The certificate ${file} is not valid yet.`,
      'Check the clock of this machine and the dates of the certificate.',
    ]);
    // From its first moment on it is one.
    expect((await findingAt(Date.parse(leaf.validFrom)))?.level).not.toBe('error');
  });

  test('that is none', async () => {
    const path = join(folder, 'broken.pem');
    writeFileSync(path, 'no certificate');
    const found = await findingAt(Date.now(), path);
    expect([found?.level, found?.advice]).toEqual([
      'error',
      'Use a PEM file with the whole chain that the service user can read.',
    ]);
    expect(found?.summary).toMatch(/^The certificate \S+broken\.pem cannot be used: .+\.$/);
  });
});
