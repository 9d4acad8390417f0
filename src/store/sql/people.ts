/**
 * Reads of the operators: who may sign in to the dashboard.
 *
 * Promises all of them, by name. The audit log, which is read along its positions, is each engine's own.
 */
import { stringsOf } from '../json-columns.ts';
import type { Operator, PeopleStore } from '../people.ts';
import type { SqlReader, SqlValue } from './reader.ts';

interface OperatorRow extends Omit<Operator, 'recoveryCodes'> {
  /** JSON list. */
  recoveryHashes: string;
}

const SELECT_OPERATOR =
  'SELECT id, name, role, account_id AS "accountId", password_hash AS "passwordHash",' +
  ' sealed_totp AS "sealedTotp", recovery_hashes AS "recoveryHashes", created_at AS "createdAt",' +
  ' signed_in_at AS "signedInAt" FROM operators';
const OPERATORS = SELECT_OPERATOR + ' ORDER BY name';
const OPERATOR = SELECT_OPERATOR + ' WHERE id = ?';
const OPERATOR_NAMED = SELECT_OPERATOR + ' WHERE name = ?';

function operatorOf({ recoveryHashes, ...row }: OperatorRow): Operator {
  return { ...row, recoveryCodes: stringsOf(recoveryHashes).length };
}

export function operatorReads(
  sql: SqlReader,
): Pick<PeopleStore, 'operators' | 'operator' | 'operatorNamed'> {
  const one = async (text: string, value: SqlValue): Promise<Operator | null> => {
    const row = await sql.one<OperatorRow>(text, value);
    return row === null ? null : operatorOf(row);
  };
  return {
    operators: async () => (await sql.all<OperatorRow>(OPERATORS)).map(operatorOf),
    operator: (id) => one(OPERATOR, id),
    operatorNamed: (name) => one(OPERATOR_NAMED, name),
  };
}
