/** JSON columns give back what was written, and refuse what the store never writes. */
import { describe, expect, test } from 'bun:test';

import {
  headersOf,
  headersText,
  listText,
  recordStatesOf,
  seenRecordsOf,
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
    expect(headersText([['X-Order', '1']])).toBe('[["X-Order","1"]]');
    expect([headersText([]), listText([]), headersOf('[]')]).toEqual([null, '[]', []]);
    const states = { DKIM: 'verified', SPF: 'pending', MX: 'not_started' } as const;
    expect(recordStatesOf(JSON.stringify(states))).toEqual(states);
    const seen = {
      SPF: { at: 'a.example', values: ['v=spf1 -all', ''], problem: 'not ours' },
      MX: { at: '', values: [], problem: null },
    };
    expect(seenRecordsOf(JSON.stringify(seen))).toEqual(seen);
    expect([recordStatesOf('{}'), seenRecordsOf('{}')]).toEqual([{}, {}]);
  });

  test.each([
    ['strings', stringsOf, ['{}', '[1]', '["a",null]', 'null', '"a"', '[']],
    [
      'tags',
      tagsOf,
      [
        '{}',
        '["a"]',
        '[["a","b"]]',
        '[{"name":"a"}]',
        '[{"value":"a"}]',
        '[null]',
        '[{"name":"a","value":1}]',
        '[{"name":1,"value":"a"}]',
        '[{"name":"a","value":"b"},{}]',
      ],
    ],
    [
      'headers',
      headersOf,
      ['[["a"]]', '[["a","b","c"]]', '[["a",1]]', '[{"a":"b"}]', '["ab"]', '{}', 'null'],
    ],
    [
      'record states',
      recordStatesOf,
      ['[]', 'null', '1', '{"DKIM":"fine"}', '{"DKIM":null}', '{"SPF":"toString"}'],
    ],
    [
      'seen records',
      seenRecordsOf,
      [
        '[]',
        'null',
        '"a"',
        '{"SPF":null}',
        '{"SPF":"a"}',
        '{"SPF":{"values":[],"problem":null}}',
        '{"SPF":{"at":"a","problem":null}}',
        '{"SPF":{"at":"a","values":[]}}',
        '{"SPF":{"at":1,"values":[],"problem":null}}',
        '{"SPF":{"at":"a","values":[1],"problem":null}}',
        '{"SPF":{"at":"a","values":"a","problem":null}}',
        '{"SPF":{"at":"a","values":[],"problem":1}}',
      ],
    ],
  ])('of %s refuse anything else', (_name, decode, texts) => {
    for (const text of texts) expect(() => decode(text), text).toThrow();
  });

  test('that are damaged are told by their first hundred characters', () => {
    const text = `{"${'x'.repeat(120)}":1}`;
    expect(() => stringsOf(text)).toThrow(
      new Error(`a column of the database holds ${text.slice(0, 100)}`),
    );
  });
});
