/** Suppressions as the operator handles them: any reason can be removed, and lists come and go as CSV. */
import { OperatorError } from '../base/errors.ts';
import type { SuppressionReason } from '../base/status.ts';
import { accountNamed } from '../flow/accounts.ts';
import {
  addSuppression,
  newSuppression,
  removeSuppression,
  suppressionAddress,
} from '../flow/suppressions.ts';
import type { Suppression } from '../store/rows.ts';
import { textOf, textOrNull } from './operation.ts';
import type { Operation, Scope } from './operation.ts';

const REASONS: readonly SuppressionReason[] = ['hard_bounce', 'complaint', 'unsubscribe', 'manual'];
const PAGE = 500;

/** One row of an imported list, its line for messages. */
export interface ImportRow {
  line: number;
  email: string;
  reason: string;
  note: string | null;
}

function reasonOf(word: string | null): SuppressionReason {
  const reason = REASONS.find((candidate) => candidate === (word ?? 'manual'));
  if (reason === undefined) {
    throw new OperatorError(`"${word ?? ''}" is no reason`, `Reasons are ${REASONS.join(', ')}.`);
  }
  return reason;
}

async function everySuppression(scope: Scope, accountId: string): Promise<Suppression[]> {
  const all: Suppression[] = [];
  for (let after: string | null = null; ;) {
    const page = { limit: PAGE, after, before: null };
    const { rows, hasMore } = await scope.ctx.store.suppressions(accountId, null, page);
    all.push(...rows);
    if (!hasMore) return all;
    after = rows.at(-1)?.email ?? null;
  }
}

/** All rows or none: a row that is wrong is named with its line, all of them at once. */
function checkedRows(scope: Scope, accountId: string, rows: ImportRow[]): Suppression[] {
  const wrong: string[] = [];
  const good = rows.flatMap((row) => {
    try {
      const email = suppressionAddress(row.email);
      const reason = reasonOf(row.reason);
      const fields = { accountId, email, reason, source: 'import', note: row.note };
      return [newSuppression(scope.ctx, fields)];
    } catch (error) {
      wrong.push(`line ${row.line}: ${error instanceof Error ? error.message : String(error)}`);
      return [];
    }
  });
  if (wrong.length === 0) return good;
  throw new OperatorError(wrong.join('\n'), 'Nothing was imported: mend these lines first.');
}

export const SUPPRESSION_OPERATIONS: Record<string, Operation> = {
  'suppression.list': async (scope, args) => {
    const account = await accountNamed(scope.ctx, textOf(args, 'account'));
    return await everySuppression(scope, account.id);
  },
  'suppression.add': async ({ ctx }, args) => {
    const account = await accountNamed(ctx, textOf(args, 'account'));
    const note = textOrNull(args, 'note');
    return await addSuppression(ctx, account.id, {
      email: textOf(args, 'email'),
      reason: reasonOf(textOrNull(args, 'reason')),
      source: 'operator',
      ...(note === null ? {} : { note }),
    });
  },
  'suppression.remove': async ({ ctx }, args) => {
    const account = await accountNamed(ctx, textOf(args, 'account'));
    const note = textOrNull(args, 'note');
    const email = await removeSuppression(ctx, account.id, textOf(args, 'email'), {
      isOperator: true,
      ...(note === null ? {} : { note }),
    });
    return { email, status: 'removed' };
  },
  'suppression.import': async (scope, args) => {
    const account = await accountNamed(scope.ctx, textOf(args, 'account'));
    const rows = checkedRows(scope, account.id, args['rows'] as ImportRow[]);
    scope.progress(`${rows.length} rows are well-formed`);
    const added = await scope.ctx.store.addSuppressions(rows);
    return { added, already_suppressed: rows.length - added };
  },
};
