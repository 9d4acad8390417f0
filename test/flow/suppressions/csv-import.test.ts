/** An import of suppressions: what it counts, which times it believes, and files that are longer than any row may be. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { importSuppressions } from '../../../src/flow/suppressions/csv-import.ts';
import type { ImportResult } from '../../../src/flow/suppressions/csv-import.ts';
import { openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let accountId: string;

beforeEach(async () => {
  fixture = await openFixture();
  accountId = (await fixture.sender()).account.id;
});
afterEach(() => fixture.close());

const importText = (text: string): Promise<ImportResult> =>
  importSuppressions(fixture.ctx, accountId, new Blob([text]).stream());

test('rows, added, known and bad ones, each counted once', async () => {
  const text = 'email\na@x.example\nb@x.example\nA@x.example\nnobody\n';
  expect(await importText(text)).toMatchObject({ rows: 3, added: 2, known: 1, bad: 1 });
  expect(await importText(`${text}c@x.example\n`)).toMatchObject({
    rows: 4,
    added: 1,
    known: 3,
    bad: 1,
    named: [{ line: 5 }],
  });
  expect(await importText('email\n')).toMatchObject({ rows: 0, added: 0, known: 0, bad: 0 });
});

test('a time of the past is kept, one of the future becomes the present', async () => {
  const now = fixture.clock.now();
  const at = (ms: number): string => new Date(ms).toISOString();
  await importText(
    `email,created_at\npast@x.example,${at(now - 86_400_000)}\nfuture@x.example,${at(now + 86_400_000)}\nnone@x.example,\n`,
  );
  const timeOf = async (email: string): Promise<number | undefined> =>
    (await fixture.ctx.store.suppression(accountId, email))?.createdAt;
  expect(await timeOf('past@x.example')).toBe(now - 86_400_000);
  expect(await timeOf('future@x.example')).toBe(now);
  expect(await timeOf('none@x.example')).toBe(now);
});

test('what an export has made harmless for spreadsheets is read as it was', async () => {
  await importText("email,note,source\n'-a@x.example,'=1+1,''@home\n");
  const row = await fixture.ctx.store.suppression(accountId, '-a@x.example');
  expect(row).toMatchObject({ note: '=1+1', source: "'@home" });
});

test('the limit on the length is that of one row, not of the file', async () => {
  const row = (n: number): string => `r${n}@x.example,manual,import,${'n'.repeat(200)}\n`;
  const text = Array.from({ length: 500 }, (_, n) => row(n)).join('');
  expect(text.length).toBeGreaterThan(64 * 1024);
  expect(await importText(text)).toMatchObject({ rows: 500, added: 500, bad: 0 });
});
