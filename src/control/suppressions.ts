/** Suppressions as the operator handles them: any reason can be removed, and lists come and go as CSV. */
import { OperatorError } from '../base/errors.ts';
import type { SuppressionReason } from '../base/status.ts';
import { exportSuppressions, importSuppressions } from '../flow/suppressions-csv.ts';
import { addSuppression, removeSuppression } from '../flow/suppressions.ts';
import type { Suppression } from '../store/rows.ts';
import { oneAccount } from './accounts.ts';
import { textOf, textOrNull } from './operation.ts';
import type { Operation, Scope } from './operation.ts';

const REASONS: readonly SuppressionReason[] = ['hard_bounce', 'complaint', 'unsubscribe', 'manual'];
const PAGE = 500;

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

export const SUPPRESSION_OPERATIONS: Record<string, Operation> = {
  'suppression.list': async (scope, args) => {
    const account = await oneAccount(scope, args);
    return await everySuppression(scope, account.id);
  },
  'suppression.add': async (scope, args) => {
    const { ctx } = scope;
    const account = await oneAccount(scope, args);
    const note = textOrNull(args, 'note');
    return await addSuppression(ctx, account.id, {
      email: textOf(args, 'email'),
      reason: reasonOf(textOrNull(args, 'reason')),
      source: 'operator',
      ...(note === null ? {} : { note }),
    });
  },
  'suppression.remove': async (scope, args) => {
    const { ctx } = scope;
    const account = await oneAccount(scope, args);
    const note = textOrNull(args, 'note');
    const email = await removeSuppression(ctx, account.id, textOf(args, 'email'), {
      isOperator: true,
      ...(note === null ? {} : { note }),
    });
    return { email, status: 'removed' };
  },
  'suppression.import': async (scope, args) => {
    const account = await oneAccount(scope, args);
    const csv = new Blob([textOf(args, 'csv')]).stream();
    return await importSuppressions(scope.ctx, account.id, csv, ({ rows, added }) =>
      scope.sink.progress(`${rows} rows read, ${added} added`),
    );
  },
  'suppression.export': async (scope, args) => {
    const account = await oneAccount(scope, args);
    for await (const text of exportSuppressions(scope.ctx, account.id))
      await scope.sink.chunk(text);
  },
};
