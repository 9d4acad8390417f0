/** `queue`: what waits, why, and until when; trying again and giving up. */
import type { Detail, Listing } from '../control/queue.ts';
import type { PublicAttempt } from '../control/shapes.ts';
import type { Call, Group } from './command.ts';
import { fields, paragraph, printable, table, when } from './layout.ts';
import { operate } from './operate.ts';
import { UsageError, argument, option, optionalArgument } from './parameter.ts';
import { detailJson, listingJson } from './queue-json.ts';

const ID = argument('ID', 'Id of a message or a recipient');
const OPTIONAL_ID = optionalArgument('ID', 'Id of a message or a recipient');
const DOMAIN = option('domain', 'D', 'Show only what waits for this domain');
const RETRIED_DOMAIN = option('domain', 'D', 'Retry every recipient at this domain');

/** `domain`: the one that was asked for; null: all. */
function showListing(
  { halt, throttles, destinations, destinationCount, recipients }: Listing,
  domain: string | null,
): string {
  const parts = [
    halt === null ? '' : paragraph(`Sending is halted: ${halt.reason}`),
    table(
      [['DESTINATION', 'WAITING', 'OLDEST (UTC)'], ['LAST REASON']],
      destinations.map((one) => [
        [one.domain, String(one.waiting), when(one.oldestCreatedAt)],
        [one.reason ?? ''],
      ]),
      domain === null ? 'The queue is empty.' : `Nothing waits for ${printable(domain)}.`,
    ),
    destinations.length < destinationCount
      ? paragraph(`The ${destinations.length} largest of ${destinationCount} destinations.`)
      : '',
    table(
      [['SLOWED DOWN', 'UNTIL (UTC)'], ['WHY'], ['WHAT TO DO']],
      throttles.map((one) => [
        [one.site, when(Date.parse(one.until))],
        [one.cause],
        [one.hint ?? ''],
      ]),
      '',
    ),
    table(
      [['RECIPIENT', 'ATTEMPTS', 'NEXT (UTC)'], ['ID', 'UNTIL (UTC)'], ['LAST REASON']],
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

function showDetail({ message, recipients, attempts }: Detail): string {
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
  const headings = [['ATTEMPT', 'BEGAN (UTC)', 'OUTCOME', 'TLS'], ['HOST'], ['REPLY']];
  const explanations = recipients.map((one) => paragraph(printable(one.explanation))).join('\n');
  return `${head}\n\n${explanations}\n\n${table(headings, rows, 'There was no attempt yet.')}`;
}

function showTls({ tls }: PublicAttempt): string {
  if (tls === null) return 'none';
  return `${tls.version}, ${tls.verified ? '' : 'not '}verified (${tls.policy})`;
}

async function list(call: Call): Promise<void> {
  const domain = call.get(DOMAIN);
  const listing = await operate(call, 'queue.list', { domain });
  call.print(listingJson(listing), showListing(listing, domain));
}

async function retry(call: Call): Promise<number> {
  const [id, domain] = [call.get(OPTIONAL_ID), call.get(RETRIED_DOMAIN)];
  if (id !== null && domain !== null)
    throw new UsageError('Use either ID or --domain D, not both.');
  const done = await operate(call, 'queue.retry', { id, domain });
  call.print(done, `Recipients due now: ${done.retried}.`);
  // Who names something expects it to be tried; an empty queue is no failure.
  return done.retried === 0 && (id !== null || domain !== null) ? 1 : 0;
}

export const queue: Group = {
  summary: 'Show what waits and why, retry it or give it up',
  actions: {
    list: {
      summary: 'List what waits: the 1,000 largest destinations, and the first 1,000 recipients',
      parameters: [DOMAIN],
      run: list,
    },
    show: {
      summary: 'Show a message or a recipient with every attempt',
      parameters: [ID],
      async run(call) {
        const found = await operate(call, 'queue.show', { id: call.get(ID) });
        call.print(detailJson(found), showDetail(found));
      },
    },
    retry: {
      summary: 'Retry waiting recipients now',
      details:
        'Without ID and --domain: all of them. The count includes those that were due already. Ends with 1 when nothing waits under the ID or domain that is named.',
      parameters: [OPTIONAL_ID, RETRIED_DOMAIN],
      run: retry,
    },
    fail: {
      summary: 'Give up a waiting message or recipient',
      details:
        'Its event is email.failed. A recipient with an attempt under way is left alone, since its mail may be arriving: the command says so and ends with 1.',
      parameters: [ID],
      async run(call) {
        const done = await operate(call, 'queue.fail', { id: call.get(ID) });
        const { failed, under_way: underWay } = done;
        const left =
          underWay === 0
            ? ''
            : `\nLeft alone, because an attempt is under way: ${underWay}. Its mail may be arriving; see postrider queue show ID, and run this again when the attempt has ended.`;
        call.print(done, `Recipients given up: ${failed}.${left}`);
        return underWay === 0 ? 0 : 1;
      },
    },
  },
};
