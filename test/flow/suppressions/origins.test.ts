/** Where a suppression came from, what is logged of it, and how long rows and links may be. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { importSuppressions } from '../../../src/flow/suppressions/csv-import.ts';
import { SuppressionImports } from '../../../src/flow/suppressions/imports.ts';
import { addSuppression, removeSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import { acceptUnsubscribe, unsubscribeUrl } from '../../../src/flow/suppressions/unsubscribe.ts';
import { draft, openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let accountId: string;
beforeEach(async () => {
  fixture = await openFixture({ toml: '[http]\npublic_url = "https://api.acme.example"\n' });
  accountId = (await fixture.sender()).account.id;
});
afterEach(() => fixture.close());

const stored = (email: string) => fixture.ctx.store.suppression(accountId, email);
const importText = (text: string) =>
  importSuppressions(fixture.ctx, accountId, new Blob([text]).stream());

test('an import keeps the source and the note of a row, and is the source of one without', async () => {
  await importText('email,source,note\nann@x.example,ticket 7,by phone\nben@x.example,,\n');
  expect(await stored('ann@x.example')).toMatchObject({ source: 'ticket 7', note: 'by phone' });
  expect(await stored('ben@x.example')).toMatchObject({ source: 'import', note: null });
});

test('what is added by hand keeps its source, its note and its reason', async () => {
  const input = { email: 'Ann@X.example', source: 'operator', note: 'by phone' };
  expect(await addSuppression(fixture.ctx, accountId, input)).toMatchObject({
    email: 'ann@x.example',
    reason: 'manual',
    source: 'operator',
    note: 'by phone',
  });
});

test('an unsubscribed address names the email, and is logged once', async () => {
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const { message, recipients } = await fixture.stored(await fixture.accept(by, draft()));
  const url = unsubscribeUrl(fixture.ctx, recipients[0]?.id ?? '');
  expect(url).toStartWith('https://api.acme.example/unsubscribe/');
  const token = url.split('/').at(-1) ?? '';
  for (let time = 0; time < 3; time += 1) await acceptUnsubscribe(fixture.ctx, token);
  expect(await stored('ann@receiver.example')).toMatchObject({
    reason: 'unsubscribe',
    source: message.id,
  });
  expect(fixture.logged.filter((line) => line['event'] === 'unsubscribed')).toHaveLength(1);
});

test('a link begins at the public URL, with or without slashes at its end', () => {
  const { config, secrets } = fixture.ctx;
  for (const end of ['', '/', '//']) {
    const http = { ...config.live.http, publicUrl: `https://api.acme.example/mail${end}` };
    const url = unsubscribeUrl(
      { secrets, config: { ...config, live: { ...config.live, http } } },
      '0192f0c1-0000-7000-8000-000000000001',
    );
    expect(url).toStartWith('https://api.acme.example/mail/unsubscribe/');
  }
});

test('a row may have 65,536 characters, its line end among them, and not one more', async () => {
  const row = (length: number) => {
    const begin = 'ann@x.example,manual,import,';
    return `${begin}${'n'.repeat(length - begin.length - 1)}\n`;
  };
  expect(await importText(row(65_536))).toMatchObject({ rows: 1, added: 1 });
  const refused = importText(row(65_537)).then(
    () => null,
    (error: unknown) => String(error),
  );
  expect(await refused).toContain('more than 65536 characters');
});

test('an import tells how much of the file it has read', async () => {
  const imports = new SuppressionImports(fixture.ctx);
  const text = Array.from({ length: 30_000 }, (_, n) => `r${n}@receiver.example\n`).join('');
  const { ended } = imports.start(accountId, new Blob([text]), 'list.csv');
  expect(imports.of(accountId)).toMatchObject({ bytes: text.length, read: 0, endedAt: null });
  await ended;
  expect(imports.of(accountId)).toMatchObject({
    name: 'list.csv',
    read: text.length,
    endedAt: fixture.clock.now(),
    result: { rows: 30_000, added: 30_000 },
    problem: null,
  });
});

test('a removal or an unsubscription that could not be written is not in the log', async () => {
  const { ctx } = fixture;
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const { recipients } = await fixture.stored(await fixture.accept(by, draft()));
  await addSuppression(ctx, accountId, { email: 'ben@receiver.example' });
  fixture.logged.length = 0;
  const fail = () => Promise.reject(new Error('disk full'));
  const full = { ...ctx, store: { ...ctx.store, removeSuppression: fail, addSuppression: fail } };
  const removed = removeSuppression(full, accountId, 'ben@receiver.example', { isOperator: true });
  expect(await removed.catch(String)).toBe('Error: disk full');
  const token =
    unsubscribeUrl(ctx, recipients[0]?.id ?? '')
      .split('/')
      .at(-1) ?? '';
  expect(await acceptUnsubscribe(full, token).catch(String)).toBe('Error: disk full');
  expect(fixture.logged).toEqual([]);
});
