/**
 * Sending domains over HTTP: add, list, look at, check now, remove.
 *
 * The work is in `flow/domains.ts`; here are the two spellings of the name and the shapes.
 */
import { Type } from '@sinclair/typebox';
import { validationFailed } from '../base/errors.ts';
import { requiredRecords } from '../flow/domain-records.ts';
import { addDomain, domainOf, removeDomain, verifyDomain } from '../flow/domains.ts';
import { defineRoute, type Route } from './route.ts';
import { bodyOf, refusalFor } from './shapes/check.ts';
import { deletion, whole, wholeList } from './shapes/common.ts';
import {
  Domain,
  domainCheck,
  domainDetail,
  DomainSummary,
  domainSummary,
  DomainVerify,
} from './shapes/domain-answers.ts';

const TAG = 'Domains';

const CreateDomain = bodyOf(
  Type.Object(
    {
      name: Type.Optional(Type.String({ minLength: 1, examples: ['example.com'] })),
      domain: Type.Optional(Type.String({ description: 'Older spelling of `name`.' })),
      region: Type.Optional(Type.Unknown({ description: 'Accepted and ignored.' })),
    },
    { title: 'CreateDomain' },
  ),
);

export const domainRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/domains',
    access: 'full',
    body: CreateDomain,
    text: { tag: TAG, summary: 'Add a domain' },
    success: { status: 201, schema: Domain, description: 'With the two records to publish.' },
    errors: ['conflict'],
    async handle({ api: { ctx }, identity, body }) {
      const name = body.name ?? body.domain;
      if (name === undefined) {
        throw refusalFor([{ path: 'name', message: 'Missing `name` field.', isMissing: true }]);
      }
      if (body.domain !== undefined && body.domain !== name) {
        throw validationFailed([{ path: 'domain', message: 'domain and name must be the same.' }]);
      }
      const domain = await addDomain(ctx, identity.account, name);
      return { status: 201, body: domainDetail(domain, requiredRecords(ctx, domain), ctx.config) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/domains',
    access: 'full',
    text: { tag: TAG, summary: 'List domains' },
    success: { status: 200, schema: wholeList(DomainSummary), description: 'All domains.' },
    async handle({ api: { ctx }, identity }) {
      const domains = await ctx.store.domains(identity.account.id);
      return {
        status: 200,
        body: whole(domains.map((domain) => domainSummary(domain, ctx.config))),
      };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/domains/:id',
    access: 'full',
    text: { tag: TAG, summary: 'Retrieve a domain' },
    success: { status: 200, schema: Domain, description: 'With the two records to publish.' },
    async handle(call) {
      const { ctx } = call.api;
      const domain = await domainOf(ctx, call.identity.account.id, call.params['id'] ?? '');
      return { status: 200, body: domainDetail(domain, requiredRecords(ctx, domain), ctx.config) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/domains/:id/verify',
    access: 'full',
    text: { tag: TAG, summary: 'Check the DNS records now' },
    success: { status: 200, schema: DomainVerify, description: 'What was found.' },
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
    text: { tag: TAG, summary: 'Remove a domain' },
    success: { status: 200, schema: deletion('domain', 'revoked'), description: 'Removed.' },
    async handle(call) {
      const id = call.params['id'] ?? '';
      await removeDomain(call.api.ctx, call.identity.account.id, id);
      return { status: 200, body: { object: 'domain', id, deleted: true, status: 'revoked' } };
    },
  }),
];
