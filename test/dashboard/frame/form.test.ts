/**
 * Forms of the dashboard: a refused one keeps what was entered, with each message at its field; another form of the
 * same page is left alone.
 */
import { expect, test } from 'bun:test';

import { type FieldSpec, form } from '../../../src/dashboard/frame/form.ts';
import type { RefusedForm } from '../../../src/dashboard/frame/visit.ts';

const FIELDS: readonly FieldSpec[] = [
  { kind: 'text', name: 'name', label: 'Name', hint: 'Any name.', value: 'before' },
  { kind: 'text', type: 'password', name: 'password', label: 'Password' },
  {
    kind: 'checks',
    name: 'events',
    label: 'Events',
    options: [
      ['a', 'A'],
      ['b', 'B'],
    ],
    values: ['a'],
  },
  {
    kind: 'select',
    name: 'plan',
    label: 'Plan',
    options: [
      ['x', 'X'],
      ['y', 'Y'],
    ],
  },
  { kind: 'check', name: 'sure', label: 'Sure' },
];

function shown(refused: RefusedForm | null): string {
  return String(form({ may: () => true, refused }, { to: '/here', fields: FIELDS, submit: 'Save' }))
    .replace(/\s+/g, ' ')
    .replace(/ ?(<\/?[^>]*?) ?>/g, '$1>');
}

const refused: RefusedForm = {
  action: '/here',
  fields: new URLSearchParams('name=%22%3Cb%3E&password=secret&events=b&plan=y&sure=on'),
  issues: new Map([
    ['name', 'Too short.'],
    ['events[0]', 'No such event.'],
  ]),
  message: null,
};

test('a refused form keeps its values and says what is wrong where it is wrong', () => {
  const text = shown(refused);
  expect(text).toContain('value="&quot;&lt;b&gt;"');
  expect(text).toContain('aria-describedby="f-name-hint f-name-message" aria-invalid="true"');
  expect(text).toContain('<span class="message" id="f-name-message">Too short.</span>');
  expect(text).toContain('<span class="message" id="f-events-message">No such event.</span>');
  expect(text).toMatch(/value="b" checked/);
  expect(text).not.toMatch(/value="a" checked/);
  expect(text).toContain('<option value="y" selected>');
  expect(text).toMatch(/name="sure" value="on" checked/);
});

test('a password is never written back', () => {
  expect(shown(refused)).not.toContain('secret');
});

test('the refusal of another form changes nothing', () => {
  expect(shown({ ...refused, action: '/elsewhere' })).toBe(shown(null));
  expect(shown(null)).toContain('value="before"');
});
