/** What an owner is told about DMARC, for every state that DNS can be in. */
import { expect, test } from 'bun:test';
import { dmarcAdvice } from '../../../src/flow/domains/dmarc-advice.ts';
import type { SeenRecord } from '../../../src/store/domains.ts';

const OWN = '_dmarc.mail.acme.example';
const seen = (values: string[], more: Partial<SeenRecord> = {}): SeenRecord => ({
  at: OWN,
  values,
  problem: null,
  ...more,
});
const lacking = (values: string[]): SeenRecord => seen(values, { problem: 'no valid record' });

test.each([
  ['before the first check', undefined, 'warning', 'Publish the record'],
  ['nothing', lacking([]), 'warning', 'There is no policy for mail.acme.example'],
  ['another TXT', lacking(['hello']), 'warning', 'There is no policy'],
  ['two', lacking(['v=DMARC1; p=none', 'v=DMARC1; p=reject']), 'warning', 'There are 2'],
  ['no policy', lacking(['v=DMARC1']), 'warning', 'no valid policy'],
  ['no policy, with blanks', lacking(['V = DMARC1; p=maybe']), 'warning', 'no valid policy'],
  ['none', seen(['v=DMARC1; p=none;']), 'warning', 'Add rua=mailto:'],
  ['none with reports to nobody', seen(['v=DMARC1; p=none; rua=']), 'warning', 'Add rua=mailto:'],
  ['none with reports', seen(['v=DMARC1; p=none; rua=mailto:a@b.example']), 'ok', 'p=quarantine'],
  ['quarantine', seen(['v=DMARC1; p=Quarantine']), 'ok', 'p=reject'],
  ['reject', seen(['v=DMARC1;p=reject']), 'ok', 'the best protection'],
  [
    'that of the parent',
    seen(['v=DMARC1; p=reject; sp=none'], { at: '_dmarc.acme.example' }),
    'warning',
    'The policy of _dmarc.acme.example applies (none).',
  ],
  ['its own, without sp', seen(['v=DMARC1; p=reject; sp=none']), 'ok', 'Receivers reject'],
] as const)('%s', (_, record, level, words) => {
  const advice = dmarcAdvice('mail.acme.example', record);
  expect(advice).toMatchObject({ level });
  expect(advice.words).toContain(words);
});

test.each([
  ['p=reject', 'reject', 'Receivers reject what fails'],
  ['p=none; sp=quarantine', 'quarantine', 'Receivers put what fails into spam'],
  ['p=none; rua=mailto:a@b.example', 'none', 'Receivers report and deliver everything'],
  ['p=none', 'none', 'Receivers deliver everything, and nobody'],
])('where %s is inherited, it says from where, first of all', (record, policy, words) => {
  const parent = seen([`v=DMARC1; ${record}`], { at: '_dmarc.acme.example' });
  const begin = `The policy of _dmarc.acme.example applies (${policy}). ${words}`;
  expect(dmarcAdvice('mail.acme.example', parent).words).toStartWith(begin);
});
