/** Everything that suppressing says and keeps, compared whole: rows, refusals, states of an import, lines of the log. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { acceptUnsubscribe, unsubscribeUrl } from '../../../src/flow/suppressions/unsubscribe.ts';
import { importSuppressions } from '../../../src/flow/suppressions/csv-import.ts';
import { SuppressionImports } from '../../../src/flow/suppressions/imports.ts';
import {
  addSuppression,
  newSuppression,
  removeSuppression,
  suppressionAddress,
} from '../../../src/flow/suppressions/suppressions.ts';
import type { Suppression } from '../../../src/store/rows.ts';
import { draft, openFixture, refusal, SUPPRESSION_REASONS, type Fixture } from '../fixture.ts';

const EMAIL = 'ann@x.example';
const NONE = { rows: 0, added: 0, known: 0, bad: 0, named: [] };
const WHAT_WENT_WRONG =
  'What was read before is imported. Import the file again: nothing is added twice.';

let fixture: Fixture;
let accountId: string;
beforeEach(async () => {
  fixture = await openFixture();
  accountId = (await fixture.sender()).account.id;
});
afterEach(() => fixture.close());

const stored = (email = EMAIL) => fixture.ctx.store.suppression(accountId, email);

test('which reason keeps the API from removing, in its words, and what the operator leaves in the log', async () => {
  const { ctx, logged } = fixture;
  const said: unknown[] = [];
  for (const reason of SUPPRESSION_REASONS) {
    await addSuppression(ctx, accountId, { email: EMAIL, reason });
    const byApi = await removeSuppression(ctx, accountId, 'ANN@x.example').catch(
      (error: Error) => error.message,
    );
    const byOperator = await removeSuppression(ctx, accountId, EMAIL, { isOperator: true }).catch(
      (error: Error) => error.message,
    );
    said.push([reason, byApi, byOperator]);
  }
  const forbidden = (why: string) =>
    `${EMAIL} is suppressed because of ${why}; only manual suppressions can be removed.`;
  expect(said).toEqual([
    ['hard_bounce', forbidden('a hard bounce'), EMAIL],
    ['complaint', forbidden('a complaint'), EMAIL],
    ['unsubscribe', forbidden('an unsubscribe request'), EMAIL],
    ['manual', EMAIL, `${EMAIL} is not suppressed.`],
  ]);
  expect(logged).toEqual(
    ['hard_bounce', 'complaint', 'unsubscribe'].map((reason) => ({
      time: '2026-01-15T12:00:00.000Z',
      level: 'info',
      event: 'suppression_removed',
      address: EMAIL,
      reason,
      note: null,
    })),
  );
  const codes = [];
  await addSuppression(ctx, accountId, { email: EMAIL, reason: 'complaint' });
  for (const email of [EMAIL, 'ben@x.example', 'nobody']) {
    const { code, status } = await refusal(removeSuppression(ctx, accountId, email));
    codes.push([code, status]);
  }
  expect(codes).toEqual([
    ['forbidden', 403],
    ['not_found', 404],
    ['validation_failed', 422],
  ]);
});

test('an address that is none is refused at the field that named it', async () => {
  for (const [path, given] of [
    ['email', undefined],
    ['to', 'to'],
  ] as const) {
    const error = await refusal(Promise.resolve().then(() => suppressionAddress('ann', given)));
    const [issue] = error.detail?.issues ?? [];
    expect(issue?.path).toBe(path);
    expect(issue?.message).toMatch(new RegExp(`^${path} .*\\.$`));
  }
});

test('a row has what it is given, lower case, at its time; the rest is empty', () => {
  const { ctx, clock } = fixture;
  clock.pass(1_000);
  const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
  const row = { accountId: 'a', email: 'Ann@X.example', reason: 'manual' as const };
  const made = {
    id,
    accountId: 'a',
    email: EMAIL,
    reason: 'manual' as const,
    createdAt: clock.now(),
  };
  expect(newSuppression(ctx, { ...row, source: null })).toEqual({
    ...made,
    source: null,
    note: null,
  });
  expect(newSuppression(ctx, { ...row, source: 'api', note: 'why' })).toEqual({
    ...made,
    source: 'api',
    note: 'why',
  });
});

test('of two reasons for one address the stronger stays, and manual gives way to any', async () => {
  const kept: unknown[] = [];
  for (const first of SUPPRESSION_REASONS) {
    for (const second of SUPPRESSION_REASONS) {
      const email = `${first}-${second}@x.example`;
      await addSuppression(fixture.ctx, accountId, { email, reason: first, source: 'one' });
      await addSuppression(fixture.ctx, accountId, { email, reason: second, source: 'two' });
      const row = await stored(email);
      kept.push([first, second, row?.reason, row?.source]);
    }
  }
  expect(kept).toEqual(
    SUPPRESSION_REASONS.flatMap((first) =>
      SUPPRESSION_REASONS.map((second) =>
        first === 'manual' && second !== 'manual'
          ? [first, second, second, 'two']
          : [first, second, first, 'one'],
      ),
    ),
  );
});

test('every word for a reason and for a column, and what is said of a bad row', async () => {
  const words = {
    hard_bounce: ['hard_bounce', 'bounce', 'bounced', ' Bounced '],
    complaint: ['complaint', 'complained', 'spam', 'spam_report', 'SPAM'],
    unsubscribe: ['unsubscribe', 'unsubscribed'],
    manual: ['manual', '', '  '],
  };
  const rows = Object.entries(words).flatMap(([reason, spellings]) =>
    spellings.map((word, n) => [`${reason}${n}@x.example`, word, reason] as const),
  );
  const text = (lines: (readonly string[])[]): string =>
    lines.map((line) => `${line.join(',')}\n`).join('');
  const read = (file: string, firstLine?: number) =>
    importSuppressions(fixture.ctx, accountId, new Blob([file]).stream(), undefined, firstLine);
  expect((await read(text([['Email-Address', 'Reason', 'x'], ...rows]))).bad).toBe(0);
  for (const [email, , reason] of rows)
    expect((await stored(email))?.reason as string).toBe(reason);
  for (const [n, name] of [
    'email',
    'Address',
    'email address',
    'EMAIL_ADDRESS',
    ' Email ',
  ].entries()) {
    const file = text([
      [name, 'Created'],
      [`${n}@y.example`, '2025-01-01'],
    ]);
    expect([name, await read(file)]).toEqual([name, { ...NONE, rows: 1, added: 1 }]);
    expect((await stored(`${n}@y.example`))?.createdAt).toBe(Date.UTC(2025, 0, 1));
  }
  // A first row that names no such column is data.
  expect(await read('e_mail,reason\n')).toMatchObject({ rows: 0, bad: 1, named: [{ line: 1 }] });
  expect(
    await read(
      text([
        ['email', 'reason', 'created_at'],
        ['nobody', 'spam', ''],
        [EMAIL, 'Tired', ''],
        [EMAIL, 'spam', 'soon'],
        [EMAIL, 'spam', '2025-01-02T03:04:05Z'],
        ['first@x.example', 'spam', '1970-01-01T00:00:00Z'],
      ]),
      41,
    ),
  ).toEqual({
    rows: 2,
    added: 2,
    known: 0,
    bad: 3,
    named: [
      { line: 42, message: expect.stringMatching(/^the address /) },
      {
        line: 43,
        message: '"Tired" is not a reason; use hard_bounce, complaint, unsubscribe or manual',
      },
      { line: 44, message: '"soon" is not an ISO 8601 time' },
    ],
  });
  expect(await stored()).toEqual({
    id: expect.any(String),
    accountId,
    email: EMAIL,
    reason: 'complaint',
    source: 'import',
    note: null,
    createdAt: Date.UTC(2025, 0, 2, 3, 4, 5),
  } as unknown as Suppression);
});

test('progress is told after each thousand rows and at the end, also of a file without any', async () => {
  const told: number[] = [];
  const read = (count: number) => {
    const file = Array.from({ length: count }, (_, n) => `r${n}@x.example\n`).join('');
    return importSuppressions(fixture.ctx, accountId, new Blob([file]).stream(), ({ rows }) =>
      told.push(rows),
    );
  };
  for (const count of [0, 1_000, 1_001, 2_000]) {
    told.length = 0;
    await read(count);
    expect([count, ...told]).toEqual(
      { 0: [0, 0], 1_000: [1_000, 1_000], 1_001: [1_001, 1_000, 1_001] }[count] ?? [
        2_000, 1_000, 2_000,
      ],
    );
  }
});

test('the state of an import at its start, in the middle, at its end and after a fault', async () => {
  const { ctx, clock, logged } = fixture;
  const imports = new SuppressionImports(ctx);
  expect(imports.of(accountId)).toBeNull();
  const file = new Blob(['ann@x.example\nnobody\n']);
  const { ended } = imports.start(accountId, file, 'list.csv');
  const startedAt = clock.now();
  const state = { name: 'list.csv', startedAt, bytes: file.size };
  expect(imports.of(accountId)).toEqual({
    ...state,
    endedAt: null,
    read: 0,
    result: NONE,
    problem: null,
  });
  const busy = await refusal(Promise.resolve().then(() => imports.start('b', file, 'x')));
  expect([busy.code, busy.message]).toEqual([
    'conflict',
    'Another import is under way. Try again when it has ended.',
  ]);
  clock.pass(5_000);
  await ended;
  expect(imports.of(accountId)).toEqual({
    ...state,
    endedAt: startedAt + 5_000,
    read: file.size,
    result: {
      ...NONE,
      rows: 1,
      added: 1,
      bad: 1,
      named: [{ line: 2, message: expect.any(String) }],
    },
    problem: null,
  });
  await imports.start(accountId, new Blob(['"open']), 'open.csv').ended;
  expect(imports.of(accountId)).toMatchObject({
    problem: 'This is not CSV: line 1: a quotation mark is not closed.',
    result: NONE,
    endedAt: startedAt + 5_000,
  });
  expect(logged).toEqual([]);
  ctx.store.addSuppressions = () => Promise.reject(new Error('away'));
  await imports.start(accountId, file, 'list.csv').ended;
  expect(imports.of(accountId)?.problem).toBe('The import failed; the server log says why.');
  expect(logged).toEqual([
    {
      time: expect.any(String),
      level: 'error',
      event: 'suppression_import_failed',
      error: expect.objectContaining({ message: 'away' }),
      hint: WHAT_WENT_WRONG,
    },
  ]);
});

test('a link suppresses the address as it was written, with the email as its source, and says so once', async () => {
  const { ctx, clock, logged } = fixture;
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const { message, recipients } = await fixture.stored(await fixture.accept(by, draft()));
  logged.length = 0;
  clock.pass(1_000);
  const token =
    unsubscribeUrl(ctx, recipients[0]?.id ?? '')
      .split('/')
      .at(-1) ?? '';
  const row = await acceptUnsubscribe(ctx, token);
  expect(row).toEqual({
    id: expect.any(String),
    accountId,
    email: 'ann@receiver.example',
    reason: 'unsubscribe',
    source: message.id,
    note: null,
    createdAt: clock.now(),
  } as unknown as Suppression);
  clock.pass(1_000);
  expect(await acceptUnsubscribe(ctx, token)).toEqual(row);
  expect(logged).toEqual([
    {
      time: '2026-01-15T12:00:01.000Z',
      level: 'info',
      event: 'unsubscribed',
      account_id: accountId,
      message_id: message.id,
    },
  ]);
});
