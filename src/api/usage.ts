/**
 * Usage over HTTP: what the account has sent this month against what its plan allows.
 */
import { Type } from '@sinclair/typebox';
import { usageOf } from '../flow/usage.ts';
import { defineRoute, type Route } from './route.ts';
import { nullable } from './shapes/common.ts';

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
    text: { tag: 'Logs and usage', summary: 'Usage of this month' },
    success: { status: 200, schema: Usage, description: 'Usage against the plan.' },
    handle: async ({ api, identity }) => ({
      status: 200,
      body: await usageOf(api.ctx, identity.account),
    }),
  }),
];
