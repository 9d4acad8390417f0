/**
 * The config file that `init` writes, and what is shown of a config that says something of every table.
 *
 *   bun test/base/written-config.ts
 *
 * writes written-config.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseConfig } from '../../src/base/config-file.ts';
import { shownConfig } from '../../src/base/config-shown.ts';
import { defaultConfigText } from '../../src/base/config-text.ts';

export const WRITTEN_FILE = join(import.meta.dir, 'written-config.txt');

const FULL = `hostname = "mail.example.com"
[http]
listen = "[::1]:8025"
trusted_proxies = ["10.0.0.0/8", "fd00::/8"]
[smtp]
inbound = "192.0.2.1:25"
submission = ["192.0.2.1:587", "[2001:db8::1]:587"]
[delivery]
mode = "smarthost"
expires = "36h"
[delivery.smarthost]
host = "relay.example.com"
username = "me"
password = "hunter2"
[[delivery.routes]]
domains = ["a.example", "*.a.example"]
host = "192.0.2.7"
[[delivery.routes]]
domains = ["b.example"]
[[delivery.providers]]
name = "mine"
mx = ["*.mx.example.net"]
messages_per_minute = 60
[acme]
listen = "0.0.0.0:80"
accept_terms = true
[retention]
bodies = "0"
[[plans]]
id = "small"
daily_limit_by_age_days = [[0, 100], [7, 300]]
storage_bytes = "5GB"
`;

export function writtenConfig(): string {
  const others = { 'api.key_prefix': 'shop', 'store.url': 'postgres://me@db/mail' };
  const shown = shownConfig(parseConfig(FULL, 'full')).map(
    ({ path, value, needsRestart }) => `${path}: ${value}${needsRestart ? ' (restart)' : ''}`,
  );
  const text = defaultConfigText('mail.example.com', '/srv/postrider', others);
  return `${text}\n${'='.repeat(40)}\n\n${shown.join('\n')}\n`;
}

if (import.meta.main) writeFileSync(WRITTEN_FILE, writtenConfig());
