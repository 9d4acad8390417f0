/**
 * The port for people: who may sign in to the dashboard, and the audit log of what was changed by whom.
 *
 * Promises that a code is taken once: `takeTotpStep` and `takeRecoveryHash` say in their own commit whether it was still
 * free. Audit rows are never changed; they go by age and by number alone (`purgeAudit`). The store knows hashes and
 * sealed values, never a password or a code.
 */
export type OperatorRole = 'admin' | 'read_only';

export interface Operator {
  id: string;
  name: string;
  role: OperatorRole;
  /** The only account that this operator sees; null: all of the appliance. */
  accountId: string | null;
  passwordHash: string;
  /** Null without a second factor. */
  sealedTotp: Uint8Array | null;
  /** How many recovery codes are left. */
  recoveryCodes: number;
  createdAt: number;
  signedInAt: number | null;
}

export interface AuditEntry {
  /** Epoch milliseconds. */
  at: number;
  via: 'dashboard' | 'command' | 'api';
  who: string;
  action: string;
  target: string;
  accountId: string | null;
  /** Null where there is none. */
  address: string | null;
}

export interface AuditRow extends AuditEntry {
  seq: number;
}

export interface AuditFilter {
  limit: number;
  /** Rows older than this one; null: the newest. */
  before: number | null;
  /** Exactly this name. */
  who: string | null;
}

export interface PeopleStore {
  /** By name. */
  operators(): Promise<Operator[]>;
  operator(id: string): Promise<Operator | null>;
  operatorNamed(name: string): Promise<Operator | null>;
  /** `exists`: the name is in use; `too_many`: there are `max` already. */
  createOperator(operator: Operator, max: number): Promise<'created' | 'exists' | 'too_many'>;
  /** False when there is none. */
  removeOperator(id: string): Promise<boolean>;
  setOperatorPassword(id: string, hash: string): Promise<void>;
  /** Null takes the second factor and its recovery codes away. */
  setOperatorTotp(id: string, sealed: Uint8Array | null, recoveryHashes: string[]): Promise<void>;
  noteSignIn(id: string, at: number): Promise<void>;
  /** False when this or a later step was used. */
  takeTotpStep(id: string, step: number): Promise<boolean>;
  /** False when there is no such code left. */
  takeRecoveryHash(id: string, hash: string): Promise<boolean>;
  addAudit(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  audit(filter: AuditFilter): Promise<AuditRow[]>;
  /** Rows from before `before`, and what is more than the newest `max`; returns how many went. */
  purgeAudit(before: number, max: number): Promise<number>;
}
