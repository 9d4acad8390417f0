/** `queue`: what waits, why, and until when. */
import type { QueueDetail } from '../control/queue.ts';
import type { Attempt } from '../store/rows.ts';
import { type Call, type Group, UsageError } from './command.ts';
import { fields, paragraph, printable, table, when } from './layout.ts';
import { operate } from './operate.ts';
import { detailJson, listingJson, tlsOf } from './queue-json.ts';
import type { Listing } from './queue-json.ts';

function showListing({ halt, holds, destinations, recipients }: Listing): string {
  const parts = [
    halt === null ? '' : paragraph(`Halted: ${halt.reason}`),
    table(
      [['DESTINATION', 'WAITING', 'OLDEST (UTC)'], ['LAST REASON']],
      destinations.map((one) => [
        [one.domain, String(one.waiting), when(one.oldestCreatedAt)],
        [one.reason ?? ''],
      ]),
      'Nothing waits.',
    ),
    table(
      [['GIVEN LESS', 'UNTIL (UTC)'], ['WHY'], ['WHAT TO DO']],
      holds.map((one) => [[one.place, when(Date.parse(one.until))], [one.cause], [one.hint ?? '']]),
      '',
    ),
    table(
      [['RECIPIENT', 'TRIES', 'NEXT (UTC)'], ['ID', 'UNTIL (UTC)'], ['LAST REASON']],
      recipients.map((one) => [
        [one.address, String(one.attempts), when(one.nextAttemptAt)],
        [one.id, when(one.expiresAt)],
        [one.lastReason ?? ''],
      ]),
      '',
    ),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
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
    [String(one.number), when(one.beganAt), one.outcome, showTls(one)],
    [one.host ?? ''],
    [one.reply ?? one.stage],
  ]);
  const headings = [['TRY', 'BEGAN (UTC)', 'OUTCOME', 'TLS'], ['HOST'], ['REPLY']];
  const said = recipients.map((one) => paragraph(printable(one.explanation))).join('\n');
  return `${head}\n\n${said}\n\n${table(headings, rows, 'No attempt yet.')}`;
}

function showTls(attempt: Attempt): string {
  const tls = tlsOf(attempt);
  if (tls === null) return 'none';
  return `${tls.version}, ${tls.verified ? '' : 'not '}verified (${tls.policy})`;
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
      call.print(listingJson(listing), showListing(listing));
    },
  },
  show: {
    synopsis: 'show ID',
    does: 'A message or recipient with every attempt.',
    words: [1, 1],
    async run(call) {
      const found = (await operate(call, 'queue.show', { id: call.word(0) })) as QueueDetail;
      call.print(detailJson(found), showDetail(found));
    },
  },
  retry: {
    synopsis: 'retry [ID | --domain D]',
    does: 'Makes one, those of a domain, or all that wait due now; counts them, those due already too.',
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
