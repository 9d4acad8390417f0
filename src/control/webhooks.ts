/** Webhook endpoints as the operator sees them, and calls opened again after an endpoint was broken for long. */
import { OperatorError } from '../base/errors.ts';
import { listEndpoints } from '../flow/endpoints.ts';
import { replayCalls } from '../flow/webhooks.ts';
import type { Endpoint } from '../store/rows.ts';
import { oneAccount } from './accounts.ts';
import { textOf, textOrNull } from './operation.ts';
import type { Operation } from './operation.ts';

/** An endpoint without its secrets, which do not leave the process. */
export type PublicEndpoint = Omit<Endpoint, 'sealedSecret' | 'sealedPreviousSecret'>;

export const WEBHOOK_OPERATIONS: Record<string, Operation> = {
  'webhook.list': async (scope, args): Promise<PublicEndpoint[]> => {
    const { ctx } = scope;
    const account = await oneAccount(scope, args);
    const endpoints = await listEndpoints(ctx, account.id);
    return endpoints.map(
      ({ sealedSecret: _secret, sealedPreviousSecret: _previous, ...rest }) => rest,
    );
  },
  'webhook.replay': async (scope, args) => {
    const { ctx, dispatcher } = scope;
    const account = await oneAccount(scope, args);
    const eventId = textOrNull(args, 'event');
    const since = Date.parse(textOrNull(args, 'since') ?? '');
    if (eventId === null && Number.isNaN(since)) {
      throw new OperatorError('--since is no time', 'Write it in ISO 8601: 2026-11-21T03:00:00Z.');
    }
    const what = eventId === null ? { failedSince: since } : { eventId };
    const replayed = await replayCalls(ctx, dispatcher, account.id, textOf(args, 'id'), what);
    return { replayed };
  },
};
