/** What pages are made of: each kind of field as it stands, refused and prefixed, charts at their edges, words and notices. */
import { chart, type Chart } from '../../../src/dashboard/frame/chart.ts';
import { difference } from '../../../src/dashboard/frame/difference.ts';
import { fieldOf, type FieldSpec, filters, form } from '../../../src/dashboard/frame/form.ts';
import { noticeOf } from '../../../src/dashboard/frame/notices.ts';
import type { RefusedForm } from '../../../src/dashboard/frame/visit.ts';
import { headlineOf } from '../../../src/dashboard/pages/email-headline.ts';
import { MESSAGE_STATUSES } from '../../../src/base/status.ts';
import { type Drawing, markup, visitOf } from './page.ts';

const OPTIONS = [
  ['a', 'A <1>'],
  ['b', 'B'],
] as const;
const FIELDS: readonly FieldSpec[] = [
  { kind: 'text', name: 'plain', label: 'Plain <1>' },
  {
    kind: 'text',
    type: 'number',
    name: 'full',
    label: 'Full',
    value: 0,
    required: true,
    maxLength: 1,
    placeholder: 'p"',
    autocomplete: 'off',
    hint: 'A <hint>.',
  },
  { kind: 'text', type: 'password', name: 'secret', label: 'Secret', value: 'preset' },
  { kind: 'area', name: 'area', label: 'Area', value: '\n<t>', hint: 'H' },
  { kind: 'area', name: 'long', label: 'Long', value: null, rows: 9, maxLength: 7 },
  { kind: 'select', name: 'one', label: 'One', value: 'b', options: OPTIONS, hint: 'H' },
  { kind: 'select', name: 'none', label: 'None', value: null, options: OPTIONS },
  {
    kind: 'checks',
    name: 'many',
    label: 'Many <1>',
    values: ['b'],
    options: [...OPTIONS, ['c', 'C', true]],
    hint: 'H',
  },
  { kind: 'checks', name: 'bare', label: 'Bare', options: OPTIONS },
  { kind: 'check', name: 'on', label: 'On <1>', checked: true, hint: 'H' },
  { kind: 'check', name: 'off', label: 'Off' },
  { kind: 'file', name: 'file', label: 'File', accept: '.csv', hint: 'H' },
  { kind: 'hidden', name: 'hidden', value: '"h"' },
];
const NAMES = FIELDS.map(({ name }) => name);

const refused = (fields: string, issues: readonly [string, string][]): RefusedForm => ({
  action: '/to',
  fields: new URLSearchParams(fields),
  issues: new Map(issues),
  message: null,
});
const WRITTEN = NAMES.map((name) => `${name}=%3Cwritten%3E`).join('&');

const shown = (of: RefusedForm | null, prefix?: string): string =>
  FIELDS.map((field) => markup(fieldOf(field, of, prefix))).join('\n');

const bare = (more: Partial<Chart>): string =>
  markup(
    chart({
      title: 'T <1>',
      over: 'Over',
      columns: ['c1', 'c2'],
      ticks: ['t1', 't2 <1>'],
      series: [
        { key: 'delivered', label: 'D <1>', values: [1, 0] },
        { key: 'failed', label: 'F', values: [2] },
      ],
      words: (value) => `${value}w`,
      ...more,
    }),
  ).replaceAll(/<(g|line)\s.*?(<\/g\s*>|\/>)/gs, (part) => part.replaceAll('\n', ' '));

/** What a message says of itself whose recipients ended so. */
function headlines(): string {
  const of = (...list: readonly string[]): string => {
    const { words, tone } = headlineOf(
      list.map((status) => ({
        status: status.replace('*', '') as (typeof MESSAGE_STATUSES)[number],
        nextAttemptAt: status.endsWith('*') ? 1 : null,
      })),
    );
    return `${list.join(', ') || 'none'}: ${words} (${tone})`;
  };
  const all = [...MESSAGE_STATUSES, 'queued*', 'delivery_delayed*', 'bounced*'];
  return [
    of(),
    ...all.map((one) => of(one)),
    ...all.map((one) => of(one, one)),
    ...all.map((one) => of(one, 'delivered', one)),
    of(...MESSAGE_STATUSES, 'delivered'),
  ].join('\n');
}

