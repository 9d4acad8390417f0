/** `webhook`: the endpoints of an account, and calls sent again after an endpoint was down. */
import { ACCOUNT } from './account-option.ts';
import type { Call, Group } from './command.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';
import { UsageError, argument, option } from './parameter.ts';

const ID = argument('ID', 'Id of the endpoint');
const EVENT = option('event', 'E', 'Id of the one event to send again');
const SINCE = option('since', 'T', 'Send every failed and missed event since this time (ISO 8601)');

async function list(call: Call): Promise<void> {
  const all = await operate(call, 'webhook.list', { account: call.get(ACCOUNT) });
  const rows = all.map((one) => [
    [one.url, one.status, String(one.failureCount)],
    [one.id, when(one.lastFailureAt)],
    [one.events.join(' ') || 'all events'],
  ]);
  const headings = [['URL', 'STATUS', 'FAILURES'], ['ID', 'LAST FAILURE (UTC)'], ['EVENTS']];
  const shown = all.map(({ id, url, events, status, failureCount, lastFailureAt }) => ({
    id,
    url,
    events,
    status,
    failure_count: failureCount,
    last_failure_at: lastFailureAt === null ? null : new Date(lastFailureAt).toISOString(),
  }));
  call.print(shown, table(headings, rows, 'There are no endpoints.'));
}

async function replay(call: Call): Promise<void> {
  const [event, since] = [call.get(EVENT), call.get(SINCE)];
  if ((event === null) === (since === null)) {
    throw new UsageError('Use one of --event E and --since T.');
  }
  const args = { id: call.get(ID), account: call.get(ACCOUNT), event, since };
  const done = await operate(call, 'webhook.replay', args);
  call.print(done, `Webhook calls to send again: ${done.replayed}.`);
}

export const webhook: Group = {
  summary: 'List webhook endpoints and send events again',
  actions: {
    list: {
      summary: 'List the webhook endpoints of an account, with their failures',
      parameters: [ACCOUNT],
      run: list,
    },
    replay: {
      summary: 'Send events to an endpoint again',
      details:
        'Either one event, or every failed and missed one since a time. Each keeps its webhook-id, so the receiver can tell repeats.',
      parameters: [ID, EVENT, SINCE, ACCOUNT],
      run: replay,
    },
  },
};
