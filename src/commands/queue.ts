/** `queue`: what waits, why, and until when. */
import type { Halt } from '../flow/halt.ts';
import type { QueueDetail, QueueEntry } from '../control/queue.ts';
import { type Call, type Group, UsageError } from './command.ts';
import { operate } from './operate.ts';
import { fields, table, when } from './output.ts';

interface Listing {
  halt: Halt | null;
  destinations: {
    domain: string;
    waiting: number;
    oldestCreatedAt: number;
    reason: string | null;
  }[];
  recipients: QueueEntry[];
}

function showListing(listing: Listing): string {
  const destinations = table(
    ['DESTINATION', 'WAITING', 'OLDEST (UTC)', 'LAST REASON'],
    listing.destinations.map((one) => [
      one.domain,
      String(one.waiting),
      when(one.oldestCreatedAt),
      one.reason ?? '-',
    ]),
    'Nothing waits.',
  );
  const recipients = table(
    ['RECIPIENT', 'TRIES', 'NEXT (UTC)', 'UNTIL (UTC)', 'REASON', 'ID'],
    listing.recipients.map((one) => [
      one.address,
      String(one.attempts),
      when(one.nextAttemptAt),
      when(one.expiresAt),
      one.lastReason ?? '-',
      one.id,
    ]),
    '',
  );
  const halted = listing.halt === null ? '' : `Halted: ${listing.halt.reason}\n\n`;
  return `${halted}${destinations}${recipients === '' ? '' : `\n\n${recipients}`}`;
}

function showDetail({ message, recipients, attempts }: QueueDetail): string {
  const head = fields([
    ['message', message.id],
    ['from', message.from],
    ['subject', message.subject],
    ['Message-ID', message.messageId],
    ['status', message.status],
    ['accepted (UTC)', when(message.createdAt)],
  ]);
  const rows = attempts.map((one) => [
    String(one.number),
    when(one.beganAt),
    one.outcome,
    one.host ?? '-',
    one.tls ?? 'no TLS',
    one.reply ?? one.stage,
  ]);
  const headings = ['TRY', 'BEGAN (UTC)', 'OUTCOME', 'HOST', 'TLS', 'REPLY'];
  const said = recipients.map((one) => one.explanation).join('\n');
  return `${head}\n\n${said}\n\n${table(headings, rows, 'No attempt yet.')}`;
}

async function retry(call: Call): Promise<void> {
  const [id, domain] = [call.words[0] ?? null, call.flag('domain')];
  if (id !== null && domain !== null) throw new UsageError('give an ID or --domain, not both');
  const done = (await operate(call, 'queue.retry', { id, domain })) as { retried: number };
  call.print(done, `${done.retried} due now.`);
}

export const queue: Group = {
  list: {
    synopsis: 'list [--domain D]',
    does: 'Destinations and the first thousand recipients that wait.',
    flags: { domain: 'text' },
    async run(call) {
      const listing = (await operate(call, 'queue.list', {
        domain: call.flag('domain'),
      })) as Listing;
      call.print(listing, showListing(listing));
    },
  },
  show: {
    synopsis: 'show ID',
    does: 'A message or recipient with every attempt.',
    words: [1, 1],
    async run(call) {
      const found = (await operate(call, 'queue.show', { id: call.word(0) })) as QueueDetail;
      call.print(found, showDetail(found));
    },
  },
  retry: {
    synopsis: 'retry [ID | --domain D]',
    does: 'Makes one, those of a domain, or all that wait due now.',
    words: [0, 1],
    flags: { domain: 'text' },
    run: retry,
  },
  fail: {
    synopsis: 'fail ID',
    does: 'Gives up a message or recipient that waits; its event is email.failed.',
    words: [1, 1],
    async run(call) {
      const done = (await operate(call, 'queue.fail', { id: call.word(0) })) as { failed: number };
      call.print(done, `${done.failed} given up.`);
    },
  },
};
