/**
 * The cases of canned.test.ts: no two facts of a result are alike, so that two that were swapped are seen.
 *
 *   bun test/commands/canned-cases.ts
 *
 * writes shown.txt anew.
 */
import { writeFileSync } from 'node:fs';

import type { ResultOf } from '../../src/control/operations.ts';
import { MAIL_CASES } from './canned-mail.ts';
import { RESOURCE_CASES } from './canned-resources.ts';
import { CannedServer, TRANSCRIPT_FILE, reply } from './canned.ts';
import type { Case } from './canned.ts';

const T = Date.parse('2026-11-21T09:30:00.000Z');
const at = (minutes: number): number => T + minutes * 60_000;

const ACCOUNT: ResultOf<'account.pause'> = {
  id: 'acc-1',
  name: 'shop',
  plan: 'small',
  status: 'paused',
  statusReason: 'Unpaid.',
  createdAt: at(1),
};
const OPEN: ResultOf<'account.pause'> = {
  ...ACCOUNT,
  id: 'acc-2',
  name: 'other',
  status: 'active',
  statusReason: null,
};

const KEY: ResultOf<'key.create'>['key'] = {
  id: 'key-1',
  accountId: 'acc-1',
  name: 'ci',
  permission: 'sending_access',
  isTest: true,
  prefix: 'pr_test_Ab3d',
  last4: 'wxyz',
  lastUsedAt: at(2),
  revokedAt: at(3),
  createdAt: at(1),
};

const OPERATOR: ResultOf<'operator.remove'> = {
  id: 'op-1',
  name: 'anna',
  role: 'read_only',
  account: 'shop',
  hasSecondFactor: true,
  createdAt: at(1),
  signedInAt: at(6),
};
const CHIEF: ResultOf<'operator.remove'> = {
  ...OPERATOR,
  name: 'chief',
  role: 'admin',
  account: null,
  hasSecondFactor: false,
  signedInAt: null,
};

const DELETED = {
  id: 'acc-1',
  messages: 1,
  log_rows: 2,
  suppressions: 3,
  confirmed: 4,
  keys: 5,
  domains: 6,
  webhooks: 7,
};
const ERASED = {
  messages: 1,
  shared: 2,
  waiting: 0,
  log_rows: 4,
  confirmed: 5,
  suppressions_kept: 6,
};

const NODE: ResultOf<'node.list'>[number] = {
  id: 'node-1',
  name: 'first',
  version: '1.2.3',
  addresses: ['192.0.2.1', '192.0.2.2'],
  state: 'silent',
  began_at: '2026-11-21T09:31:00.000Z',
  heard_ms_ago: 20_000,
  taken: 8,
  in_delivery: 3,
  clock_ahead_ms: 90_000,
  is_this: true,
};

const PEOPLE_CASES: Case[] = [
  {
    line: 'account list',
    replies: [
      reply('account.list', [
        { ...ACCOUNT, storedBytes: 12_345 },
        { ...OPEN, storedBytes: 0 },
      ]),
    ],
  },
  { line: 'account list', replies: [reply('account.list', [])] },
  { line: 'account create shop --plan small', replies: [reply('account.create', ACCOUNT)] },
  { line: 'account create shop', replies: [reply('account.create', ACCOUNT)] },
  { line: 'account change shop --plan small', replies: [reply('account.change', ACCOUNT)] },
  {
    line: 'account change old --name shop --plan small',
    replies: [reply('account.change', ACCOUNT)],
  },
  { line: 'account change shop', replies: [] },
  { line: 'account pause shop --reason Unpaid.', replies: [reply('account.pause', ACCOUNT)] },
  {
    line: 'account resume shop',
    replies: [reply('account.resume', { ...ACCOUNT, status: 'active' })],
  },
  {
    line: 'account payment-required shop --reason Card.',
    replies: [reply('account.payment_required', { ...ACCOUNT, status: 'payment_required' })],
  },
  {
    line: 'account delete shop --yes',
    replies: [reply('account.delete', DELETED, { says: ['10000 emails deleted'] })],
  },
  {
    line: 'key create --name ci --account shop',
    replies: [reply('key.create', { key: KEY, token: 'pr_test_whole' })],
  },
  {
    line: 'key create --name ci --permission full_access --test',
    replies: [reply('key.create', { key: KEY, token: 'pr_test_whole' })],
  },
  {
    line: 'key list --account shop',
    replies: [
      reply('key.list', [
        { ...KEY, account: 'shop' },
        { ...KEY, id: 'key-2', lastUsedAt: null, revokedAt: null, account: 'shop' },
      ]),
    ],
  },
  { line: 'key list', replies: [reply('key.list', [])] },
  { line: 'key revoke key-1', replies: [reply('key.revoke', { id: 'key-1' })] },
  {
    line: 'operator add anna --read-only --account shop',
    replies: [reply('operator.add', { operator: OPERATOR, password: 'the-password' })],
  },
  {
    line: 'operator add chief',
    replies: [reply('operator.add', { operator: CHIEF, password: 'the-password' })],
  },
  { line: 'operator list', replies: [reply('operator.list', [OPERATOR, CHIEF])] },
  { line: 'operator list', replies: [reply('operator.list', [])] },
  { line: 'operator remove anna', replies: [reply('operator.remove', OPERATOR)] },
  { line: 'operator password anna', replies: [reply('operator.password', { password: 'made' })] },
  {
    line: 'operator totp-reset anna',
    replies: [reply('operator.totp_reset', { ...OPERATOR, hasSecondFactor: false })],
  },
  { line: 'password', replies: [reply('password.set', { password: 'made' })] },
  {
    line: 'audit --who anna --limit 2 --before 19',
    replies: [
      reply('audit.list', [
        {
          seq: 18,
          at: at(8),
          via: 'command',
          who: 'anna',
          action: 'domain.add',
          target: 'shop.example',
          account: 'shop',
          address: '192.0.2.9',
        },
        {
          seq: 17,
          at: at(7),
          via: 'dashboard',
          who: 'ben',
          action: 'halt',
          target: '',
          account: null,
          address: null,
        },
      ]),
    ],
  },
  { line: 'audit', replies: [reply('audit.list', [])] },
  { line: 'erase ann@x.example', replies: [reply('erase', ERASED)] },
  {
    line: 'erase ann@x.example --account shop',
    replies: [reply('erase', { ...ERASED, waiting: 3 })],
  },
  {
    line: 'node list',
    replies: [
      reply('node.list', [
        NODE,
        {
          ...NODE,
          id: 'node-2',
          name: 'second',
          state: 'live',
          taken: null,
          in_delivery: null,
          clock_ahead_ms: null,
          is_this: false,
        },
      ]),
    ],
  },
  { line: 'node list', replies: [reply('node.list', [])] },
  {
    line: 'node drain first',
    replies: [reply('node.drain', { drained: ['node-1'] }, { says: ['It takes no new mail.'] })],
  },
  { line: 'node drain', replies: [reply('node.drain', { drained: ['node-1'] })] },
];

export const CASES: Case[] = [...PEOPLE_CASES, ...RESOURCE_CASES, ...MAIL_CASES];

if (import.meta.main) {
  const server = await CannedServer.start();
  const blocks: string[] = [];
  for (const one of CASES) blocks.push(await server.block(one));
  await server.stop();
  writeFileSync(TRANSCRIPT_FILE, blocks.join('\n'));
}
