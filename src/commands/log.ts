/** `log`: the API requests of an account. */
import { ACCOUNT } from './account-option.ts';
import type { Call, Group } from './command.ts';
import { AFTER, LIMIT } from './email.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';
import { option } from './parameter.ts';

const STATUS = option('status', 'S', 'Show only this status, such as 404, or 2xx, 4xx or 5xx');
const METHOD = option('method', 'M', 'Show only this method, such as POST');
const SEARCH = option('search', 'TEXT', 'Show only requests with this in their path');

async function list(call: Call): Promise<void> {
  const { requests, hasMore } = await operate(call, 'log.list', {
    account: call.get(ACCOUNT),
    status: call.get(STATUS),
    method: call.get(METHOD),
    q: call.get(SEARCH),
    limit: call.get(LIMIT),
    after: call.get(AFTER),
  });
  const rows = requests.map((one) => [
    [`${one.method} ${one.path}`, String(one.status), when(one.createdAt)],
    [one.id, one.keyName ?? '', one.ip ?? ''],
  ]);
  const headings = [
    ['REQUEST', 'STATUS', 'AT (UTC)'],
    ['ID', 'KEY', 'FROM'],
  ];
  const json = requests.map((one) => ({
    id: one.id,
    method: one.method,
    path: one.path,
    status: one.status,
    duration_ms: one.durationMs,
    message_id: one.messageId,
    key_name: one.keyName,
    ip: one.ip,
    created_at: new Date(one.createdAt).toISOString(),
  }));
  const last = requests.at(-1);
  const more = hasMore && last !== undefined ? `\n\nThere are more: --after ${last.id}` : '';
  call.print(
    { data: json, has_more: hasMore },
    `${table(headings, rows, 'There are no requests.')}${more}`,
  );
}

export const log: Group = {
  summary: 'Show the API requests of an account',
  actions: {
    list: {
      summary: 'List the API requests of an account, newest first',
      parameters: [STATUS, METHOD, SEARCH, LIMIT, AFTER, ACCOUNT],
      run: list,
    },
  },
};