/** What a query says was done. */
function notices(): string {
  const done = (
    'saved added removed inbox_cleared account_added domain_added host_checked checked key_made key_activated ' +
    'revoked enabled endpoint_disabled retried failed replayed halted resumed drain_asked sent'
  ).split(' ');
  const counts = ['0', '1', '007', '999999999', '1000000000', '-1', '1.5', 'x', ''];
  return done
    .map((word) => `done=${word}`)
    .concat('', 'done=', 'done=none', 'done=toString', 'count=3', 'done=Saved')
    .concat(counts.map((count) => `done=retried&count=${count}`))
    .map((query) => `${query}: ${noticeOf(new URLSearchParams(query)) ?? 'nothing'}`)
    .join('\n');
}

const DIFFERENCES: readonly (readonly [string, string])[] = [
  ['abc', 'abc'],
  ['abc', 'axc'],
  ['abc', 'ac'],
  ['ac', 'abc'],
  ['abc', ''],
  ['', 'abc'],
  ['aa', 'aaa'],
  ['aaa', 'aa'],
  ['<a>', '<b>'],
  ['abcd', 'abXYcd'],
];

const visit = visitOf({});
export const FRAME: readonly Drawing[] = [
  ['fields', () => shown(null)],
  [
    'fields that were refused with all their messages',
    () =>
      shown(
        refused(
          WRITTEN,
          NAMES.map((name) => [name, `Not <${name}>.`]),
        ),
      ),
  ],
  ['fields of a refused form that had none of them', () => shown(refused('other=x', []))],
  [
    'fields with messages for their parts',
    () =>
      shown(
        refused('many=a&many=c&bare=b&one=a&on=on', [
          ['many[1]', 'No c.'],
          ['many', 'Not both.'],
          ['full.from', 'Too early.'],
          ['plainer', 'Of another.'],
          ['', 'Of none.'],
        ]),
      ),
  ],
  ['fields with a prefix', () => shown(null, 'p')],
  [
    'a form with words beside its button',
    () =>
      markup(
        form(visit, {
          to: '/to?a=1&b=2',
          fields: FIELDS.slice(0, 1),
          submit: 'Go <1>',
          kind: 'danger',
          beside: 'B',
        }),
      ),
  ],
  [
    'a refused form with an id',
    () =>
      markup(
        form(
          { ...visit, refused: refused('plain=x', [['plain', 'No.']]) },
          { to: '/to', id: 'i', fields: FIELDS.slice(0, 1), submit: 'Go' },
        ),
      ),
  ],
  ['filters', () => markup(filters('/list', FIELDS.slice(0, 1)))],
  ['a chart', () => bare({})],
  ['a chart without columns', () => bare({ columns: [], ticks: [], series: [] })],
  ['a chart of nothing', () => bare({ series: [{ key: 'used', label: 'U', values: [0, 0] }] })],
  [
    'a chart of less than nothing, with a line that is reached',
    () =>
      bare({
        series: [{ key: 'used', label: 'U', values: [-1, 10] }],
        lines: [{ value: 10, label: 'L <1>', tone: 'fair' }],
        totals: ['T1'],
      }),
  ],
  [
    'a whole chart with a line at zero',
    () =>
      bare({
        series: [{ key: 'used', label: 'U', values: [3, 5] }],
        isWhole: true,
        lines: [{ value: 0, label: 'Z', tone: 'bad' }],
      }),
  ],
  ['headlines', headlines],
  ['notices', notices],
  [
    'differences',
    () => DIFFERENCES.map(([one, other]) => `${one}: ${markup(difference(one, other))}`).join('\n'),
  ],
];
