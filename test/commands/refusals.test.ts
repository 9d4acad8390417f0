/**
 * What each command says when it refuses, whole: what is wrong, then what to do, and the exit code (docs/commands.md: 1
 * failed, 64 wrong usage). Nothing is changed by a refusal, and nothing stands on standard output.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Console } from './console.ts';

let shop: Console;

beforeAll(async () => {
  shop = await Console.make('\n[[plans]]\nid = "small"\n');
  await shop.run('account', 'create', 'second');
  await shop.run('domain', 'add', 'a.example', '--account', 'default');
  writeFileSync(join(shop.folder, 'bad.csv'), 'email\n"a@x');
});
afterAll(() => shop.close());

/** Runs it with `DIR` as the folder of this test, and `-A` as the account `default`. */
async function refused(line: string): Promise<[code: number, out: string, err: string]> {
  const words = line
    .split(' ')
    .flatMap((word) => (word === '-A' ? ['--account', 'default'] : [word]))
    .map((word) => word.replace('DIR', shop.folder));
  const { code, out, err } = await shop.run(...words);
  return [code, out, err.replaceAll(shop.folder, 'DIR')];
}

const NAME_RULE =
  'name must have 1 to 60 characters, not spaces alone, without control characters or changes of text direction.';
const LONG = 'x'.repeat(61);
const SEVERAL = 'There are several accounts: name one with --account.';
const NO_ACCOUNT = 'There is no account "nobody".';
const NO_DOMAIN = 'There is no domain b.example.';
const NO_OPERATOR = 'There is no operator nobody.';
const NO_ID = 'There is no message or recipient x.';
const NO_ENDPOINT = 'There is no such webhook endpoint in this account.';
const OPERATOR_NAME =
  'name must have 1 to 60 characters: lower-case letters, digits and . _ @ + -, with a letter or digit first.';
const NO_FILE = "ENOENT: no such file or directory, stat '/nowhere'";
const SEND = 'send --from hello@a.example --to b@x.example --subject s';

