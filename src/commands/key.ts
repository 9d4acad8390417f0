/** `key`: API keys. The text of a key is shown once, by `create`. */
import { apiKey, createdApiKey } from '../api/shapes/key-response.ts';
import { PERMISSIONS } from '../control/shapes.ts';
import { ACCOUNT, ONLY_ACCOUNT } from './account-option.ts';
import type { Call, Group } from './command.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';
import { argument, choice, flag, requiredOption } from './parameter.ts';

const NAME = requiredOption('name', 'N', 'Name of the key, 1 to 60 characters');
const PERMISSION = choice(
  'permission',
  'P',
  'full_access or sending_access (default: sending_access)',
  PERMISSIONS,
);
const TEST = flag('test', 'Create a sandbox key: its sends are checked, but no mail leaves');
const ID = argument('ID', 'Id of the key');

async function create(call: Call): Promise<void> {
  const made = await operate(call, 'key.create', {
    account: call.get(ACCOUNT),
    name: call.get(NAME),
    permission: call.get(PERMISSION) ?? 'sending_access',
    isTest: call.get(TEST),
  });
  const text = `Created key ${made.key.name}:\n${made.token}\nStore it now: it is not shown again.`;
  call.print(createdApiKey(made.key, made.token), text);
}

async function list(call: Call): Promise<void> {
  const keys = await operate(call, 'key.list', { account: call.get(ONLY_ACCOUNT) });
  const rows = keys.map((one) => [
    [`${one.prefix}…${one.last4}`, one.name, one.account, one.permission],
    [one.id, when(one.lastUsedAt), when(one.revokedAt)],
  ]);
  const headings = [
    ['KEY', 'NAME', 'ACCOUNT', 'PERMISSION'],
    ['ID', 'LAST USED (UTC)', 'REVOKED (UTC)'],
  ];
  call.print(
    keys.map((one) => ({ ...apiKey(one), account: one.account })),
    table(headings, rows, 'There are no keys.'),
  );
}

export const key: Group = {
  summary: 'Create, list and revoke API keys',
  actions: {
    create: {
      summary: 'Create an API key and show it once',
      parameters: [NAME, ACCOUNT, PERMISSION, TEST],
      run: create,
    },
    list: {
      summary: 'List the API keys, revoked ones too',
      details: 'Shows the beginning and the end of each key, never its whole text.',
      parameters: [ONLY_ACCOUNT],
      run: list,
    },
    revoke: {
      summary: 'Revoke an API key at once',
      parameters: [ID],
      async run(call) {
        const { id } = await operate(call, 'key.revoke', { id: call.get(ID) });
        call.print({ id, status: 'revoked' }, `Revoked key ${id}.`);
      },
    },
  },
};
