/** `account`: the tenants of this appliance. */
import type { Account } from '../store/rows.ts';
import type { Call, Command, Group } from './command.ts';
import { fields, table, when } from './layout.ts';
import { operate } from './operate.ts';

function shape(account: Account): Record<string, unknown> {
  const { id, name, plan, status } = account;
  return {
    id,
    name,
    plan,
    status,
    status_reason: account.statusReason,
    created_at: new Date(account.createdAt).toISOString(),
  };
}

function setStatus(operation: string, does: string, takesReason: boolean): Command {
  return {
    synopsis: `${operation} A${takesReason ? ' [--reason R]' : ''}`,
    does,
    words: [1, 1],
    flags: takesReason ? { reason: 'text' } : {},
    async run(call: Call) {
      const args = { account: call.word(0), reason: call.flag('reason') };
      const name = `account.${operation.replace('-', '_')}`;
      const account = (await operate(call, name, args)) as Account;
      call.print(shape(account), `${account.name} is ${account.status}.`);
    },
  };
}

export const account: Group = {
  create: {
    synopsis: 'create NAME [--plan P]',
    does: 'Makes an account; its plan is "unlimited" unless named.',
    words: [1, 1],
    flags: { plan: 'text' },
    async run(call) {
      const args = { name: call.word(0), plan: call.flag('plan') };
      const made = (await operate(call, 'account.create', args)) as Account;
      const { id, name, plan, status } = made;
      const rows: [string, string][] = [
        ['id', id],
        ['name', name],
        ['plan', plan],
        ['status', status],
      ];
      call.print({ id, name, plan, status }, fields(rows));
    },
  },
  list: {
    synopsis: 'list',
    does: 'All accounts.',
    async run(call) {
      const all = (await operate(call, 'account.list', {})) as Account[];
      const rows = all.map((one) => [
        [one.name, one.plan, one.status],
        [one.id, when(one.createdAt)],
        [one.statusReason ?? ''],
      ]);
      const headings = [['NAME', 'PLAN', 'STATUS'], ['ID', 'CREATED (UTC)'], ['REASON']];
      call.print(all.map(shape), table(headings, rows, 'There is no account.'));
    },
  },
  pause: setStatus('pause', 'Its sends answer account_paused; what was accepted goes on.', true),
  resume: setStatus('resume', 'Lets a paused or unpaid account send again.', false),
  'payment-required': setStatus('payment-required', 'Its sends answer payment_required.', true),
};
