/**
 * Webhook endpoints as the operator sees them, and calls sent again after an endpoint was down.
 *
 * Promises that an endpoint's signing secret leaves the process once: as the result of adding it.
 */
import { Type } from '@sinclair/typebox';

import { OperatorError } from '../base/errors.ts';
import { readTime } from '../base/iso-time.ts';
import { replayCalls } from '../flow/webhooks/dispatcher.ts';
import { addEndpoint, listEndpoints } from '../flow/webhooks/endpoints.ts';
import type { Endpoint } from '../store/rows.ts';
import { oneAccount } from './accounts.ts';
import { operation } from './operation.ts';
import { EndpointShape, Text, Time, orNull } from './shapes.ts';

/** Which calls to send again: those of one event, or the failed and missed ones since a time in ISO 8601. */
function chosenCalls(
  event: string | null,
  since: string | null,
): { eventId: string } | { failedSince: number } {
  if (event !== null) return { eventId: event };
  const failedSince = readTime(since ?? '');
  if (failedSince !== null) return { failedSince };
  throw new OperatorError(
    '--since is not a time.',
    'Write it in ISO 8601, for example 2026-11-21T03:00:00Z.',
  );
}

/** Without its secrets. */
function shown({ id, url, events, status, failureCount, lastFailureAt }: Endpoint) {
  return { id, url, events, status, failureCount, lastFailureAt };
}

export const WEBHOOK_OPERATIONS = {
  'webhook.add': operation(
    { account: orNull(Text), url: Text, events: Type.Array(Text) },
    Type.Object({ endpoint: EndpointShape, secret: Type.String(), createdAt: Time }),
    async (scope, { account, url, events }) => {
      const owner = await oneAccount(scope, account);
      const { endpoint, secret } = await addEndpoint(scope.ctx, owner.id, { url, events });
      return { endpoint: shown(endpoint), secret, createdAt: endpoint.createdAt };
    },
  ),
  'webhook.test': operation(
    { account: orNull(Text), id: Text },
    Type.Object({
      id: Type.String(),
      ok: Type.Boolean(),
      statusCode: orNull(Type.Integer()),
      durationMs: orNull(Type.Integer()),
      error: orNull(Type.String()),
    }),
    async (scope, { account, id }) => {
      const owner = await oneAccount(scope, account);
      if (scope.dispatcher !== null) return await scope.dispatcher.test(owner.id, id);
      throw new OperatorError(
        'No server is running on this data directory, so no call can be made.',
        'Start it with `postrider serve`.',
      );
    },
  ),
  'webhook.list': operation(
    { account: orNull(Text) },
    Type.Array(EndpointShape),
    async (scope, { account }) => {
      const endpoints = await listEndpoints(scope.ctx, (await oneAccount(scope, account)).id);
      return endpoints.map(shown);
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
