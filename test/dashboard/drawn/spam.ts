/** The tab of the spam score, with each end of a check, for each reader. */
import { spamTab } from '../../../src/dashboard/pages/inbox-spam.ts';
import type { SpamScore } from '../../../src/flow/upkeep/spam-answer.ts';
import type { SpamCheck } from '../../../src/flow/upkeep/spam-checks.ts';
import { type Drawing, markup, NOW, visitOf } from './page.ts';

const ACTIONS = [
  'no action',
  'greylist',
  'soft reject',
  'add header',
  'rewrite subject',
  'quarantine',
  'reject',
  'discard',
  'make <tea>',
];

const scored = (change: Partial<SpamScore>): SpamCheck => ({
  kind: 'scored',
  at: NOW,
  score: {
    points: 12.676,
    required: 15,
    action: 'add header',
    isPartial: false,
    rules: [
      { name: 'A', points: 8, description: 'Is <bad>', options: ['x', 'y'] },
      { name: 'B', points: 0.125, description: '', options: [] },
      { name: 'C', points: 0, description: 'Noted', options: [] },
      { name: 'D', points: -0.2, description: '', options: ['z'] },
    ],
    more: 0,
    ...change,
  },
});

const failed = (statusCode: number | null): SpamCheck => ({
  kind: 'failed',
  url: 'http://127.0.0.1:11333',
  reason: 'the connection was refused',
  statusCode,
});

const tab = (check: SpamCheck, mayChange = true, emulation: object | null = null): string =>
  markup(spamTab(visitOf({ mayChange, ctx: { emulation } }), check));

const OFF = { kind: 'off' } as const;
export const SPAM: readonly Drawing[] = [
  ['off', () => tab(OFF)],
  ['off in an emulator', () => tab(OFF, true, {})],
  ['off for a reader', () => tab(OFF, false)],
  ['too large', () => tab({ kind: 'too_large', maxBytes: 10 * 1024 * 1024 })],
  ['busy', () => tab({ kind: 'busy' })],
  ['failed', () => tab(failed(null))],
  ['failed with a status', () => tab(failed(401))],
  ['failed in an emulator', () => tab(failed(null), true, {})],
  ['failed with a status in an emulator', () => tab(failed(500), true, {})],
  ['failed for a reader', () => tab(failed(401), false)],
  ['scored', () => tab(scored({}))],
  [
    'no limit, part of the rules',
    () => tab(scored({ required: null, isPartial: true, rules: [] })),
  ],
  ['below zero, one rule more', () => tab(scored({ points: -1.236, more: 1, rules: [] }))],
  ['two rules more', () => tab(scored({ required: 6.5, more: 2, rules: [] }))],
  ...ACTIONS.map((action): Drawing => [action, () => tab(scored({ action, rules: [] }))]),
];
