/** Imports that go on behind a page: one at a time, with a state that says how far, and why one ended early. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { SuppressionImports } from '../../../src/flow/suppressions/imports.ts';
import { openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let account: string;
let imports: SuppressionImports;
beforeEach(async () => {
  fixture = await openFixture();
  account = (await fixture.sender()).account.id;
  imports = new SuppressionImports(fixture.ctx);
});
afterEach(() => fixture.close());

test('one runs at a time, whatever the account, and the next may begin when it has ended', async () => {
  const { ended } = imports.start(account, new Blob(['a@b.example\n']), 'first');
  expect(() => imports.start('another', new Blob(['c@d.example']), 'second')).toThrow('under way');
  const startedAt = fixture.clock.now();
  expect(imports.of(account)).toMatchObject({ name: 'first', startedAt, endedAt: null });
  fixture.clock.pass(2_000);
  await ended;
  expect(imports.of(account)).toMatchObject({
    startedAt,
    endedAt: fixture.clock.now(),
    read: 12,
    bytes: 12,
    result: { rows: 1, added: 1 },
    problem: null,
  });
  expect(imports.of('another')).toBeNull();
  await imports.start(account, new Blob(['a@b.example']), 'again').ended;
  expect(imports.of(account)).toMatchObject({ name: 'again', result: { added: 0, known: 1 } });
});

test('a file that is no CSV ends early and says where; what came before is kept', async () => {
  const rows = Array.from({ length: 1_000 }, (_, n) => `n${n}@b.example`);
  await imports.start(account, new Blob([[...rows, '"open'].join('\n')]), 'broken').ended;
  expect(imports.of(account)?.problem).toContain('line 1001: a quotation mark is not closed');
  expect(await fixture.ctx.store.suppression(account, 'n999@b.example')).not.toBeNull();
  // Whose file it is reads it on the page: nothing for the operator.
  expect(fixture.logged.map(({ event }) => event)).not.toContain('suppression_import_failed');
});

test('while one runs its state says what is added already, and what is not read yet', async () => {
  const { store } = fixture.ctx;
  const add = store.addSuppressions.bind(store);
  const seen: unknown[] = [];
  store.addSuppressions = (rows) => {
    const { read = 0, bytes = 0, result } = imports.of(account) ?? {};
    seen.push([read < bytes, result?.rows, result?.added]);
    return add(rows);
  };
  const rows = Array.from({ length: 2_500 }, (_, n) => `n${n}@b.example\n`);
  await imports.start(account, new Blob([rows.join('')]), 'long').ended;
  expect(seen).toEqual([
    [true, 0, 0],
    [true, 1_000, 1_000],
    // The last of it, when all is read.
    [false, 2_000, 2_000],
  ]);
  expect(imports.of(account)?.result).toMatchObject({ rows: 2_500, added: 2_500 });
});

test('a store that fails is logged, and nothing of its words is shown', async () => {
  fixture.ctx.store.addSuppressions = () => Promise.reject(new Error('secret words'));
  await imports.start(account, new Blob(['a@b.example']), 'x').ended;
  expect(imports.of(account)?.problem).toBe('The import failed; the server log says why.');
  expect(fixture.logged.at(-1)).toMatchObject({ event: 'suppression_import_failed' });
  fixture.ctx.store.addSuppressions = () => Promise.resolve(1);
  await imports.start(account, new Blob(['a@b.example']), 'y').ended;
  expect(imports.of(account)?.problem).toBeNull();
});
