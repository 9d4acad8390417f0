/** A domain's records for DNS providers: relative names, and a zone file that name servers load. */
import { expect, test } from 'bun:test';
import { allRecords } from '../../../src/flow/domains/records.ts';
import { relativeName, zoneFile, zoneOf } from '../../../src/flow/domains/zone-file.ts';

const KEY = 'A'.repeat(392);
const domain = {
  name: 'mail.acme.co.uk',
  selector: 'pr1',
  dkimPublicKey: KEY,
  recordStates: {},
};

test('names are relative to the organisational domain', () => {
  expect(zoneOf('mail.acme.co.uk')).toBe('acme.co.uk');
  expect(zoneOf('acme.example')).toBe('acme.example');
  // A zone of its own, as each name below such a suffix may have another owner.
  expect(zoneOf('mail.acme.github.io')).toBe('acme.github.io');
  expect(relativeName('pr1._domainkey.mail.acme.co.uk', 'acme.co.uk')).toBe('pr1._domainkey.mail');
  expect(relativeName('acme.co.uk', 'acme.co.uk')).toBe('@');
  expect(relativeName('notacme.co.uk', 'acme.co.uk')).toBe('notacme.co.uk');
});

test('the file has every record with its full name, and splits the key into strings of 255 octets', () => {
  const lines = zoneFile(domain.name, allRecords('mx.service.example', domain)).split('\n');
  expect(lines).toContain('send.mail.acme.co.uk. 3600 IN CNAME mx.service.example.');
  expect(lines).toContain('_dmarc.mail.acme.co.uk. 3600 IN TXT "v=DMARC1; p=none;"');
  const [dkim = ''] = lines.filter((line) => line.startsWith('pr1._domainkey.mail.acme.co.uk. '));
  const strings = [...dkim.matchAll(/"([^"]*)"/g)].map(([, text = '']) => text);
  expect(strings.map(({ length }) => length)).toEqual([
    255,
    `v=DKIM1; k=rsa; p=${KEY}`.length - 255,
  ]);
  expect(strings.join('')).toBe(`v=DKIM1; k=rsa; p=${KEY}`);
});
