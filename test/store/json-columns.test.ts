/** JSON columns give back what was written, and refuse what the store never writes. */
import { describe, expect, test } from 'bun:test';

import {
  headersOf,
  listText,
  recordStatesOf,
  stringsOf,
  tagsOf,
} from '../../src/store/json-columns.ts';

describe('JSON columns', () => {
  test('give back what was written', () => {
    const strings = ['a@example.org', '"Ünï" <b@example.org>'];
    expect(stringsOf(listText(strings))).toEqual(strings);
    const tags = [{ name: '__proto__', value: '' }];
    expect(tagsOf(listText(tags))).toEqual(tags);
    expect([stringsOf(listText([])), tagsOf(listText([])), headersOf(null)]).toEqual([[], [], []]);
    expect(headersOf('[["X-Order","1"]]')).toEqual([['X-Order', '1']]);
    expect(recordStatesOf('{"DKIM":"verified"}')).toEqual({ DKIM: 'verified' });
  });

  test.each([
    ['strings', stringsOf, ['{}', '[1]', 'null', '"a"', '[']],
    ['tags', tagsOf, ['[["a","b"]]', '[{"name":"a"}]', '[null]', '[{"name":"a","value":1}]']],
    ['headers', headersOf, ['[["a"]]', '[["a","b","c"]]', '[{"a":"b"}]', '{}']],
    [
      'record states',
      recordStatesOf,
      ['[]', '{"DKIM":"fine"}', '{"DKIM":null}', '{"SPF":"toString"}'],
    ],
  ])('of %s refuse anything else', (_name, decode, texts) => {
    for (const text of texts) expect(() => decode(text)).toThrow();
  });
});
