/**
 * A send by the operator for an account: without a key, with everything else that a send has.
 *
 * Promises the account's own limits: its plan, its status, its verified domains and its suppressions. A crash is as safe
 * as after any other acceptance. Fails with every refusal of `acceptEmails`.
 */
import type { Account } from '../../store/rows.ts';
import { planOf } from '../accounts/plans.ts';
import type { Context } from '../context.ts';
import type { Draft } from '../draft.ts';
import { acceptEmails } from './accept.ts';
import type { AcceptedSink } from './accept.ts';

/** For a process without a running queue: the next server finds in the store what was accepted. */
export const NO_QUEUE: AcceptedSink = {
  offerAccepted: () => undefined,
  offerCalls: () => undefined,
};

export interface OperatorSent {
  id: string;
  status: 'queued' | 'sent' | 'suppressed';
}

/** Accepts one email of `account`. `isSandbox`: nothing leaves the machine, as with a sandbox key. */
export async function sendByOperator(
  ctx: Context,
  queue: AcceptedSink,
  account: Account,
  { draft, isSandbox }: { draft: Draft; isSandbox: boolean },
): Promise<OperatorSent> {
  const sender = {
    key: { id: null, isTest: isSandbox },
    account,
    plan: planOf(ctx.config.live.plans, account),
    requestId: null,
  };
  let sent: OperatorSent | null = null;
  await acceptEmails(ctx, queue, sender, [draft], {
    isPermissive: false,
    idempotency: null,
    respond([result]) {
      if (result?.kind === 'accepted') sent = { id: result.id, status: result.status };
      return { status: 200, body: sent };
    },
  });
  if (sent === null) throw new Error('a strict acceptance returned no message');
  return sent;
}
