/** A return-path host with records of its own: its SPF must allow the addresses that receivers will see. */
import { expect, test } from 'bun:test';

import { parseConfig } from '../../../src/base/config-file.ts';
import type { Finding } from '../../../src/flow/domains/finding.ts';
import { findReturnPath } from '../../../src/flow/domains/return-path.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';

const [NAMED, SENDING, PRIVATE] = ['8.8.8.8', '8.8.4.4', '10.1.2.3'];

const found = <T>(...records: T[]): DnsAnswer<T> => ({
  kind: 'found',
  records,
  ttlSeconds: 0,
  isAuthenticated: false,
});
const NODATA = { kind: 'nodata', isAuthenticated: false } as const;

/** What is found with this SPF record and these configured source addresses. */
async function findingWith(spf: string, sources: string[]): Promise<Finding> {
  const resolver: Resolver = {
    a: async (name) => (name === 'mail.rig.test' ? found(NAMED) : NODATA),
    aaaa: async () => NODATA,
    mx: async () => found({ exchange: 'mail.rig.test', preference: 10 }),
    txt: async (name) => (name === 'send.acme.example' ? found(spf) : NODATA),
    cname: async () => NODATA,
    ptr: async () => NODATA,
    tlsa: async () => NODATA,
  };
  const list = JSON.stringify(sources);
  const text = `hostname = "mail.rig.test"\n[delivery]\nsource_addresses = ${list}\n`;
  const config = parseConfig(text, 'rig');
  return await findReturnPath({ config, resolver }, 'acme.example');
}

/** Whether it counts. */
async function kindWith(spf: string, sources: string[]): Promise<string> {
  return (await findingWith(spf, sources)).kind;
}

test('what stands there is shown with its types, SPF in any case, and no other text', async () => {
  const published = { at: 'send.acme.example', values: ['MX 10 mail.rig.test'] };
  const spf = `V=SPF1 ip4:${NAMED} -all`;
  expect(await findingWith(spf, [])).toMatchObject({
    published: { ...published, values: [`TXT ${spf}`, ...published.values] },
  });
  expect(await findingWith('v=spf10 -all', [])).toMatchObject({ published });
});

test('those that are configured, and that of the host name only without public ones', async () => {
  const named = `v=spf1 ip4:${NAMED} -all`;
  const sending = `v=spf1 ip4:${SENDING} -all`;
  expect(await kindWith(named, [])).toBe('found');
  expect(await kindWith(sending, [])).toBe('missing');
  expect(await kindWith(sending, [SENDING])).toBe('found');
  expect(await kindWith(named, [SENDING])).toBe('missing');
  expect(await kindWith(named, [PRIVATE])).toBe('found');
  expect(await kindWith(named, [NAMED, SENDING])).toBe('missing');
});

test('softfail and neutral are no pass', async () => {
  for (const all of ['~all', '?all', '']) {
    expect([all, await kindWith(`v=spf1 ip4:${SENDING} ${all}`, [])]).toEqual([all, 'missing']);
  }
});

test('an SPF record that asks for the name in EHLO is asked with that of the host, and what is missing names the service', async () => {
  const asked: string[] = [];
  const resolver: Resolver = {
    a: async (name) => {
      asked.push(name);
      return ['mail.rig.test', 'mail.rig.test.ok.example'].includes(name) ? found(NAMED) : NODATA;
    },
    aaaa: async () => NODATA,
    mx: async () => found({ exchange: 'mx.elsewhere.test', preference: 10 }),
    txt: async (name) =>
      name === 'send.acme.example' ? found('v=spf1 exists:%{h}.ok.example -all') : NODATA,
    cname: async () => NODATA,
    ptr: async () => NODATA,
    tlsa: async () => NODATA,
  };
  const text = 'hostname = "mail.rig.test"\n[cluster]\nname = "mail.service.test"\n';
  const config = parseConfig(text, 'rig');
  expect(await findReturnPath({ config, resolver }, 'acme.example')).toEqual({
    kind: 'missing',
    reason: 'send.acme.example has no CNAME and no MX that leads to mail.service.test',
    published: {
      at: 'send.acme.example',
      values: ['TXT v=spf1 exists:%{h}.ok.example -all', 'MX 10 mx.elsewhere.test'],
    },
  });
  expect(asked).toContain('mail.rig.test.ok.example');
});
