/** `operator`: who may sign in to the dashboard. A password is shown once, by the command that makes it. */
import type { ResultOf } from '../control/operations.ts';
import type { Call, Command, Group } from './command.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';
import { UsageError, argument, flag, option } from './parameter.ts';

const NEW_NAME = argument('NAME', 'Name for signing in: lower-case letters, digits and . _ @ + -');
const NAME = argument('NAME', 'Name of the operator');
const READ_ONLY = flag('read-only', 'May look at everything it sees, and change nothing');
const ACCOUNT = option('account', 'A', 'Sees only this account (name or id)');
const STDIN = flag('stdin', 'Read the password from the first line of standard input');

type Shown = ResultOf<'operator.remove'>;

const json = (one: Shown): Record<string, unknown> => ({
  id: one.id,
  name: one.name,
  role: one.role,
  account: one.account,
  second_factor: one.hasSecondFactor,
  created_at: new Date(one.createdAt).toISOString(),
  signed_in_at: one.signedInAt === null ? null : new Date(one.signedInAt).toISOString(),
});

async function add(call: Call): Promise<void> {
  const { operator: made, password } = await operate(call, 'operator.add', {
    name: call.get(NEW_NAME),
    role: call.get(READ_ONLY) ? 'read_only' : 'admin',
    account: call.get(ACCOUNT),
  });
  call.print(
    { ...json(made), password },
    `${password}\n\nThis is the password of ${made.name}; it is not shown again.`,
  );
}

async function list(call: Call): Promise<void> {
  const all = await operate(call, 'operator.list', {});
  const rows = all.map((one) => [
    [one.name, one.role, one.account ?? 'everything'],
    [one.hasSecondFactor ? 'yes' : 'no', when(one.signedInAt)],
  ]);
  const headings = [
    ['NAME', 'ROLE', 'SEES'],
    ['SECOND FACTOR', 'LAST SIGN-IN (UTC)'],
  ];
  call.print(all.map(json), table(headings, rows, 'There are no operators.'));
}

/** The password in the first line of standard input; null: one is to be made. Throws `UsageError`. */
async function chosenPassword(call: Call): Promise<string | null> {
  if (!call.get(STDIN)) return null;
  const [own = ''] = (await Bun.stdin.text()).split(/\r?\n/);
  if (own !== '') return own;
  throw new UsageError('Standard input has no password: write one line to it.');
}

/** `made`: the password that was made; null when the operator chose one. */
function tellPassword(call: Call, name: string, made: string | null): void {
  const ended = `Every session of ${name} has ended.`;
  const words =
    made === null
      ? `The password is set. ${ended}`
      : `${made}\n\nThis is the new password; it is not shown again. ${ended}`;
  call.print({ password: made, sessions_ended: true }, words);
}

export const operator: Group = {
  summary: 'Add, list and remove those who may sign in to the dashboard',
  actions: {
    add: {
      summary: 'Add an operator and show the password once',
      details:
        'Without options it may see and change everything. A second factor is set up on the dashboard, by whoever signed in.',
      parameters: [NEW_NAME, READ_ONLY, ACCOUNT],
      run: add,
    },
    list: { summary: 'List the operators', run: list },
    remove: {
      summary: 'Remove an operator and end their sessions',
      details: 'The last one who may see and change everything stays.',
      parameters: [NAME],
      async run(call) {
        const gone = await operate(call, 'operator.remove', { name: call.get(NAME) });
        call.print(json(gone), `Removed operator ${gone.name}.`);
      },
    },
    password: {
      summary: 'Set a new password of an operator',
      details: 'Makes one and shows it once, unless --stdin is given. Ends their sessions.',
      parameters: [NAME, STDIN],
      async run(call) {
        const args = { name: call.get(NAME), password: await chosenPassword(call) };
        const { password: made } = await operate(call, 'operator.password', args);
        tellPassword(call, args.name, made);
      },
    },
    'totp-reset': {
      summary: 'Turn off the second factor of an operator who has lost it',
      parameters: [NAME],
      async run(call) {
        const one = await operate(call, 'operator.totp_reset', { name: call.get(NAME) });
        call.print(json(one), `${one.name} signs in without a code now.`);
      },
    },
  },
};

/** The command that there was before there were several operators. */
export const password: Command = {
  summary: 'Set a new password of the operator admin',
  details:
    'Makes one and shows it once, unless --stdin is given. Ends every session of admin, so it also helps when a browser was lost. Others: postrider operator password NAME.',
  parameters: [STDIN],
  async run(call) {
    const own = await chosenPassword(call);
    const { password: made } = await operate(call, 'password.set', { password: own });
    tellPassword(call, 'admin', made);
  },
};
