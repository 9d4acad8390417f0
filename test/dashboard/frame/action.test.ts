/** Buttons and links: there for those who may use them only, with what they send along. */
import { expect, test } from 'bun:test';
import {
  action,
  actions,
  confirm,
  jumpTo,
  linkButton,
  linkTo,
  together,
} from '../../../src/dashboard/frame/action.ts';

const ALL = { may: () => true };
const NONE = { may: () => false };
/** May look, not change. */
const READER = { may: (method: string) => method === 'GET' };
const flat = (shown: unknown): string =>
  String(shown)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([<>]) ?/g, '$1');

test('an action is a form of POST with its fields, or nothing', () => {
  expect(flat(action(ALL, '/to', 'Do it', 'danger', { id: '"1"' }))).toBe(
    '<form class="inline" method="post" action="/to"><input type="hidden" name="id" value="&quot;1&quot;" /><button class="danger">Do it</button></form>',
  );
  expect(flat(action(ALL, '/to', 'Do it'))).toContain('<button class="plain">');
  expect([action(READER, '/to', 'Do it'), action(NONE, '/to', 'Do it')]).toEqual([null, null]);
});

test('a confirmation says what will happen, and asks with the strength it needs', () => {
  const asked = { to: '/to', label: 'Remove', words: 'Gone <then>.', sure: 'Remove it' };
  const shown = flat(confirm(ALL, { ...asked, fields: { a: '1' }, inputs: 'INPUTS' }));
  expect(shown).toBe(
    '<details class="confirm"><summary class="button danger">Remove</summary>' +
      '<form class="fields" method="post" action="/to"><div>Gone &lt;then&gt;.</div>' +
      '<input type="hidden" name="a" value="1" />INPUTS<button class="danger solid">Remove it</button></form></details>',
  );
  const plain = flat(confirm(ALL, { ...asked, kind: 'plain' }));
  expect(plain).toContain('<summary class="button plain">');
  expect(plain).toContain('<button class="primary">');
  expect([confirm(READER, asked), confirm(NONE, asked)]).toEqual([null, null]);
});

test('links follow the right to look, jumps the right to change', () => {
  expect(flat(linkButton(READER, '/a&b', 'A', 'danger'))).toBe(
    '<a class="button danger" href="/a&amp;b">A</a>',
  );
  expect(linkButton(NONE, '/a', 'A')).toBeNull();
  expect(flat(linkTo(READER, '/a', 'A'))).toBe('<a href="/a">A</a>');
  expect(linkTo(NONE, '/a', 'A')).toBe('A');
  expect(flat(jumpTo(ALL, '/to', 'add', 'Add'))).toBe(
    '<a class="button plain" href="#add">Add</a>',
  );
  expect(jumpTo(READER, '/to', 'add', 'Add')).toBeNull();
});

test('several stand together, in a box where there is any', () => {
  const one = action(ALL, '/1', 'One');
  const two = action(ALL, '/2', 'Two');
  expect(flat(together([one, null, false, two]))).toMatch(/One.*Two/);
  expect(flat(actions([null, one]))).toStartWith('<div class="actions">');
  expect([together([]), together([null, false]), actions([null])]).toEqual([null, null, null]);
});
