/** Which URLs a webhook may name, before anything is asked or dialled. */
import { expect, test } from 'bun:test';

import { parseTarget } from '../../../src/wire/https/target.ts';

/** Host and port, or why the URL is refused. */
function read(url: string): string {
  const target = parseTarget(url);
  return 'refused' in target ? target.refused : `${target.host} ${target.port}`;
}

test.each([
  ['https://Hooks.example.com/x', 'hooks.example.com 443'],
  ['https://hooks.example.com.:8443/', 'hooks.example.com 8443'],
  ['https://bücher.example/', 'xn--bcher-kva.example 443'],
  ['https://192.0.43.8/', '192.0.43.8 443'],
  ['https://0x7f.1/', '127.0.0.1 443'],
  ['https://[2001:DB8::1]:444/', '2001:db8::1 444'],
  ['https://localhost.example/', 'localhost.example 443'],
  ['https://local/', 'the host does not lead to a public address'],
  ['https://LOCALHOST./', 'the host does not lead to a public address'],
  ['https://db.localhost/', 'the host does not lead to a public address'],
  ['https://printer.local/', 'the host does not lead to a public address'],
  ['https://./', 'the host does not lead to a public address'],
  ['http://hooks.example.com/', 'the URL must begin with https://'],
  ['hooks.example.com', 'not a valid URL'],
  ['https://user:password@hooks.example.com/', 'the URL must not carry a user name or password'],
  ['https://user@hooks.example.com/', 'the URL must not carry a user name or password'],
  ['https://:password@hooks.example.com/', 'the URL must not carry a user name or password'],
  ['https://@hooks.example.com/', 'hooks.example.com 443'],
])('%s: %s', (url, expected) => {
  expect(read(url)).toBe(expected);
});
