/** Sending domains, as the operator handles them: by name, and by account where two have the same. */
import { ApiError } from '../base/errors.ts';
import { allRecords } from '../flow/domain-records.ts';
import { addDomain, removeDomain, verifyDomain } from '../flow/domains.ts';
import type { Domain } from '../store/rows.ts';
import { chosenAccounts, oneAccount } from './accounts.ts';
import type { Owned } from './accounts.ts';
import { textOf, textOrNull } from './operation.ts';
import type { Operation, Scope } from './operation.ts';
import type { Arguments } from './protocol.ts';

/** A domain without its private key, which does not leave the process. */
export type PublicDomain = Omit<Domain, 'sealedDkimKey'>;

function withoutKey(domain: Domain): PublicDomain {
  const { sealedDkimKey: _, ...rest } = domain;
  return rest;
}

async function listDomains(scope: Scope, account: string | null): Promise<Owned<Domain>[]> {
  const accounts = await chosenAccounts(scope, account);
  const lists = await Promise.all(
    accounts.map(async ({ id, name }) =>
      (await scope.ctx.store.domains(id)).map((domain) => ({ ...domain, account: name })),
    ),
  );
  return lists.flat();
}

/** The one domain of this name, in the named account or in any. */
async function chosenDomain(scope: Scope, args: Arguments): Promise<Domain> {
  const name = textOf(args, 'name').toLowerCase();
  const all = await listDomains(scope, textOrNull(args, 'account'));
  const [domain, second] = all.filter((one) => one.name === name || one.id === name);
  if (domain === undefined) throw new ApiError('not_found', `There is no domain ${name}.`);
  if (second !== undefined) {
    throw new ApiError(
      'conflict',
      `The accounts ${domain.account} and ${second.account} both have ${name}: name one with --account.`,
    );
  }
  return domain;
}

export const DOMAIN_OPERATIONS: Record<string, Operation> = {
  'domain.add': async (scope, args) => {
    const { ctx } = scope;
    const account = await oneAccount(scope, args);
    const domain = await addDomain(ctx, account, textOf(args, 'name'));
    return { domain: withoutKey(domain), records: allRecords(ctx, domain) };
  },
  'domain.list': async (scope, args) =>
    (await listDomains(scope, textOrNull(args, 'account'))).map(({ account, ...domain }) => ({
      ...withoutKey(domain),
      account,
    })),
  'domain.records': async (scope, args) => {
    const domain = await chosenDomain(scope, args);
    return { domain: withoutKey(domain), records: allRecords(scope.ctx, domain) };
  },
  'domain.verify': async (scope, args) => {
    const { id, accountId } = await chosenDomain(scope, args);
    const verification = await verifyDomain(scope.ctx, accountId, id);
    return { ...verification, domain: withoutKey(verification.domain) };
  },
  'domain.remove': async (scope, args) => {
    const { id, accountId, name } = await chosenDomain(scope, args);
    await removeDomain(scope.ctx, accountId, id);
    return { id, name };
  },
};
