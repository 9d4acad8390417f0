/** `--account`, which many commands take: with one account on the appliance it can be left out. */
import { option } from './parameter.ts';

export const ACCOUNT = option(
  'account',
  'A',
  'Name or id of the account; can be left out while there is only one',
);

/** For lists that show every account unless one is named. */
export const ONLY_ACCOUNT = option('account', 'A', 'Show only this account (name or id)');

/** Where a name may exist in several accounts. */
export const OF_ACCOUNT = option(
  'account',
  'A',
  'Name or id of the account; needed when several accounts have this domain',
);
