/** `key`: API keys. The text of a key is shown once, by `create`. */
import { apiKey, createdApiKey } from '../api/shapes/key-answers.ts';
import type { Owned } from '../control/accounts.ts';
import type { Key } from '../store/rows.ts';
import { type Group, UsageError } from './command.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';

export const key: Group = {
  create: {
    synopsis: 'create [--account A] --name N [--permission full_access|sending_access] [--test]',
    does: 'Makes a key and shows it once; sending_access unless named; --test sends nothing for real.',
    flags: { account: 'text', name: 'text', permission: 'text', test: 'flag' },
    async run(call) {
      const permission = call.flag('permission') ?? 'sending_access';
      if (permission !== 'full_access' && permission !== 'sending_access') {
        throw new UsageError('--permission is full_access or sending_access');
      }
      const made = (await operate(call, 'key.create', {
        account: call.flag('account'),
        name: call.required('name'),
        permission,
        isTest: call.has('test'),
      })) as { key: Key; token: string };
      call.print(createdApiKey(made.key, made.token), `${made.token}\nIt is not shown again.`);
    },
  },
  list: {
    synopsis: 'list [--account A]',
    does: 'Keys, revoked ones too; never their text.',
    flags: { account: 'text' },
    async run(call) {
      const args = { account: call.flag('account') };
      const keys = (await operate(call, 'key.list', args)) as Owned<Key>[];
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
        table(headings, rows, 'There is no key.'),
      );
    },
  },
  revoke: {
    synopsis: 'revoke ID',
    does: 'Ends a key at once.',
    words: [1, 1],
    async run(call) {
      const id = call.word(0);
      await operate(call, 'key.revoke', { id });
      call.print({ id, status: 'revoked' }, `${id} is revoked.`);
    },
  },
};
