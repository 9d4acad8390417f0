/**
 * Webhook endpoints as the operator sees them, and calls sent again after an endpoint was down.
 *
 * Promises that an endpoint's signing secrets never leave the process.
 */
import { Type } from '@sinclair/typebox';

import { OperatorError } from '../base/errors.ts';
import { replayCalls } from '../flow/webhooks/dispatcher.ts';
import { listEndpoints } from '../flow/webhooks/endpoints.ts';
import { oneAccount } from './accounts.ts';
import { operation } from './operation.ts';
import { EndpointShape, Text, orNull } from './shapes.ts';

/** Which calls to send again: those of one event, or the failed and missed ones since a time in ISO 8601. */
function chosenCalls(
  event: string | null,
  since: string | null,
): { eventId: string } | { failedSince: number } {
  if (event !== null) return { eventId: event };
  const failedSince = Date.parse(since ?? '');
  if (!Number.isNaN(failedSince)) return { failedSince };
  throw new OperatorError(
    '--since is not a time.',
    'Write it in ISO 8601, for example 2026-11-21T03:00:00Z.',
  );
}

export const WEBHOOK_OPERATIONS = {
  'webhook.list': operation(
    { account: orNull(Text) },
    Type.Array(EndpointShape),
    async (scope, { account }) => {
      const endpoints = await listEndpoints(scope.ctx, (await oneAccount(scope, account)).id);
      return endpoints.map(({ id, url, events, status, failureCount, lastFailureAt }) => ({
        id,
        url,
        events,
        status,
        failureCount,
        lastFailureAt,
      }));
    },
  ),
  'webhook.replay': operation(
    { account: orNull(Text), id: Text, event: orNull(Text), since: orNull(Text) },
    Type.Object({ replayed: Type.Integer() }),
    async (scope, { account, id, event, since }) => {
      const { ctx, dispatcher } = scope;
      const owner = await oneAccount(scope, account);
      const calls = chosenCalls(event, since);
      return { replayed: await replayCalls(ctx, dispatcher, owner.id, id, calls) };
    },
  ),
};
