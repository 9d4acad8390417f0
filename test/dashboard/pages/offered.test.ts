/** A field for one of many, and what is read to find a domain by its name. */
import { expect, test } from 'bun:test';

import { choiceField, domainAsked } from '../../../src/dashboard/pages/offered.ts';
import { newDomain } from '../../store/samples.ts';

const ONE = { name: 'one', label: 'One', none: 'Any' };
const many = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `i${at}`, name: `n${at}` }));

test('a hundred are a select, one more makes it a text field that keeps what was entered', () => {
  const select = choiceField(many(100), { ...ONE, value: 'i99' });
  expect(select).toMatchObject({ kind: 'select', value: 'i99' });
  expect(select.kind === 'select' && [select.options.length, select.options[1]]).toEqual([
    101,
    ['i0', 'n0'],
  ]);
  const field = { kind: 'text', name: 'one', label: 'One', value: ' X' };
  expect(choiceField(many(101), { ...ONE, value: ' X' })).toEqual({
    ...field,
    placeholder: 'name or id',
  } as ReturnType<typeof choiceField>);
  expect(choiceField(many(101), { ...ONE, value: ' X', hint: 'h' })).toEqual({
    ...field,
    hint: 'h',
  } as ReturnType<typeof choiceField>);
});

test('what is asked for is chosen by its id or else by its name, and nothing where it is neither', () => {
  const read = [{ id: 'x', name: 'y' }, ...many(2), { id: 'n0', name: 'z' }];
  for (const [value, chosen] of [
    ['i1', 'i1'],
    ['n1', 'i1'],
    ['n0', 'n0'],
    ['none', ''],
    [null, ''],
  ] as const) {
    const field = choiceField(read, { ...ONE, value });
    expect([value, field.kind === 'select' && field.value]).toEqual([value, chosen]);
  }
});

test('a domain is asked for by its id, then by its name, in lower case', async () => {
  const domain = newDomain('acc', 'x.example');
  const asked: string[] = [];
  const read = (isFound: boolean, as: string) => (accountId: string, text: string) => {
    asked.push(`${as} ${accountId} ${text}`);
    return Promise.resolve(isFound ? domain : null);
  };
  const both = { domain: read(false, 'id'), domainByName: read(true, 'name') };
  expect(await domainAsked(both, 'acc', ' X.Example ')).toBe(domain);
  expect(asked.splice(0)).toEqual(['id acc x.example', 'name acc x.example']);
  expect(await domainAsked({ ...both, domain: read(true, 'id') }, 'acc', 'D')).toBe(domain);
  expect(asked).toEqual(['id acc d']);
});
