/**
 * The control socket: everything an operator can do to the data, in one table.
 *
 * A command connects to `control.sock` in the data directory and sends one line of JSON: an operation's name and its
 * arguments (protocol). The server looks the name up here, checks the arguments against the operation's schema and runs
 * its handler; lines of progress and chunks of a long result come back first, then one result or one error, and the
 * server closes. Where no server is running, the command opens the store itself and runs the same table, so an operation
 * does the same either way. Both sides take their types from the two schemas of each entry.
 *
 * Promises that a result is sent only after its change is committed: a crash before that leaves the data as it was, and
 * the command reports that the server ended. Running an operation again after that is safe.
 */
import { OperatorError } from '../base/errors.ts';
import { audit } from '../flow/people/audit.ts';
import { ACCOUNT_OPERATIONS } from './accounts.ts';
import { BACKUP_OPERATIONS } from './backup.ts';
import { DOMAIN_OPERATIONS } from './domains.ts';
import { EMAIL_OPERATIONS } from './emails.ts';
import { ACCOUNT_DELETION_OPERATIONS } from './account-deletion.ts';
import { ERASURE_OPERATIONS } from './erasure.ts';
import { KEY_OPERATIONS } from './keys.ts';
import { LOG_OPERATIONS } from './logs.ts';
import { NODE_OPERATIONS } from './nodes.ts';
import type { Operation, Scope } from './operation.ts';
import { OPERATOR_OPERATIONS } from './operators.ts';
import { QUEUE_OPERATIONS } from './queue.ts';
import { RECIPIENT_OPERATIONS } from './recipients.ts';
import { SUPPRESSION_OPERATIONS } from './suppressions.ts';
import { SERVER_OPERATIONS } from './switches.ts';
import { TAIL_OPERATIONS } from './tail.ts';
import { WEBHOOK_OPERATIONS } from './webhooks.ts';

const TABLE = {
  ...ACCOUNT_OPERATIONS,
  ...KEY_OPERATIONS,
  ...DOMAIN_OPERATIONS,
  ...EMAIL_OPERATIONS,
  ...TAIL_OPERATIONS,
  ...LOG_OPERATIONS,
  ...QUEUE_OPERATIONS,
  ...ACCOUNT_DELETION_OPERATIONS,
  ...ERASURE_OPERATIONS,
  ...SERVER_OPERATIONS,
  ...BACKUP_OPERATIONS,
  ...SUPPRESSION_OPERATIONS,
  ...RECIPIENT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...OPERATOR_OPERATIONS,
  ...NODE_OPERATIONS,
};

export type OperationName = keyof typeof TABLE;
export type ArgumentsOf<Name extends OperationName> = ReturnType<
  (typeof TABLE)[Name]['readArguments']
>;
export type ResultOf<Name extends OperationName> = ReturnType<(typeof TABLE)[Name]['readResult']>;

export const OPERATIONS: {
  readonly [Name in OperationName]: Operation<ArgumentsOf<Name>, ResultOf<Name>>;
} = TABLE;

/** Those that change nothing. */
const LOOKS: ReadonlySet<OperationName> = new Set([
  'version',
  'tail',
  'account.list',
  'audit.list',
  'domain.list',
  'domain.records',
  'email.list',
  'email.show',
  'email.wait',
  'key.list',
  'log.list',
  'node.list',
  'operator.list',
  'queue.list',
  'queue.show',
  'recipient.list',
  'suppression.export',
  'suppression.list',
  'webhook.list',
]);

function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name);
}

/** Checks the arguments and runs one operation. Throws `OperatorError`, or what the operation throws. */
export async function perform<Name extends OperationName>(
  scope: Scope,
  name: Name,
  args: unknown,
): Promise<ResultOf<Name>> {
  const operation = OPERATIONS[name];
  const read = operation.readArguments(args);
  const result = await scope.ctx.doing.during(name, () => operation.run(scope, read));
  if (!LOOKS.has(name)) await note(scope, name, read);
  return result;
}

/** In the audit log: a change that was made. */
async function note({ ctx, by }: Scope, name: OperationName, args: object): Promise<void> {
  const entry = { via: 'command' as const, who: by, action: name, accountId: null, address: null };
  // The email to send is content; that of the others is an address.
  const facts = name === 'email.send' ? { ...args, email: null } : { ...args };
  await audit(ctx, { ...entry, facts });
}

/** The same for a name that came over the socket. Throws `OperatorError` also for one that is not in the table. */
export async function runOperation(scope: Scope, name: string, args: unknown): Promise<unknown> {
  if (isOperationName(name)) return await perform(scope, name, args);
  throw new OperatorError(
    `The server does not know the operation ${name}.`,
    'The server and this command are of different versions: restart the server.',
  );
}
