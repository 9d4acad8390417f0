/**
 * Suppressions: addresses an account must not mail, and why.
 *
 * Promises that an address is matched without regard to case, local part included, and that a `+label`
 * is part of it (decisions, Reading). Over the API only manual ones can be removed; the operator can
 * remove any, with a note in the log.
 */
import { ApiError, validationFailed } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { SuppressionReason } from '../base/status.ts';
import { addressOf, makeAddress } from '../mail/address.ts';
import type { Suppression } from '../store/rows.ts';
import type { Context } from './context.ts';

type SuppressionContext = Pick<Context, 'store' | 'clock'>;

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
  ctx: Pick<Context, 'clock'>,
  row: {
    accountId: string;
    email: string;
    reason: SuppressionReason;
    /** What brought it: an email's id, `api`, `operator`, `import`. */
    source: string | null;
    note?: string | null;
  },
): Suppression {
  const now = ctx.clock.now();
  return {
    id: newId(now),
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
  ctx: Pick<Context, 'store' | 'log'>,
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
  await ctx.store.removeSuppression(accountId, address);
  if (options.isOperator) {
    ctx.log.info('suppression removed', {
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
