/**
 * Suppressions: addresses that an account must not mail, and why. The story of this room:
 *
 * A row comes from a hard bounce or a complaint (written with their event), from the API or the operator (here), from a
 * CSV file (`csv-import`, `csv`) or from a recipient who used an unsubscribe link (`unsubscribe`). Acceptance leaves out
 * every address that has one. Each row is one commit; an import that a crash cuts short can be run again.
 *
 * Promises that an address is matched without regard to case, local part included, and that a `+label` is part of it.
 * Over the API only manual ones can be removed; the operator can remove any, and the log records it.
 */
import { ApiError, validationFailed } from '../../base/errors.ts';
import type { SuppressionReason } from '../../base/status.ts';
import { addressOf, makeAddress } from '../../mail/header/address.ts';
import type { Suppression } from '../../store/rows.ts';
import type { Context } from '../context.ts';

type SuppressionContext = Pick<Context, 'store' | 'clock' | 'ids'>;

/** The spelling under which an address is suppressed: lower case, A-labels. Throws `validation_failed`. */
export function suppressionAddress(email: string, path = 'email'): string {
  const mailbox = makeAddress(email);
  if ('error' in mailbox) {
    throw validationFailed([{ path, message: `${path} ${mailbox.error}.` }]);
  }
  return addressOf(mailbox).toLowerCase();
}

/** A new row, for `addSuppression` and for the commits that suppress with an event. `email` any spelling that parses. */
export function newSuppression(
  ctx: Pick<Context, 'clock' | 'ids'>,
  row: {
    accountId: string;
    email: string;
    reason: SuppressionReason;
    /** What caused it: an email's id, `api`, `operator`, `import`. */
    source: string | null;
    note?: string | null;
  },
): Suppression {
  const now = ctx.clock.now();
  return {
    id: ctx.ids.next(now),
    accountId: row.accountId,
    email: row.email.toLowerCase(),
    reason: row.reason,
    source: row.source,
    note: row.note ?? null,
    createdAt: now,
  };
}

/**
 * Suppresses an address. One that is suppressed already stays as it is and is returned, except that a
 * stronger reason replaces `manual`.
 * Throws ApiError `validation_failed`.
 */
export async function addSuppression(
  ctx: SuppressionContext,
  accountId: string,
  input: { email: string; reason?: SuppressionReason; source?: string; note?: string },
): Promise<Suppression> {
  return ctx.store.addSuppression(
    newSuppression(ctx, {
      accountId,
      email: suppressionAddress(input.email),
      reason: input.reason ?? 'manual',
      source: input.source ?? null,
      note: input.note ?? null,
    }),
  );
}

/**
 * Removes a suppression and returns its address. With `isOperator` any reason, else only `manual`.
 * Throws ApiError `not_found`, `forbidden`, `validation_failed`.
 */
export async function removeSuppression(
  ctx: Pick<Context, 'store' | 'clock' | 'ids' | 'log'>,
  accountId: string,
  email: string,
  options: { isOperator: boolean; note?: string } = { isOperator: false },
): Promise<string> {
  const address = suppressionAddress(email);
  const row = await ctx.store.suppression(accountId, address);
  if (row === null) throw new ApiError('not_found', `${address} is not suppressed.`);
  if (!options.isOperator && row.reason !== 'manual') {
    throw new ApiError(
      'forbidden',
      `${address} is suppressed because of ${NAMES[row.reason]}; only manual suppressions can be removed.`,
    );
  }
  await ctx.store.removeSuppression(accountId, address, ctx.clock.now());
  if (options.isOperator) {
    ctx.log.info('suppression_removed', {
      address,
      reason: row.reason,
      note: options.note ?? null,
    });
  }
  return address;
}

const NAMES: Record<SuppressionReason, string> = {
  hard_bounce: 'a hard bounce',
  complaint: 'a complaint',
  unsubscribe: 'an unsubscribe request',
  manual: 'a manual entry',
};
