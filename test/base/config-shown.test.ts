/** The config as it is shown: every key of the schema as the file spells it, and no secret. */
import { expect, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import { shownConfig } from '../../src/base/config-shown.ts';

const SECRET = 'not-for-the-page';
const FILE = `
hostname = "mail.example.com"
data_dir = "/tmp/data"
[delivery]
mode = "smarthost"
[delivery.smarthost]
host = "relay.example.com"
username = "me"
password = "${SECRET}"
[[delivery.routes]]
domains = ["corp.example"]
host = "other.example.com"
username = "me"
password = "${SECRET}"
[[plans]]
id = "small"
included_emails = 7
`;

test('secrets are said to be set, and nothing of them is there', () => {
  const rows = shownConfig(parseConfig(FILE, 'test'));
  expect(JSON.stringify(rows)).not.toContain(SECRET);
  const valueOf = (path: string): string | undefined =>
    rows.find((row) => row.path === path)?.value;
  expect(valueOf('delivery.smarthost.password')).toBe('(set, hidden)');
  expect(valueOf('delivery.smarthost.username')).toBe('me');
  expect(valueOf('http.listen')).toBe('127.0.0.1:8025');
  expect(valueOf('retention.bodies')).toBe('30d');
  expect(valueOf('smtp.inbound')).toBe('(not set)');
  expect(valueOf('plans[1].included_emails')).toBe('7');
  const restart = rows.filter(({ needsRestart }) => needsRestart).map(({ path }) => path);
  expect(restart).toContain('hostname');
  expect(restart).not.toContain('retention.bodies');
});
