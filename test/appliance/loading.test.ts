/** What a server has in memory from its start on: each whole collection looks through it while acceptance waits. */
import { expect, test } from 'bun:test';

import { loadedWith } from '../rig/loaded.ts';

/** Large ones that wait for their first use. */
const PACKAGES =
  /^(?:html-to-text|nodemailer|mailauth\/lib\/(?:dkim\/verify|spf)|acme-client|@elysiajs\/swagger)/;

test('a server starts without the pages, the operations and the database of others', () => {
  const { files, packages } = loadedWith('appliance/appliance.ts');
  expect(files).toContain('api/routes/routes.ts');
  expect(files).toContain('store/sqlite/store.ts');
  expect(packages).toContain('elysia');
  expect(files.filter((name) => name.startsWith('dashboard/pages/'))).toEqual([]);
  for (const late of [
    'dashboard/dashboard.ts',
    'control/operations.ts',
    'store/postgres/store.ts',
  ]) {
    expect(files).not.toContain(late);
  }
  expect(packages.filter((name) => PACKAGES.test(name))).toEqual([]);
});

test('the signing thread starts without what only some messages need', () => {
  const { files, packages } = loadedWith('mail/dkim/signing-thread.ts');
  expect(files).toContain('mail/compose/compose.ts');
  expect(files).not.toContain('mail/compose/text-from-html.ts');
  expect(packages.filter((name) => PACKAGES.test(name))).toEqual([]);
});
