/**
 * Sending domains as the operator handles them: by name, and by account where two accounts have the same one.
 *
 * Promises that a domain's private key never leaves the process, sealed or not.
 */
import { Type } from '@sinclair/typebox';

import { ApiError } from '../base/errors.ts';
import { addDomain, removeDomain, verifyDomain } from '../flow/domains/domains.ts';
import { allRecords, dkimName } from '../flow/domains/records.ts';
import { activateKey, prepareKey } from '../flow/domains/rotation.ts';
import type { Domain } from '../store/rows.ts';
import { acrossAccounts, chosenAccounts, ofEach, oneAccount } from './accounts.ts';
import { domainNamed } from './domain-name.ts';
import { operation } from './operation.ts';
import type { Scope } from './operation.ts';
import { DomainShape, RecordShape, Text, orNull } from './shapes.ts';
import type { PublicDomain } from './shapes.ts';

function publicDomain(domain: Domain): PublicDomain {
  const { id, name, status, createdAt, verifiedAt, lastCheckedAt } = domain;
  return { id, name, status, createdAt, verifiedAt, lastCheckedAt };
}

interface Choice {
  name: string;
  account: string | null;
}

/** The one domain of this name or id, in the named account or in any. Throws `ApiError`. */
async function chosenDomain(scope: Scope, { name, account }: Choice): Promise<Domain> {
  const wanted = domainNamed(name);
  const { store } = scope.ctx;
  const accounts = await chosenAccounts(scope, account);
  const found = await ofEach(accounts, async ({ id, name: of }) => {
    const one = (await store.domainByName(id, wanted)) ?? (await store.domain(id, wanted));
    return one && { ...one, account: of };
  });
  const [domain, second] = found.filter((one) => one !== null);
  if (domain === undefined) throw new ApiError('not_found', `There is no domain ${wanted}.`);
  if (second !== undefined) {
    throw new ApiError(
      'conflict',
      `The accounts ${domain.account} and ${second.account} both have ${wanted}: name one with --account.`,
    );
  }
  return domain;
}

const CHOICE = { name: Text, account: orNull(Text) };
const WITH_RECORDS = Type.Object({ domain: DomainShape, records: Type.Array(RecordShape) });

export const DOMAIN_OPERATIONS = {
  'domain.add': operation(CHOICE, WITH_RECORDS, async (scope, { name, account }) => {
    const { ctx } = scope;
    const domain = await addDomain(ctx, await oneAccount(scope, account), name);
    return {
      domain: publicDomain(domain),
      records: allRecords(ctx.config.startup.cluster.name, domain),
    };
  }),
  'domain.list': operation(
    { account: orNull(Text) },
    Type.Array(Type.Composite([DomainShape, Type.Object({ account: Type.String() })])),
    async (scope, { account }) => {
      const { store } = scope.ctx;
      return acrossAccounts(scope, account, (id, part) => store.domains(id, part), publicDomain);
    },
  ),
  'domain.records': operation(CHOICE, WITH_RECORDS, async (scope, choice) => {
    const domain = await chosenDomain(scope, choice);
    return {
      domain: publicDomain(domain),
      records: allRecords(scope.ctx.config.startup.cluster.name, domain),
    };
  }),
  'domain.verify': operation(
    CHOICE,
    Type.Object({
      domain: DomainShape,
      isDnsReady: Type.Boolean(),
      isProven: Type.Boolean(),
      records: Type.Array(
        Type.Composite([
          RecordShape,
          Type.Object({ found: Type.Boolean(), reason: orNull(Type.String()) }),
        ]),
      ),
    }),
    async (scope, choice) => {
      const { id, accountId } = await chosenDomain(scope, choice);
      const verification = await verifyDomain(scope.ctx, accountId, id);
      return { ...verification, domain: publicDomain(verification.domain) };
    },
  ),
  'domain.rotate_key': operation(
    { ...CHOICE, activate: Type.Boolean() },
    Type.Object({
      domain: DomainShape,
      record: RecordShape,
      activated: Type.Boolean(),
      old_record: orNull(Type.Object({ name: Type.String(), removable_at: Type.String() })),
    }),
    async (scope, choice) => {
      const domain = await chosenDomain(scope, choice);
      const { record, isActive, old } = choice.activate
        ? await activateKey(scope.ctx, domain)
        : await prepareKey(scope.ctx, domain);
      return {
        domain: publicDomain(domain),
        record,
        activated: isActive,
        old_record: old && {
          name: dkimName({ name: domain.name, selector: old.selector }),
          removable_at: new Date(old.removableAt).toISOString(),
        },
      };
    },
  ),
  'domain.remove': operation(
    CHOICE,
    Type.Object({ id: Type.String(), name: Type.String() }),
    async (scope, choice) => {
      const { id, accountId, name } = await chosenDomain(scope, choice);
      await removeDomain(scope.ctx, accountId, id);
      return { id, name };
    },
  ),
};
