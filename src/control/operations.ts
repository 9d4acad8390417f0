/**
 * The table of everything an operator can do to the data, by name. Commands send these names.
 *
 * Promises that a command does the same beside a running server and without one, because both run this table.
 */
import { OperatorError } from '../base/errors.ts';
import { ACCOUNT_OPERATIONS } from './accounts.ts';
import { BACKUP_OPERATIONS } from './backup.ts';
import { DOMAIN_OPERATIONS } from './domains.ts';
import type { Operation, Scope } from './operation.ts';
import type { Arguments } from './protocol.ts';
import { QUEUE_OPERATIONS } from './queue.ts';
import { RELOAD_OPERATIONS } from './reload.ts';
import { SUPPRESSION_OPERATIONS } from './suppressions.ts';
import { WEBHOOK_OPERATIONS } from './webhooks.ts';

const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...ACCOUNT_OPERATIONS,
  ...DOMAIN_OPERATIONS,
  ...QUEUE_OPERATIONS,
  ...RELOAD_OPERATIONS,
  ...BACKUP_OPERATIONS,
  ...SUPPRESSION_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
};

/** Runs one operation. Throws `OperatorError` for a name that is not in the table, else what the operation throws. */
export async function runOperation(scope: Scope, name: string, args: Arguments): Promise<unknown> {
  const operation = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (operation === undefined) {
    throw new OperatorError(
      `the server does not know the operation ${name}`,
      'Server and command are of different versions: restart the server.',
    );
  }
  return await operation(scope, args);
}
