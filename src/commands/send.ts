/**
 * `send`: one email for an account, from the command line.
 *
 * Makes the JSON that the API takes and gives it to the operation `email.send`, which checks it by the API's own reader.
 * Promises the id alone on standard output, so that a script can keep it; what follows with --wait goes to standard
 * error.
 */
import { basename } from 'node:path';

import type { Detail } from '../control/queue.ts';
import { ACCOUNT } from './account-option.ts';
import type { Call, Command } from './command.ts';
import { readBytes, readText } from './files.ts';
import { paragraph, printable } from './layout.ts';
import { operate } from './operate.ts';
import { UsageError, flag, list, option, requiredOption } from './parameter.ts';

const FROM = requiredOption('from', 'F', 'Sender, such as "Shop <hello@example.com>"');
const TO = list('to', 'A', 'Recipient; may be given several times', { isRequired: true });
const CC = list('cc', 'A', 'Recipient of a copy; may be given several times');
const BCC = list('bcc', 'A', 'Recipient that the others do not see; several times');
const REPLY_TO = list('reply-to', 'A', 'Where replies go; may be given several times');
const SUBJECT = requiredOption('subject', 'S', 'Subject');
const TEXT = option('text', 'T', 'The email as plain text');
const TEXT_FILE = option('text-file', 'FILE', 'The same from a file; - for standard input', {
  completion: 'file',
});
const HTML = option('html', 'H', 'The email as HTML');
const HTML_FILE = option('html-file', 'FILE', 'The same from a file; - for standard input', {
  completion: 'file',
});
const ATTACHMENT = list('attachment', 'FILE', 'File to attach; may be given several times', {
  completion: 'file',
});
const HEADER = list('header', 'H', 'Header field, such as "X-Ticket: 17"; several times');
const TAG = list('tag', 'NAME=VALUE', 'Tag; may be given several times');
const SANDBOX = flag('sandbox', 'Check and store it as with a sandbox key; no mail leaves');
const WAIT = flag('wait', 'Wait until every recipient is delivered or has failed, and say why');

/** Of all files together: in base64 they stay below what the control socket takes. */
const FILES_MAX_BYTES = 40 * 1024 * 1024;
const FILE_HINT = 'Name a file that you can read, or use - for standard input.';

const PARAMETERS = [
  FROM,
  TO,
  SUBJECT,
  TEXT,
  TEXT_FILE,
  HTML,
  HTML_FILE,
  ATTACHMENT,
  CC,
  BCC,
  REPLY_TO,
  HEADER,
  TAG,
  ACCOUNT,
  SANDBOX,
  WAIT,
];

export const send: Command = {
  summary: 'Send an email for an account',
  details:
    "Checks and sends it like the API, within the account's plan, and prints its id. Without --text, --html and their files the text is read from standard input. With --wait it ends with 0 when every recipient was delivered, else with 1; delays are told meanwhile.",
  parameters: PARAMETERS,
  async run(call) {
    const sent = await operate(call, 'email.send', {
      account: call.get(ACCOUNT),
      email: JSON.stringify(emailOf(call)),
      isSandbox: call.get(SANDBOX),
    });
    if (!call.get(WAIT)) {
      call.print(sent, sent.id);
      return 0;
    }
    if (!call.isJson) call.output.print(sent.id);
    const { message, recipients } = await operate(call, 'email.wait', { id: sent.id });
    if (call.isJson) {
      const ends = recipients.map(({ address, status, lastReason }) => ({
        address,
        status,
        last_reason: lastReason,
      }));
      call.print({ id: sent.id, status: message.status, recipients: ends }, '');
    } else {
      for (const { explanation } of recipients) call.output.say(paragraph(printable(explanation)));
    }
    return recipients.every(isThere) ? 0 : 1;
  },
};

/** `sent`: a smarthost has it. What is simulated is `delivered`. */
function isThere({ status }: Detail['recipients'][number]): boolean {
  return status === 'delivered' || status === 'sent';
}

/** The fields of the API's email; absent ones are undefined. */
function emailOf(call: Call): Record<string, unknown> {
  const files = [TEXT_FILE, HTML_FILE].filter((file) => call.get(file) === '-');
  if (files.length > 1) throw new UsageError('Only one of the files can be standard input.');
  return {
    from: call.get(FROM),
    to: call.get(TO),
    cc: call.get(CC),
    bcc: call.get(BCC),
    reply_to: call.get(REPLY_TO),
    subject: call.get(SUBJECT),
    ...contentOf(call),
    attachments: attachmentsOf(call.get(ATTACHMENT)),
    headers: Object.fromEntries(call.get(HEADER).map((line) => pairOf(line, ':', '--header'))),
    tags: call
      .get(TAG)
      .map((tag) => pairOf(tag, '=', '--tag'))
      .map(([name, value]) => ({ name, value })),
  };
}

function contentOf(call: Call): { text?: string; html?: string } {
  const text = oneOf(call, TEXT, TEXT_FILE);
  const html = oneOf(call, HTML, HTML_FILE);
  if (text !== null || html !== null) {
    return { ...(text !== null && { text }), ...(html !== null && { html }) };
  }
  if (process.stdin.isTTY) {
    throw new UsageError('Use --text or --html, or write the text to standard input.');
  }
  return { text: readText('-', FILE_HINT) };
}

/** The value of an option, or the text of the file that its twin names. */
function oneOf(call: Call, value: typeof TEXT, file: typeof TEXT_FILE): string | null {
  const [given, path] = [call.get(value), call.get(file)];
  if (given !== null && path !== null) {
    throw new UsageError(`Use either --${value.name} or --${file.name}, not both.`);
  }
  return path === null ? given : readText(path, FILE_HINT, FILES_MAX_BYTES);
}

function attachmentsOf(paths: readonly string[]): { filename: string; content: string }[] {
  let left = FILES_MAX_BYTES;
  return paths.map((path) => {
    const bytes = readBytes(path, FILE_HINT, left);
    left -= bytes.length;
    const filename = path === '-' ? 'standard-input' : basename(path);
    return { filename, content: bytes.toString('base64') };
  });
}

/** `name` and `value` around the first `separator`. */
function pairOf(text: string, separator: string, what: string): [name: string, value: string] {
  const at = text.indexOf(separator);
  if (at > 0) return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  throw new UsageError(`${what} must be written NAME${separator}VALUE, not "${text}".`);
}
