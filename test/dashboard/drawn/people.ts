/** Operators in the list, and what their forms answer. */
import { operatorPages } from '../../../src/dashboard/pages/operators.ts';
import type { Operator } from '../../../src/store/people.ts';
import { account, type Drawing, NOW, opened, visitOf } from './page.ts';

const operator = (name: string, change: Partial<Operator> = {}): Operator =>
  ({
    id: name,
    name,
    role: 'admin',
    accountId: null,
    passwordHash: '',
    sealedTotp: null,
    recoveryCodes: 0,
    createdAt: 0,
    signedInAt: null,
    ...change,
  }) as unknown as Operator;

const LISTED = [
  operator('anna+1@x', { signedInAt: NOW, sealedTotp: new Uint8Array(1), recoveryCodes: 7 }),
  operator('ben', { role: 'read_only', accountId: 'acc' }),
  operator('bo', { sealedTotp: new Uint8Array(1), recoveryCodes: 1 }),
  operator('cy', { role: 'read_only', accountId: 'gone', recoveryCodes: 3 }),
];

const list = (listed: readonly Operator[], mayChange: boolean) =>
  opened(
    operatorPages,
    'GET',
    '/operators',
    visitOf({
      store: {
        operators: () => listed,
        accounts: () => [account],
        account: (id: string) => Promise.resolve(id === 'acc' ? account : null),
      },
      mayChange,
    }),
  );

export const PEOPLE: readonly Drawing[] = [
  ['operators', () => list(LISTED, true)],
  ['operators for a reader', () => list(LISTED, false)],
  ['none', () => list([], false)],
];
