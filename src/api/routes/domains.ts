/**
 * Sending domains over HTTP: add, list, retrieve, change, check now, remove.
 *
 * The work is in flow/domains; here are the two spellings of the name and the shapes.
 */
import { Type } from '@sinclair/typebox';
import { validationFailed } from '../../base/errors.ts';
import type { Context } from '../../flow/context.ts';
import { requiredRecords } from '../../flow/domains/records.ts';
import { addDomain, domainOf, removeDomain, verifyDomain } from '../../flow/domains/domains.ts';
import type { ListPart } from '../../store/pages.ts';
import type { Domain as DomainRow } from '../../store/rows.ts';
import { listBody } from './long-list.ts';
import { defineRoute, type Route } from './route.ts';
import { bodyOf, refusalFor } from '../shapes/check.ts';
import { deletion, Id, wholeList, wholePage } from '../shapes/common.ts';
import { changeFaults, DomainChange } from '../shapes/domain-change.ts';
import {
  Domain,
  domainCheck,
  domainDetail,
  DomainSummary,
  domainSummary,
  DomainVerify,
} from '../shapes/domain-response.ts';
import { WholeListQuery } from '../shapes/query.ts';

const TAG = 'Domains';
/** Each new domain costs a key of 2048 bits, a tenth of a second of one core. */
const ADDED_PER_MINUTE = 60;
/** Each check asks DNS servers of others. */
const CHECKS_PER_MINUTE = 60;

const CreateDomain = bodyOf(
  Type.Object(
    {
      name: Type.Optional(Type.String({ minLength: 1, examples: ['example.com'] })),
      domain: Type.Optional(Type.String({ description: 'Older spelling of `name`.' })),
      region: Type.Optional(Type.Unknown({ description: 'Accepted and ignored.' })),
    },
    { title: 'CreateDomain', anyOf: [{ required: ['name'] }, { required: ['domain'] }] },
  ),
);

const ChangeDomain = bodyOf(DomainChange);

/** A domain with its records, as the routes show it that return one. */
function detailOf({ config }: Pick<Context, 'config'>, domain: DomainRow) {
  const records = requiredRecords(config.startup.cluster.name, domain);
  return domainDetail(domain, records, config.live.api.region);
}

export const domainRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/domains',
    access: 'full',
    isLiveOnly: true,
    perMinute: ADDED_PER_MINUTE,
    body: CreateDomain,
    text: {
      id: 'addDomain',
      clauses: ['C10.2', 'C10.11', 'C10.12'],
      tag: TAG,
      summary: 'Add a domain',
    },
    success: {
      status: 201,
      schema: Domain,
      description: 'The domain with the two DNS records to publish.',
    },
    errors: ['conflict'],
    async handle({ api: { ctx }, identity, body }) {
      const name = body.name ?? body.domain;
      if (name === undefined) {
        throw refusalFor([{ path: 'name', message: 'Missing `name` field.', isMissing: true }]);
      }
      if (body.domain !== undefined && body.domain !== name) {
        throw validationFailed([
          { path: 'domain', message: 'domain and name must be equal. Send one of them.' },
        ]);
      }
      const domain = await addDomain(ctx, identity.account, name);
      return {
        status: 201,
        body: detailOf(ctx, domain),
      };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/domains',
    access: 'full',
    query: WholeListQuery,
    text: { id: 'listDomains', clauses: ['C10.6'], tag: TAG, summary: 'List domains' },
    success: { status: 200, schema: wholeList(DomainSummary), description: 'All domains.' },
    async handle({ api: { ctx }, identity, query }) {
      const { account, key } = identity;
      if (key.isTest) return { status: 200, body: wholePage([], query) };
      const { region } = ctx.config.live.api;
      const source = {
        read: (part: ListPart) => ctx.store.domains(account.id, part),
        show: (domain: DomainRow) => domainSummary(domain, region),
      };
      return { status: 200, body: await listBody(source, query, ctx.log) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/domains/:id',
    access: 'full',
    isLiveOnly: true,
    text: { id: 'getDomain', clauses: ['C10.3', 'C10.6'], tag: TAG, summary: 'Retrieve a domain' },
    success: {
      status: 200,
      schema: Domain,
      description: 'The domain with the two DNS records to publish.',
    },
    async handle(call) {
      const { ctx } = call.api;
      const domain = await domainOf(ctx, call.identity.account.id, call.params['id'] ?? '');
      return {
        status: 200,
        body: detailOf(ctx, domain),
      };
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: '/domains/:id',
    access: 'full',
    isLiveOnly: true,
    body: ChangeDomain,
    text: {
      id: 'changeDomain',
      clauses: ['C10.13'],
      tag: TAG,
      summary: 'Change a domain',
      description:
        'For client libraries: a domain has no settings, and what would change one is refused.',
    },
    success: {
      status: 200,
      schema: Type.Object({ object: Type.Literal('domain'), id: Id }),
      description: 'The request changed nothing.',
    },
    async handle(call) {
      const { id } = await domainOf(
        call.api.ctx,
        call.identity.account.id,
        call.params['id'] ?? '',
      );
      const faults = changeFaults(call.body);
      if (faults.length > 0) throw refusalFor(faults);
      return { status: 200, body: { object: 'domain', id } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/domains/:id/verify',
    access: 'full',
    isLiveOnly: true,
    perMinute: CHECKS_PER_MINUTE,
    text: {
      id: 'verifyDomain',
      clauses: ['C10.7', 'C10.8'],
      tag: TAG,
      summary: 'Check the DNS records now',
    },
    success: { status: 200, schema: DomainVerify, description: 'The result of the check.' },
    errors: ['provider_error'],
    async handle(call) {
      const check = await verifyDomain(
        call.api.ctx,
        call.identity.account.id,
        call.params['id'] ?? '',
      );
      return { status: 200, body: domainCheck(check) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/domains/:id',
    access: 'full',
    isLiveOnly: true,
    text: { id: 'removeDomain', clauses: ['C10.10'], tag: TAG, summary: 'Remove a domain' },
    success: { status: 200, schema: deletion('domain', 'revoked'), description: 'Removed.' },
    async handle(call) {
      const id = call.params['id'] ?? '';
      await removeDomain(call.api.ctx, call.identity.account.id, id);
      return { status: 200, body: { object: 'domain', id, deleted: true, status: 'revoked' } };
    },
  }),
];
