/** `node`: the servers that share a PostgreSQL database. */
import { difference, isClockOff } from '../health/nodes.ts';
import type { Call, Group } from './command.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';
import { optionalArgument } from './parameter.ts';

const NAME = optionalArgument('NAME', 'Name or id of the node; default: the server here');

async function list(call: Call): Promise<void> {
  const nodes = await operate(call, 'node.list', {});
  const rows = nodes.map((one) => [
    [one.name, one.state, one.version, `${one.taken ?? ''}`, when(Date.parse(one.began_at))],
    [
      one.id,
      one.addresses.join(' '),
      [one.is_this ? 'this server' : '', clockOf(one)].filter((word) => word !== '').join(', '),
    ],
  ]);
  const headings = [
    ['NODE', 'STATE', 'VERSION', 'TAKEN', 'SINCE (UTC)'],
    ['ID', 'SENDS FROM', ''],
  ];
  call.print(nodes, table(headings, rows, 'No server takes part now.'));
}

/** Said of a clock that is wrong. */
function clockOf({ clock_ahead_ms: clockAheadMs }: { clock_ahead_ms: number | null }): string {
  return isClockOff(clockAheadMs) ? `clock ${difference(clockAheadMs)}` : '';
}

export const node: Group = {
  summary: 'List and drain the servers that share a database',
  actions: {
    list: {
      summary: 'List the servers that take part',
      details:
        'A silent one has not been heard of for 15 seconds; 30 seconds later the others send what it had. TAKEN: recipients that it has and has not ended.',
      run: list,
    },
    drain: {
      summary: 'Have a server end its part, before it is stopped or replaced',
      details:
        '/ready says 503 from the start and sends are refused after 3 seconds, while it ends what is under way. What it leaves the others send at once. Started anew it takes part again.',
      parameters: [NAME],
      async run(call) {
        const result = await operate(call, 'node.drain', { name: call.get(NAME) });
        call.print(result, 'Drained. It can be stopped now.');
      },
    },
  },
};
