/** `webhook`: endpoints of an account, and calls opened again. */
import type { PublicEndpoint } from '../control/webhooks.ts';
import { type Group, UsageError } from './command.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';

export const webhook: Group = {
  list: {
    synopsis: 'list [--account A]',
    does: 'Webhook endpoints and how they fare.',
    flags: { account: 'text' },
    async run(call) {
      const args = { account: call.flag('account') };
      const all = (await operate(call, 'webhook.list', args)) as PublicEndpoint[];
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
      call.print(shown, table(headings, rows, 'There is no endpoint.'));
    },
  },
  replay: {
    synopsis: 'replay ID [--account A] [--event E | --since T]',
    does: 'Sends one event again, or every failed and missed one since a time; the webhook-id stays.',
    words: [1, 1],
    flags: { account: 'text', event: 'text', since: 'text' },
    async run(call) {
      const [event, since] = [call.flag('event'), call.flag('since')];
      if ((event === null) === (since === null)) {
        throw new UsageError('give one of --event and --since');
      }
      const args = { id: call.word(0), account: call.flag('account'), event, since };
      const done = (await operate(call, 'webhook.replay', args)) as { replayed: number };
      call.print(done, `${done.replayed} calls are open again.`);
    },
  },
};
