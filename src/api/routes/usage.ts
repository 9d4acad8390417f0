/**
 * Usage over HTTP: what the account has sent this month, and what its plan allows.
 */
import { Type } from '@sinclair/typebox';
import { usageOf } from '../../flow/accounts/usage.ts';
import { defineRoute, type Route } from './route.ts';
import { nullable } from '../shapes/common.ts';

const MaybeCount = nullable(Type.Integer());

const Usage = Type.Object(
  {
    period: Type.String({ pattern: '^\\d{4}-\\d{2}$', examples: ['2026-11'] }),
    periodDays: Type.Literal(30),
    plan: Type.Object({
      id: Type.String(),
      includedEmails: MaybeCount,
      overageSenPerThousand: MaybeCount,
      maxDomains: Type.Integer(),
      dailyLimit: MaybeCount,
      logRetentionDays: Type.Integer(),
      ratePerSecond: Type.Number(),
    }),
    usage: Type.Object({
      usedThisMonth: Type.Integer(),
      includedEmails: MaybeCount,
      overage: Type.Integer(),
      overageBlocks: Type.Integer(),
      overageChargedSen: Type.Integer(),
      overageCapSen: MaybeCount,
      percent: Type.Number(),
    }),
    storage: Type.Object(
      { usedBytes: Type.Integer(), limitBytes: MaybeCount },
      { description: 'Bytes of content that the account keeps now, and the limit of its plan.' },
    ),
    counts: Type.Record(Type.String(), Type.Integer(), {
      description: 'Messages of the last 30 days by status.',
    }),
  },
  { title: 'Usage' },
);

export const usageRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/usage',
    access: 'full',
    text: {
      id: 'getUsage',
      clauses: ['C16.1', 'C16.2'],
      tag: 'Logs and usage',
      summary: 'Retrieve the usage of this month',
    },
    success: { status: 200, schema: Usage, description: 'The usage and the limits of the plan.' },
    handle: async ({ api, identity }) => ({
      status: 200,
      body: await usageOf(api.ctx, identity.account, identity.key.isTest),
    }),
  }),
];
