/** The limits of each provider, as they are documented for operators, and of everybody else. */
import { expect, test } from 'bun:test';
import { limitsFor } from '../../../src/flow/pacing/provider-limits.ts';

test.each([
  // host, connections, messages a connection, messages a minute
  ['aspmx.l.google.com', 10, 50, 1_800],
  ['outlook-com.olc.protection.outlook.com', 5, 50, 600],
  ['example-com.mail.protection.outlook.com', 10, 50, 1_200],
  ['mta5.am0.yahoodns.net', 5, 20, 600],
  ['mx01.mail.icloud.com', 10, 5, 600],
  ['mx.example.com', 20, 100, null],
])('%s: %p connections, %p messages on each, %p a minute', (host, connections, each, minute) => {
  expect(limitsFor(host, [])).toMatchObject({
    connections,
    messagesPerConnection: each,
    messagesPerMinute: minute,
  });
});

test('an end of a name counts from a dot on, with or without one in front, and the whole name too', () => {
  const own = (mx: string) => ({ ...limitsFor('x', []), name: 'Own', mx: [mx] });
  const isOwn = (host: string, mx: string) => limitsFor(host, [own(mx)]).name === 'Own';
  expect(isOwn('mx.corp.example', 'corp.example')).toBe(true);
  expect(isOwn('corp.example', 'corp.example')).toBe(true);
  expect(isOwn('mx.corp.example', '.corp.example')).toBe(true);
  expect(isOwn('corp.example', '.corp.example')).toBe(false);
  expect(isOwn('notcorp.example', 'corp.example')).toBe(false);
});

test('no provider of the table says whose its limits are, and everybody else has no name', () => {
  const hosts = {
    Gmail: 'aspmx.l.google.com',
    Outlook: 'outlook-com.olc.protection.outlook.com',
    'Office 365': 'example-com.mail.protection.outlook.com',
    Yahoo: 'mta5.am0.yahoodns.net',
    Apple: 'mx01.mail.icloud.com',
    '': 'mx.example.com',
  };
  for (const [name, host] of Object.entries(hosts)) {
    expect(limitsFor(host, [])).toMatchObject({ name, scope: null });
  }
  expect(limitsFor('mx.example.com', []).mx).toEqual([]);
});

test('the rows of the operator come before the table, the first one that matches before the others', () => {
  const row = (name: string, end: string) => ({ ...limitsFor('x', []), name, mx: [end] });
  const own = [row('One', 'l.google.com'), row('Two', 'google.com'), row('Three', 'icloud.com')];
  const names = ['aspmx.l.google.com', 'smtp.google.com', 'mx01.mail.icloud.com', 'mx.example.com'];
  expect(names.map((host) => limitsFor(host, own).name)).toEqual(['One', 'Two', 'Three', '']);
});
