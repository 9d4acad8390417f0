/** `account`: the accounts of this appliance, each with a plan, keys, domains and suppressions of its own. */
import type { ResultOf } from '../control/operations.ts';
import type { Command, Group } from './command.ts';
import { fields, paragraph, table, when } from './layout.ts';
import { operate } from './operate.ts';
import { argument, flag, option, sentence, UsageError } from './parameter.ts';

const NAME = argument('NAME', 'Name of the account, 1 to 60 characters');
const PLAN = option('plan', 'P', 'Id of a plan in the config file (default: unlimited)');
const WHICH = argument('A', 'Name or id of the account');
const REASON = sentence('reason', 'R', 'One sentence, shown to the senders of the account');

function shape(account: ResultOf<'account.pause'>): Record<string, unknown> {
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

function setStatus(
  operation: 'account.pause' | 'account.resume' | 'account.payment_required',
  summary: string,
  details: string,
): Command {
  const takesReason = operation !== 'account.resume';
  return {
    summary,
    details,
    parameters: takesReason ? [WHICH, REASON] : [WHICH],
    async run(call) {
      const reason = takesReason ? call.get(REASON) : null;
      const account = await operate(call, operation, { account: call.get(WHICH), reason });
      call.print(shape(account), `Account ${account.name} now has the status ${account.status}.`);
    },
  };
}

const YES = flag('yes', 'Delete it: without this nothing is done');

const REMAINS =
  'What remains: backups and before-restore folders from before now; the log that the system keeps of standard error. An email that was being handed over at this moment may still arrive.';

const deletion: Command = {
  summary: 'Delete an account with everything that it has',
  details:
    'Its emails, also those that wait, events, request log, keys, domains, webhooks and suppressions go for good; what was deleted is overwritten. Its suppressions go too: export them first where they are to count elsewhere. Cut off in the middle, run it again.',
  parameters: [WHICH, YES],
  async run(call) {
    if (!call.get(YES)) {
      throw new UsageError(`This deletes ${call.get(WHICH)} for good. Add --yes to do it.`);
    }
    const done = await operate(call, 'account.delete', { account: call.get(WHICH) });
    const rows: [string, string][] = [
      ['emails deleted', String(done.messages)],
      ['rows of the request log', String(done.log_rows)],
      ['keys', String(done.keys)],
      ['domains', String(done.domains)],
      ['webhook endpoints', String(done.webhooks)],
      ['suppressions', String(done.suppressions)],
      ['confirmed recipients', String(done.confirmed)],
    ];
    call.print(done, `${fields(rows)}\n\n${paragraph(REMAINS)}`);
  },
};

const NEW_NAME = option('name', 'N', 'New name, 1 to 60 characters');
const NEW_PLAN = option('plan', 'P', 'Id of a plan in the config file, or unlimited');

const change: Command = {
  summary: 'Give an account another plan or another name',
  details:
    'What is not named stays. The next request goes by the new plan, and what was sent in this month counts against it. Commands and scripts that call the account by its old name no longer find it; its keys stay as they are.',
  parameters: [WHICH, NEW_NAME, NEW_PLAN],
  async run(call) {
    const [name, plan] = [call.get(NEW_NAME), call.get(NEW_PLAN)];
    if (name === null && plan === null) {
      throw new UsageError('Say what is to change: --plan P, --name N or both.');
    }
    const account = await operate(call, 'account.change', {
      account: call.get(WHICH),
      name,
      plan,
    });
    call.print(shape(account), `Account ${account.name} is on the plan ${account.plan}.`);
  },
};

export const account: Group = {
  summary: 'Create, list, change, pause, resume and delete accounts',
  actions: {
    create: {
      summary: 'Create an account',
      parameters: [NAME, PLAN],
      async run(call) {
        const args = { name: call.get(NAME), plan: call.get(PLAN) };
        const { id, name, plan, status } = await operate(call, 'account.create', args);
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
      summary: 'List every account',
      async run(call) {
        const all = await operate(call, 'account.list', {});
        const rows = all.map((one) => [
          [one.name, one.plan, one.status],
          [one.id, when(one.createdAt), String(one.storedBytes)],
          [one.statusReason ?? ''],
        ]);
        const headings = [
          ['NAME', 'PLAN', 'STATUS'],
          ['ID', 'CREATED (UTC)', 'BYTES KEPT'],
          ['REASON'],
        ];
        const shapes = all.map((one) => ({ ...shape(one), stored_bytes: one.storedBytes }));
        call.print(shapes, table(headings, rows, 'There are no accounts.'));
      },
    },
    change,
    delete: deletion,
    pause: setStatus(
      'account.pause',
      'Refuse new sends of an account',
      'Its sends get the error account_paused. Mail that was accepted before is still delivered.',
    ),
    resume: setStatus(
      'account.resume',
      'Let an account send again',
      'Ends the status paused or payment_required.',
    ),
    'payment-required': setStatus(
      'account.payment_required',
      'Refuse new sends until the account is paid',
      'Its sends get the error payment_required. Mail that was accepted before is still delivered.',
    ),
  },
};