test.each([
  ['account create second', 'There is an account named "second" already.'],
  [`account create ${LONG}`, NAME_RULE],
  ['account create x --plan big', 'There is no plan "big"; the config has: unlimited, small.'],
  ['account change nobody --plan small', NO_ACCOUNT],
  ['account change second --plan big', 'There is no plan "big"; the config has: unlimited, small.'],
  ['account change second --name default', 'There is an account named "default" already.'],
  [`account change second --name ${LONG}`, NAME_RULE],
  ['account pause nobody --reason x', NO_ACCOUNT],
  ['account resume nobody', NO_ACCOUNT],
  ['account payment-required nobody --reason x', NO_ACCOUNT],
  ['account delete nobody --yes', NO_ACCOUNT],
  ['key create --name x --account nobody', NO_ACCOUNT],
  ['key create --name x', SEVERAL],
  [`key create --name ${LONG} -A`, NAME_RULE],
  ['key revoke x', 'There is no API key x.'],
  ['key list --account nobody', NO_ACCOUNT],
  ['domain add a.example -A', 'This account has the domain a.example already.'],
  ['domain add b.example', SEVERAL],
  ['domain add nodots -A', 'name must be a domain name such as example.com.'],
  ['domain add a_b.example -A', 'name must be a domain name such as example.com.'],
  ['domain records b.example', NO_DOMAIN],
  ['domain verify b.example', NO_DOMAIN],
  ['domain remove b.example', NO_DOMAIN],
  ['domain rotate-key b.example', NO_DOMAIN],
  [
    'domain rotate-key a.example --activate',
    'a.example has no new key: run postrider domain rotate-key a.example first, without --activate.',
  ],
  ['suppression add nobody -A', 'email must be of the form name@domain.'],
  ['suppression remove a@x.example -A', 'a@x.example is not suppressed.'],
  ['suppression list', SEVERAL],
  ['suppression export', SEVERAL],
  [
    'suppression import DIR/bad.csv -A',
    'This is not CSV: line 2: a quotation mark is not closed.',
    'Fix that line and import the file again: rows that were imported before it are not added twice.',
  ],
  [
    'suppression import /nowhere -A',
    `Cannot read /nowhere: ${NO_FILE}`,
    'Name a CSV file, or use - for standard input.',
  ],
  ['webhook add http://8.8.8.8/h -A', 'endpoint: the URL must begin with https://.'],
  ['webhook add https://127.0.0.1/h -A', 'endpoint: the host does not lead to a public address.'],
  ['webhook add nourl -A', 'endpoint: not a valid URL.'],
  [
    'webhook add https://8.8.8.8/h --event email.open -A',
    'events must be among email.sent, email.delivered, email.bounced, email.complained, email.failed, email.delivery_delayed, email.opened, email.clicked.',
  ],
  ['webhook replay x --since 2026-01-01 -A', NO_ENDPOINT],
  ['webhook replay x --event e -A', NO_ENDPOINT],
  ['webhook list --account nobody', NO_ACCOUNT],
  [
    'webhook test x -A',
    'No server is running on this data directory, so no call can be made.',
    'Start it with `postrider serve`.',
  ],
  ['operator add admin', 'There is an operator admin already.'],
  ['operator add A_B', OPERATOR_NAME],
  ['operator add .a', OPERATOR_NAME],
  [`operator add ${LONG}`, OPERATOR_NAME],
  ['operator add bob --account nobody', NO_ACCOUNT],
  ['operator remove nobody', NO_OPERATOR],
  ['operator remove admin', 'admin is the last operator with all rights: add another one first.'],
  ['operator password nobody', NO_OPERATOR],
  ['operator totp-reset nobody', NO_OPERATOR],
  ['queue show x', NO_ID],
  ['queue fail x', NO_ID],
  ['queue retry x', NO_ID],
  [
    'log list --status 3xx -A',
    '--status must be a status such as 404, or 2xx, 4xx or 5xx, not "3xx".',
  ],
  [
    'log list --status 600 -A',
    '--status must be a status such as 404, or 2xx, 4xx or 5xx, not "600".',
  ],
  ['log list', SEVERAL],
  ['log list --after x -A', '--after must be the id of a row of this list, not "x".'],
  ['log list --limit 0 -A', '--limit must be a number from 1 to 100, not "0".'],
  ['log list --limit 101 -A', '--limit must be a number from 1 to 100, not "101".'],
  ['email list --after x -A', '--after must be the id of a row of this list, not "x".'],
  ['email list --limit 1.5 -A', '--limit must be a number from 1 to 100, not "1.5".'],
  ['audit --before x', '--before must be the SEQ of an entry, which is a number, not "x".'],
  ['audit --before -1', '--before must be the SEQ of an entry, which is a number, not "-1".'],
  ['audit --limit x', '--limit must be a number from 1 to 100, not "x".'],
  ['email list', SEVERAL],
  [
    'reload',
    'No server is running on this data directory.',
    'There is nothing to reload: the server reads its config when it starts.',
  ],
  [
    'tail',
    'No server is running on this data directory, so nothing happens there.',
    'Start it with `postrider serve`.',
  ],
  [
    'version --server',
    'No server is running on DIR/data.',
    'Start it with `postrider serve`, or name its config with --config.',
  ],
  ['restore /nowhere', '/nowhere does not exist', 'Name a file that postrider backup has made.'],
  [
    'restore --key-only /nowhere',
    '/nowhere does not exist',
    'Name a file that postrider backup has made.',
  ],
  [
    'restore DIR/bad.csv',
    'DIR/bad.csv is not a complete backup: not a database',
    'Name a file that postrider backup has made. Nothing was changed.',
  ],
  [
    'backup DIR/bad.csv',
    'Copying and verifying. Sending goes on meanwhile.',
    'DIR/bad.csv already exists',
    'Name a file that does not exist yet.',
  ],
  ['erase nobody', 'The address must be of the form name@domain.'],
  [
    'send --from a --to b@x.example --subject s --text t -A',
    'from must be of the form name@domain.',
  ],
  [`${SEND} --text t`, SEVERAL],
  [
    `${SEND} --text t -A`,
    'The a.example domain is not verified. Please publish its DNS records and verify it.',
  ],
  [
    `${SEND} --text-file /nowhere -A`,
    `Cannot read /nowhere: ${NO_FILE}`,
    'Name a file that you can read, or use - for standard input.',
  ],
  [
    `${SEND} --text t --attachment /nowhere -A`,
    `Cannot read /nowhere: ${NO_FILE}`,
    'Name a file that you can read, or use - for standard input.',
  ],
])('%s', async (line, ...said) => {
  const [code, out, err] = await refused(line);
  expect([code, out, err]).toEqual([1, '', `${said.join('\n')}\n`]);
});

test.each([
  [
    'suppression add a@x.example --reason whim',
    '--reason must be one of hard_bounce, complaint, unsubscribe, manual, not "whim".',
  ],
  [
    'email list --status lost',
    '--status must be one of queued, sent, delivered, delivery_delayed, bounced, complained, failed, suppressed, not "lost".',
  ],
  ['queue retry x --domain x.example', 'Use either ID or --domain D, not both.'],
  [`${SEND} --text t --text-file x`, 'Use either --text or --text-file, not both.'],
  [`${SEND} --html t --html-file x`, 'Use either --html or --html-file, not both.'],
  [`${SEND} --text t --tag x`, '--tag must be written NAME=VALUE, not "x".'],
  [`${SEND} --text t --header x`, '--header must be written NAME:VALUE, not "x".'],
  ['completion tcsh', 'SHELL must be one of bash, zsh, fish, not "tcsh".'],
  ['dev --port 65536', '--port must be a number from 0 to 65535, not "65536".'],
  ['dev --smtp-port 1.5', '--smtp-port must be a number from 0 to 65535, not "1.5".'],
  ['account delete second', 'This deletes second for good. Add --yes to do it.'],
  [
    'key create --name x --permission all',
    '--permission must be one of full_access, sending_access, not "all".',
  ],
])('%s is wrong usage', async (line, said) => {
  const [code, out, err] = await refused(line);
  expect([code, out]).toEqual([64, '']);
  expect(err).toStartWith(`${said}\nUsage: postrider ${line.split(' ')[0]}`);
});
