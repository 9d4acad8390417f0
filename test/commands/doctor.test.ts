/** `doctor`: each finding as it comes, then the counts; one JSON value; and an exit code that errors alone decide. */
import { afterAll, afterEach, beforeAll, expect, jest, spyOn, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';

import { loadConfig } from '../../src/base/config-file.ts';
import * as doctor from '../../src/health/doctor.ts';
import type { Finding } from '../../src/health/finding.ts';
import * as dns from '../../src/wire/dns/dns.ts';
import { Console } from './console.ts';

let shop: Console;
beforeAll(async () => {
  shop = await Console.make();
});
afterAll(() => shop.close());
afterEach(() => jest.restoreAllMocks());

const FINDINGS: Finding[] = [
  { check: 'port_25', level: 'ok', summary: 'It is open.', advice: null },
  {
    check: 'clock',
    level: 'warning',
    summary: `It is ${'very '.repeat(12)}late.`,
    advice: `Set it, ${'and '.repeat(15)}look again.`,
  },
  { check: 'reverse_dns_ipv4', level: 'error', summary: 'None.', advice: 'Set one.' },
  { check: 'reverse_dns_ipv6', level: 'error', summary: 'None.', advice: 'Set one.' },
  { check: 'blocklists', level: 'unchecked', summary: 'No answer.', advice: 'Ask later.' },
];

/** The resolvers that were made and closed. */
function found(findings: Finding[]): { made: unknown[]; closed: number } {
  const seen = { made: [] as unknown[], closed: 0 };
  const make = dns.createResolver;
  spyOn(dns, 'createResolver').mockImplementation((options) => {
    seen.made.push(options.servers);
    return { ...make(options), close: () => (seen.closed += 1) };
  });
  spyOn(doctor, 'examine').mockImplementation((_ctx, onFinding) => {
    for (const one of findings) onFinding?.(one);
    return Promise.resolve(findings);
  });
  return seen;
}

test('findings with their advice, wrapped below their beginning, and how many there are', async () => {
  const seen = found(FINDINGS);
  const { code, out, err } = await shop.run('doctor');
  expect([code, err]).toEqual([1, '']);
  expect(out).toBe(
    `  ok        port_25: It is open.
  WARNING   clock: It is very very very very very very very very very very very
            very late.
            Set it, and and and and and and and and and and and and and and and
            look again.
  ERROR     reverse_dns_ipv4: None.
            Set one.
  ERROR     reverse_dns_ipv6: None.
            Set one.
  unchecked blocklists: No answer.
            Ask later.

Checks: 5. Errors: 2. Warnings: 1.
`,
  );
  expect(seen).toEqual({ made: [[]], closed: 1 });
});

test('as JSON it is one value and nothing before it', async () => {
  found(FINDINGS);
  const { code, out } = await shop.run('doctor', '--json');
  expect([code, JSON.parse(out)]).toEqual([1, { is_ok: false, findings: FINDINGS }]);
});

test('without an error it ends with 0, whatever else was found', async () => {
  const mild = FINDINGS.filter(({ level }) => level !== 'error');
  found(mild);
  const shown = await shop.run('doctor');
  expect(shown.code).toBe(0);
  expect(shown.out).toEndWith('\n\nChecks: 3. Errors: 0. Warnings: 1.\n');
  expect(await shop.json('doctor')).toEqual([0, { is_ok: true, findings: mild }]);
});

test('the resolver asks the servers of the config', async () => {
  const seen = found([]);
  const before = readFileSync(shop.config, 'utf8');
  writeFileSync(
    shop.config,
    `hostname = "mail.shop.example"\ndata_dir = "${shop.dataDir}"\n[dns]\nservers = ["127.0.0.1:5353"]\n`,
  );
  expect(await shop.run('doctor')).toMatchObject({ code: 0, err: '' });
  expect(seen.made).toEqual([loadConfig(shop.config).startup.dns.servers]);
  expect(JSON.stringify(seen.made)).toContain('5353');
  writeFileSync(shop.config, before);
});

test('the resolver is closed also when the examination breaks', async () => {
  const seen = found([]);
  spyOn(doctor, 'examine').mockRejectedValue(new Error('broken'));
  expect((await shop.run('doctor')).code).toBe(1);
  expect(seen.closed).toBe(1);
});
