/**
 * `tail`: events as they happen.
 *
 * Promises one line of JSON an event under --json, written at once, and an end with 0 when the reader closes its pipe.
 */
import { Value } from '@sinclair/typebox/value';

import { MESSAGE_STATUSES } from '../base/status.ts';
import { TailLine } from '../control/tail.ts';
import { ONLY_ACCOUNT } from './account-option.ts';
import type { Command } from './command.ts';
import { COLUMNS, paragraph, printable, when } from './layout.ts';
import { operate } from './operate.ts';
import { choice, option } from './parameter.ts';

const DOMAIN = option('domain', 'D', 'Show only mail from this domain or to it');
const STATUS = choice(
  'status',
  'S',
  `Show only this event: ${MESSAGE_STATUSES.join(', ')}`,
  MESSAGE_STATUSES,
);

/** The reader of standard output has gone. */
class ReaderLeft extends Error {
  override readonly name = 'ReaderLeft';
}

export const tail: Command = {
  summary: 'Show events of emails as they happen, until Ctrl-C',
  details:
    'Needs a running server. With --json one line of JSON an event, with the names of the API. A reader that is too slow for the events is told how many were skipped.',
  parameters: [ONLY_ACCOUNT, DOMAIN, STATUS],
  async run(call) {
    const filter = {
      account: call.get(ONLY_ACCOUNT),
      domain: call.get(DOMAIN),
      status: call.get(STATUS),
    };
    try {
      await operate(call, 'tail', filter, async (chunk) => {
        const text = call.isJson ? chunk : `${shown(Value.Parse(TailLine, JSON.parse(chunk)))}\n`;
        if (!call.output.write(text)) throw new ReaderLeft();
      });
    } catch (error) {
      if (!(error instanceof ReaderLeft)) throw error;
    }
  },
};

const STATUS_WIDTH = Math.max(...MESSAGE_STATUSES.map(({ length }) => length));
const INDENT = 2;

/** Time, event and recipient; below them the email's id and what the server said. */
function shown(line: TailLine): string {
  const status = line.type.replace('email.', '').padEnd(STATUS_WIDTH);
  const about = printable(line.recipient ?? line.to.join(', '));
  const head = `${when(Date.parse(line.created_at))}  ${status}`;
  const isShort = Bun.stringWidth(`${head}  ${about}`) <= COLUMNS;
  const indent = ' '.repeat(INDENT);
  return [
    isShort ? `${head}  ${about}` : head.trimEnd(),
    ...(isShort ? [] : [`${indent}${about}`]),
    `${indent}${line.email_id}  ${line.account}`.slice(0, COLUMNS),
    ...(line.reason === null ? [] : [`${indent}${paragraph(printable(line.reason), INDENT)}`]),
  ].join('\n');
}
