/**
 * Suppressions as the operator handles them: any reason can be removed, and lists come and go as CSV.
 *
 * An import travels in one request and an export in chunks. Throws `OperatorError` for a file that is not CSV; the rows
 * before the fault are kept.
 */
import { Type } from '@sinclair/typebox';

import { OperatorError } from '../base/errors.ts';
import { exportSuppressions, importSuppressions } from '../flow/suppressions/csv-import.ts';
import type { ImportResult } from '../flow/suppressions/csv-import.ts';
import { CsvError } from '../flow/suppressions/csv.ts';
import { addSuppression, removeSuppression } from '../flow/suppressions/suppressions.ts';
import { oneAccount } from './accounts.ts';
import { operation } from './operation.ts';
import type { Scope } from './operation.ts';
import { SUPPRESSION_REASONS, SuppressionShape, Text, oneOf, orNull } from './shapes.ts';

const PAGE = 500;

/** In chunks of a page each, as JSON: a list of a million is no one value. */
async function sendAll(scope: Scope, accountId: string): Promise<void> {
  for (let after: string | null = null; ;) {
    const page = { limit: PAGE, after, before: null };
    const { rows, hasMore } = await scope.ctx.store.suppressions(accountId, null, page);
    await scope.sink.chunk(JSON.stringify(rows));
    if (!hasMore) return;
    after = rows.at(-1)?.email ?? null;
  }
}

async function importCsv(
  scope: Scope,
  accountId: string,
  csv: string,
  firstLine: number,
): Promise<ImportResult> {
  try {
    return await importSuppressions(
      scope.ctx,
      accountId,
      new Blob([csv]).stream(),
      undefined,
      firstLine,
    );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new OperatorError(
      `This is not CSV: ${error.message}.`,
      'Fix that line and import the file again: rows that were imported before it are not added twice.',
    );
  }
}

/** One chunk of `suppression.list`. */
export const SuppressionList = Type.Array(SuppressionShape);

const ACCOUNT = { account: orNull(Text) };
const NOTE = orNull(Type.String());

export const SUPPRESSION_OPERATIONS = {
  /** The rows go out in chunks, each a JSON list (`SuppressionList`); the result is null. */
  'suppression.list': operation(ACCOUNT, Type.Null(), async (scope, { account }) => {
    await sendAll(scope, (await oneAccount(scope, account)).id);
    return null;
  }),
  'suppression.add': operation(
    { ...ACCOUNT, email: Text, reason: orNull(oneOf(SUPPRESSION_REASONS)), note: NOTE },
    SuppressionShape,
    async (scope, { account, email, reason, note }) =>
      await addSuppression(scope.ctx, (await oneAccount(scope, account)).id, {
        email,
        reason: reason ?? 'manual',
        source: 'operator',
        ...(note === null ? {} : { note }),
      }),
  ),
  'suppression.remove': operation(
    { ...ACCOUNT, email: Text, note: NOTE },
    Type.Object({ email: Type.String(), status: Type.Literal('removed') }),
    async (scope, { account, email, note }) => {
      const { id } = await oneAccount(scope, account);
      const removed = await removeSuppression(scope.ctx, id, email, {
        isOperator: true,
        ...(note === null ? {} : { note }),
      });
      return { email: removed, status: 'removed' as const };
    },
  ),
  'suppression.import': operation(
    // A long file comes in pieces; `line`: the number of the first line of this one.
    { ...ACCOUNT, csv: Type.String(), line: orNull(Type.Integer({ minimum: 1 })) },
    Type.Object({
      rows: Type.Integer(),
      added: Type.Integer(),
      known: Type.Integer(),
      bad: Type.Integer(),
      named: Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() })),
    }),
    async (scope, { account, csv, line }) =>
      await importCsv(scope, (await oneAccount(scope, account)).id, csv, line ?? 1),
  ),
  /** The CSV goes out in chunks; the result is null. */
  'suppression.export': operation(ACCOUNT, Type.Null(), async (scope, { account }) => {
    const { id } = await oneAccount(scope, account);
    for await (const text of exportSuppressions(scope.ctx, id)) await scope.sink.chunk(text);
    return null;
  }),
};
