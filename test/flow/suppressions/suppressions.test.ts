/** Suppressions against a real store: matched, removed by whom it may, in and out as CSV. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { SUPPRESSION_REASONS } from '../fixture.ts';
import {
  addSuppression,
  newSuppression,
  removeSuppression,
} from '../../../src/flow/suppressions/suppressions.ts';
import {
  exportSuppressions,
  importSuppressions,
  type ImportResult,
} from '../../../src/flow/suppressions/csv-import.ts';
import { createAccount } from '../../../src/flow/accounts/accounts.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let accountId: string;

beforeEach(async () => {
  fixture = await openFixture();
  accountId = (await createAccount(fixture.ctx, { name: 'acme' })).id;
});
afterEach(() => fixture.close());

async function* chunksOf(text: string, bytes = 10_000): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes);
}

const importText = (text: string, progress?: (soFar: ImportResult) => void) =>
  importSuppressions(fixture.ctx, accountId, chunksOf(text), progress);

async function exported(): Promise<string> {
  let text = '';
  for await (const chunk of exportSuppressions(fixture.ctx, accountId)) text += chunk;
  return text;
}

test('an address is kept once, in lower case and A-labels; the first reason stays', async () => {
  const first = await addSuppression(fixture.ctx, accountId, {
    email: 'Ann+News@BÜCHER.example',
    reason: 'hard_bounce',
  });
  expect(first.email).toBe('ann+news@xn--bcher-kva.example');
  fixture.clock.pass(1_000);
  const again = await addSuppression(fixture.ctx, accountId, { email: 'ANN+news@bücher.example' });
  expect(again).toEqual(first);
  expect((await refusal(addSuppression(fixture.ctx, accountId, { email: 'ann' }))).code).toBe(
    'validation_failed',
  );
});

describe('removing', () => {
  test.each(SUPPRESSION_REASONS)('%s: the API only manual, the operator any', async (reason) => {
    const email = 'ann@receiver.example';
    await addSuppression(fixture.ctx, accountId, { email, reason });
    const byApi = removeSuppression(fixture.ctx, accountId, 'Ann@Receiver.example');
    if (reason === 'manual') {
      expect(await byApi).toBe(email);
    } else {
      const error = await refusal(byApi);
      expect([error.code, error.status]).toEqual(['forbidden', 403]);
      const operator = { isOperator: true, note: 'asked by phone' };
      expect(await removeSuppression(fixture.ctx, accountId, email, operator)).toBe(email);
      expect(fixture.logged.at(-1)).toMatchObject({ address: email, note: 'asked by phone' });
    }
    expect(await fixture.ctx.store.suppression(accountId, email)).toBeNull();
  });

  test("what is not there, or another account's, is not found", async () => {
    const other = await createAccount(fixture.ctx, { name: 'other' });
    await addSuppression(fixture.ctx, other.id, { email: 'ann@receiver.example' });
    const error = await refusal(removeSuppression(fixture.ctx, accountId, 'ann@receiver.example'));
    expect(error.code).toBe('not_found');
  });
});

describe('CSV', () => {
  test('reads any order of columns and the words of other services', async () => {
    const result = await importText(
      'Created,Reason,E-mail,Email Address,NOTE\r\n' +
        '2025-01-02T03:04:05Z,bounced,x,Ann@Receiver.example,"said ""no"", twice"\r\n' +
        ',Spam_Report,x,ben@receiver.example,\r\n' +
        ',,x,cy@receiver.example,\r\n',
    );
    expect(result).toEqual({ rows: 3, added: 3, known: 0, bad: 0, named: [] });
    expect(await fixture.ctx.store.suppression(accountId, 'ann@receiver.example')).toMatchObject({
      reason: 'hard_bounce',
      source: 'import',
      note: 'said "no", twice',
      createdAt: Date.UTC(2025, 0, 2, 3, 4, 5),
    });
    const ben = await fixture.ctx.store.suppression(accountId, 'ben@receiver.example');
    expect([ben?.reason, ben?.createdAt]).toEqual(['complaint', fixture.clock.now()]);
    expect((await fixture.ctx.store.suppression(accountId, 'cy@receiver.example'))?.reason).toBe(
      'manual',
    );
  });

  test('reads a bare list of addresses', async () => {
    expect(await importText('ann@receiver.example\nben@receiver.example\n')).toMatchObject({
      rows: 2,
      added: 2,
    });
  });

  test('counts bad rows, names the first with their line, and keeps the others', async () => {
    const bad = Array.from({ length: 30 }, (_, n) => `nobody${n}\n`).join('');
    const result = await importText(
      `email,reason,created_at\nann@receiver.example,manual,\nben@receiver.example,tired,\ncy@receiver.example,,soon\n${bad}dan@receiver.example,,\n`,
    );
    expect(result).toMatchObject({ rows: 2, added: 2, bad: 32 });
    expect(result.named).toHaveLength(20);
    expect(result.named.slice(0, 3).map(({ line }) => line)).toEqual([3, 4, 5]);
    expect(result.named[0]?.message).toContain('tired');
  });

  test('what was exported imports elsewhere and exports the same', async () => {
    for (const [n, reason] of SUPPRESSION_REASONS.entries()) {
      fixture.clock.pass(1_000);
      const note = n === 0 ? 'a "note",\r\nof two lines' : null;
      await fixture.ctx.store.addSuppression(
        newSuppression(fixture.ctx, {
          accountId,
          email: `r${n}@x.example`,
          reason,
          source: null,
          note,
        }),
      );
    }
    const text = await exported();
    expect(text.split('\r\n')[0]).toBe('email,reason,source,note,created_at');
    accountId = (await createAccount(fixture.ctx, { name: 'second' })).id;
    await importText(text);
    const lines = (of: string): string[] => of.replaceAll(',import,', ',,').split('\r\n').sort();
    expect(lines(await exported())).toEqual(lines(text));
  });

  test('a hundred thousand rows, twice: the second time adds nothing; progress is reported', async () => {
    const count = 100_000;
    let text = 'email,reason\n';
    for (let n = 0; n < count; n += 1) text += `user${n}@receiver${n % 97}.example,hard_bounce\n`;
    const steps: number[] = [];
    const first = await importText(text, ({ rows }) => steps.push(rows));
    expect(first).toMatchObject({ rows: count, added: count, known: 0, bad: 0 });
    expect(steps).toHaveLength(100);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(await importText(text)).toMatchObject({ rows: count, added: 0, known: count });
    expect((await exported()).split('\r\n')).toHaveLength(count + 2);
  }, 60_000);
});
