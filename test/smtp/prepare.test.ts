/** A reload that finds no SMTP listener open reads no certificate of theirs, makes none, and reports no change. */
import { afterEach, expect, test } from 'bun:test';
import { readdirSync, rmSync } from 'node:fs';
import { OperatorError } from '../../src/base/errors.ts';
import { Reports } from '../../src/flow/reports/reports.ts';
import { InboundServer } from '../../src/smtp/inbound.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { openFixture, type Fixture } from '../flow/fixture.ts';
import { testAuthority } from '../rig/certificates.ts';
import { openSmtpFixture } from './fixture.ts';

let fixture: Fixture | null = null;
afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

const rates = { take: () => ({ isAllowed: true, retrySeconds: 0 }) };

test('no self-signed certificate is made for listeners that are not there', async () => {
  fixture = await openFixture();
  const { ctx, sink } = fixture;
  const { config } = ctx;
  expect(new SubmissionServer(ctx, { queue: sink, rates }).prepare(config)()).toBe(false);
  expect(new InboundServer(ctx, new Reports(ctx, sink)).prepare(config)()).toBe(false);
  expect(readdirSync(config.startup.dataDir)).not.toContain('smtp-self-signed.pem');
});

test('a certificate that is gone stops the reload of open listeners, and not that of closed ones', async () => {
  const issued = testAuthority().issue(['mail.appliance.example']);
  const open = await openSmtpFixture();
  fixture = open;
  const { config } = open.ctx;
  const smtp = {
    ...config.live.smtp,
    tlsCert: issued.certFile,
    tlsKey: issued.keyFile,
  };
  const next = { ...config, live: { ...config.live, smtp } };
  for (const server of [open.server, open.inboundServer]) {
    const change = server.prepare(next);
    expect([change(), change()]).toEqual([true, false]);
  }
  rmSync(issued.certFile);
  for (const server of [open.server, open.inboundServer]) {
    expect(() => server.prepare(next)).toThrow(OperatorError);
    await server.stop();
    expect(server.prepare(next)()).toBe(false);
  }
});
