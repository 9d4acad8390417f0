/**
 * Webhook endpoints of an account: add, edit, test, replay, enable and disable, new secret, remove.
 *
 * How they are shown is in `webhook-view.ts`. Promises that a signing secret is shown once, in the response that
 * creates it.
 */
import { ApiError, validationFailed } from '../../base/errors.ts';
import { readTime } from '../../base/iso-time.ts';
import {
  addEndpoint,
  enableEndpoint,
  getEndpoint,
  removeEndpoint,
  rotateEndpointSecret,
  updateEndpoint,
} from '../../flow/webhooks/endpoints.ts';
import { replayCalls } from '../../flow/webhooks/dispatcher.ts';
import type { Account, Endpoint } from '../../store/rows.ts';
import { accountPath } from '../frame/navigation.ts';
import { field, type Page, param, type Visit } from '../frame/visit.ts';
import { accountOf } from './accounts.ts';
import {
  attemptView,
  endpointPath,
  endpointView,
  listView,
  secretView,
  testView,
} from './webhook-view.ts';

const HOUR_MS = 3_600_000;
const LIST = '/accounts/:account/webhooks';
const ONE = `${LIST}/:id`;

export const webhookPages: readonly Page[] = [
  { method: 'GET', path: LIST, open: async (visit) => listView(visit, await accountOf(visit)) },
  {
    method: 'POST',
    path: LIST,
    mainField: 'endpoint',
    async open(visit) {
      const account = await accountOf(visit);
      const input = { url: field(visit, 'endpoint'), events: visit.form.getAll('events') };
      const { endpoint, secret } = await addEndpoint(visit.ctx, account.id, input);
      return secretView(account, endpoint, secret, 'The endpoint was added.');
    },
  },
  {
    method: 'GET',
    path: ONE,
    async open(visit) {
      const { account, endpoint } = await endpointOf(visit);
      return endpointView(visit, account, endpoint);
    },
  },
  {
    method: 'GET',
    path: `${ONE}/attempts/:attempt`,
    async open(visit) {
      const { account, endpoint } = await endpointOf(visit);
      const found = await visit.ctx.store.attemptDetail(endpoint.id, param(visit, 'attempt'));
      if (found === null) throw new ApiError('not_found', 'There is no such attempt.');
      return attemptView(visit, account, endpoint, found);
    },
  },
  change('edit', 'saved', async ({ ctx, parts, form }, account, { id }) => {
    const input = { url: (form.get('endpoint') ?? '').trim(), events: form.getAll('events') };
    await updateEndpoint(ctx, parts.webhooks, account.id, id, input);
  }),
  change('enable', 'enabled', async ({ ctx, parts }, account, { id }) => {
    await enableEndpoint(ctx, parts.webhooks, account.id, id);
  }),
  change('disable', 'endpoint_disabled', async ({ ctx, parts }, account, { id }) => {
    await updateEndpoint(ctx, parts.webhooks, account.id, id, { status: 'disabled' });
  }),
  {
    method: 'POST',
    path: `${ONE}/test`,
    async open(visit) {
      const { account, endpoint } = await endpointOf(visit);
      const result = await visit.parts.webhooks.test(account.id, endpoint.id);
      return testView(visit, account, endpoint, result);
    },
  },
  {
    method: 'POST',
    path: `${ONE}/replay`,
    async open(visit) {
      const { ctx, parts } = visit;
      const { account, endpoint } = await endpointOf(visit);
      const what = whatToReplay(visit);
      const count = await replayCalls(ctx, parts.webhooks, account.id, endpoint.id, what);
      return { kind: 'redirect', to: endpointPath(account, endpoint), done: 'replayed', count };
    },
  },
  {
    method: 'POST',
    path: `${ONE}/rotate-secret`,
    async open(visit) {
      const { ctx, parts } = visit;
      const { account, endpoint } = await endpointOf(visit);
      const { secret } = await rotateEndpointSecret(ctx, parts.webhooks, account.id, endpoint.id);
      const words = 'Calls also carry a signature of the old secret for 24 hours.';
      return secretView(account, endpoint, secret, words);
    },
  },
  {
    method: 'POST',
    path: `${ONE}/remove`,
    async open(visit) {
      const { ctx, parts } = visit;
      const { account, endpoint } = await endpointOf(visit);
      await removeEndpoint(ctx, parts.webhooks, account.id, endpoint.id);
      return { kind: 'redirect', to: `${accountPath(account)}/webhooks`, done: 'removed' };
    },
  },
];

async function endpointOf(visit: Visit): Promise<{ account: Account; endpoint: Endpoint }> {
  const account = await accountOf(visit);
  return { account, endpoint: await getEndpoint(visit.ctx, account.id, param(visit, 'id')) };
}

/** A change of one endpoint that its page shows. */
function change(
  verb: string,
  done: string,
  run: (visit: Visit, account: Account, endpoint: Endpoint) => Promise<void>,
): Page {
  return {
    method: 'POST',
    path: `${ONE}/${verb}`,
    async open(visit) {
      const { account, endpoint } = await endpointOf(visit);
      await run(visit, account, endpoint);
      return { kind: 'redirect', to: endpointPath(account, endpoint), done };
    },
  };
}

/** One event by its id, else everything failed or missed since a time in UTC, else in the last hours. */
function whatToReplay(visit: Visit): { eventId: string } | { failedSince: number } {
  const eventId = field(visit, 'event_id');
  if (eventId !== '') return { eventId };
  const since = field(visit, 'since');
  if (since !== '') {
    const failedSince = since.includes(':') ? readTime(since) : null;
    if (failedSince !== null) return { failedSince };
    throw validationFailed([
      { path: 'since', message: 'Enter a date and a time, such as 2026-11-21T09:30.' },
    ]);
  }
  const hours = field(visit, 'hours');
  if (!/^[1-9]\d{0,3}$/.test(hours)) {
    throw validationFailed([
      { path: 'hours', message: 'Choose a period, or enter a time or the webhook-id of an event.' },
    ]);
  }
  return { failedSince: visit.ctx.clock.now() - Number(hours) * HOUR_MS };
}
