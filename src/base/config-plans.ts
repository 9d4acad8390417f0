/**
 * The part of the config's schema that says what a plan allows: [[plans]].
 *
 * A part of `config-schema.ts`, and declared as that says. Its defaults are the built-in plan "unlimited". Reads nothing
 * and never fails.
 */
import * as format from './config-formats.ts';
import { key, rows } from './config-node.ts';

const count = format.wholeNumber(0, 1_000_000_000);

export const PLANS = rows(
  {
    about:
      'Plans limit accounts. "unlimited" is built in, has these defaults, and is every account\'s plan until you choose another. Repeat the table for more plans.',
  },
  {
    id: key(format.planId, { about: 'Name of the plan.', example: 'starter' }),
    includedEmails: key(count, {
      about: 'Emails included in a calendar month.',
      default: null,
      means: 'no limit',
      example: 3000,
    }),
    overageSenPerThousand: key(count, {
      about: 'Price of 1,000 emails beyond included_emails, in sen.',
      default: null,
      means: 'nothing beyond them is accepted',
      example: 400,
    }),
    overageCapSen: key(count, {
      about: 'The most overage in a calendar month, in sen.',
      default: null,
      means: 'no limit',
      example: 20_000,
    }),
    maxDomains: key(count, { about: 'Sending domains.', default: 1_000_000, example: 3 }),
    dailyLimit: key(count, {
      about: 'Emails in a day (UTC).',
      default: null,
      means: 'no limit',
      example: 500,
    }),
    dailyLimitByAgeDays: key(format.limitsByAge, {
      about: 'Rows of [age of the account in days, emails in a day from that age on].',
      default: [],
      means: 'no such limit',
      example: [
        [0, 100],
        [7, 300],
      ],
    }),
    logRetentionDays: key(format.wholeNumber(1, 3650), {
      about: 'Days that the request log is kept.',
      default: 30,
      example: 7,
    }),
    ratePerSecond: key(format.wholeNumber(1, 100_000), {
      about: 'Requests that send, in a second.',
      default: 100,
      example: 10,
    }),
    readsPerMinute: key(format.wholeNumber(1, 10_000_000), {
      about:
        'Requests that read, in a minute and for each API key. Also how many requests of an account that count against no limit, such as refused ones, its request log takes in a minute.',
      default: 300,
      example: 300,
    }),
    writesPerMinute: key(format.wholeNumber(1, 10_000_000), {
      about:
        'Requests that change something (domains, keys, endpoints, suppressions), in a minute.',
      default: 600,
      example: 600,
    }),
    storageBytes: key(format.size, {
      about:
        'Bytes of content (html, text, headers, attachments) kept at once, until retention takes them; sandbox sends count too.',
      default: null,
      means: 'no limit',
      example: 5_000_000_000,
    }),
    attachmentBytes: key(format.size, {
      about: 'Size of all attachments of a message together, in bytes.',
      default: 10_000_000,
      example: 10_000_000,
    }),
    confirmedRecipientsOnly: key(format.flag, {
      about:
        'Whether the account may send only to addresses that `postrider recipient confirm` names, and to all at its own verified domains.',
      default: false,
      example: false,
    }),
  },
);
