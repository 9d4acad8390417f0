/** docs/clients.md names the versions that package.json installs, for every client that the suite runs. */
import { expect, test } from 'bun:test';

import { devDependencies } from '../../package.json' with { type: 'json' };
import { read } from './documents.ts';

const CLIENTS = /^(?:resend(?:-.*)?|strapi-provider-.*|@documenso\/.*)$/;

test('the table of clients has the installed versions', () => {
  const table = read('docs/clients.md');
  const row = (name: string): string =>
    table.split('\n').find((line) => line.startsWith(`| ${name} `)) ?? '';
  const missing = Object.entries(devDependencies)
    .filter(([name]) => CLIENTS.test(name))
    .map(([name, range]) => ({ name, version: range.replace(/^npm:resend@/, '') }))
    .filter(({ name, version }) => {
      const isLibrary = /^resend(?:-\d.*)?$/.test(name);
      return !row(isLibrary ? 'resend (Node)' : name).includes(version);
    });
  expect(missing).toEqual([]);
});
