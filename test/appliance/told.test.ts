/** What an appliance writes to its log from start to stop, and what a reload says of certificates. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAppliance } from '../../src/appliance/appliance.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { testAuthority } from '../rig/certificates.ts';

let folder: string;
let toml: string;
let lines: Record<string, unknown>[];
let appliance: Appliance;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'told-'));
  lines = [];
  certify('one.example');
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  toml = `hostname = "mail.rig.test"
data_dir = "${join(folder, 'data')}"
[http]
listen = "127.0.0.1:0"
[smtp]
inbound = "127.0.0.1:0"
submission = ["127.0.0.1:0"]
submissions = ["127.0.0.1:0"]
tls_cert = "${cert}"
tls_key = "${key}"
[delivery]
mode = "capture"
`;
  const load = () => parseConfig(toml, 'rig');
  const write = (line: string): void => {
    const read = JSON.parse(line) as Record<string, unknown>;
    // What a busy machine causes is left out.
    if (!String(read['event']).startsWith('loop_')) lines.push(read);
  };
  const log = createLog(write, () => 0);
  appliance = await startAppliance(load(), { clock: systemClock, log, load });
});
afterEach(async () => {
  await appliance.stop();
  rmSync(folder, { recursive: true });
});

/** Puts the certificate of `name` where the config looks for it. */
function certify(name: string): void {
  const { certFile, keyFile } = testAuthority().issue([name]);
  copyFileSync(certFile, join(folder, 'cert.pem'));
  copyFileSync(keyFile, join(folder, 'key.pem'));
}

/** The lines since the last look; all at the moment of the test's clock. */
const told = (): Record<string, unknown>[] =>
  lines.splice(0).map(({ time, ...rest }) => {
    expect(time).toBe('1970-01-01T00:00:00.000Z');
    return rest;
  });

test('the addresses that it listens on when it is ready, and the end when it stops', async () => {
  const { addresses } = appliance;
  expect(told().at(-1)).toEqual({ level: 'info', event: 'ready', ...addresses });
  expect(Object.keys(addresses).toSorted()).toEqual([
    'capture',
    'control',
    'http',
    'inbound',
    'submission',
    'submissions',
  ]);
  await appliance.stop();
  expect(told().map(({ event }) => event)).toEqual(['stopping', 'stopped']);
});

test('a reload that is refused is an error with what to do, and changes nothing', () => {
  told();
  const before = appliance.ctx.config.live;
  toml += '[limits]\nrecipients = 0\n';
  const message = 'rig:14: limits.recipients must be a whole number from 1 to 1000, not 0';
  expect(() => appliance.reload()).toThrow(message);
  expect(told()).toMatchObject([
    {
      level: 'error',
      event: 'reload_refused',
      error: { message },
      hint: 'Fix this line, then run `postrider check`.',
    },
  ]);
  expect(appliance.ctx.config.live).toBe(before);
});

test('a renewed certificate of mail alone is told as one, once', () => {
  told();
  certify('two.example');
  expect(appliance.reload()).toEqual({ needs_restart: [], new_certificate: true });
  expect(appliance.reload()).toEqual({ needs_restart: [], new_certificate: false });
  expect(told()).toEqual([
    { level: 'info', event: 'reloaded', needs_restart: [], new_certificate: true },
    { level: 'info', event: 'reloaded', needs_restart: [], new_certificate: false },
  ]);
});
