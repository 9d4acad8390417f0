/** `webhook`: the endpoints of an account, test calls, and calls sent again after an endpoint was down. */
import { ACCOUNT } from './account-option.ts';
import type { Call, Group } from './command.ts';
import { fields, paragraph, printable, table, when } from './layout.ts';
import { operate } from './operate.ts';
import { UsageError, argument, list as repeated, option } from './parameter.ts';

const URL = argument('URL', 'Where calls go: https, at a public address');
const EVENTS = repeated(
  'event',
  'E',
  'Event to be called for, such as email.bounced; several times (default: all)',
);
const ID = argument('ID', 'Id of the endpoint');
const EVENT = option('event', 'E', 'Id of the one event to send again');
const SINCE = option('since', 'T', 'Send every failed and missed event since this time (ISO 8601)');

async function add(call: Call): Promise<void> {
  const made = await operate(call, 'webhook.add', {
    account: call.get(ACCOUNT),
    url: call.get(URL),
    events: call.get(EVENTS),
  });
  const { id, url, events } = made.endpoint;
  const createdAt = new Date(made.createdAt).toISOString();
  const shown = { id, url, events, signing_secret: made.secret, created_at: createdAt };
  call.print(
    shown,
    `${fields([
      ['id', id],
      ['URL', url],
      ['events', events.join(' ') || 'all events'],
      ['signing secret', made.secret],
    ])}\n\nStore the signing secret now: it is not shown again.\nNext: postrider webhook test ${id}`,
  );
}

async function test(call: Call): Promise<number> {
  const args = { account: call.get(ACCOUNT), id: call.get(ID) };
  const { id, ok, statusCode, durationMs, error } = await operate(call, 'webhook.test', args);
  const shown = { id, ok, status_code: statusCode, duration_ms: durationMs, error };
  const status = statusCode === null ? 'no response' : `status ${statusCode}`;
  const words = ok ? 'The endpoint took the call' : 'The endpoint did not take the call';
  const why = error === null ? '' : `: ${error}`;
  call.print(shown, paragraph(printable(`${words} (${status})${why}.`)));
  return ok ? 0 : 1;
}

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
  summary: 'Add, test and list webhook endpoints, and send events again',
  actions: {
    add: {
      summary: 'Add a webhook endpoint and show its signing secret once',
      parameters: [URL, EVENTS, ACCOUNT],
      run: add,
    },
    test: {
      summary: 'Send a test call to an endpoint',
      details:
        'Its event is webhook.test. Needs a running server. Ends with 1 when the endpoint did not take it.',
      parameters: [ID, ACCOUNT],
      run: test,
    },
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
