/** Tables, facts, tiles and timelines: each value under its own name, what is empty is left out, all text is escaped. */
import { expect, test } from 'bun:test';
import { html } from '../../../src/dashboard/frame/html.ts';
import { card, empty, facts, table, tiles, timeline } from '../../../src/dashboard/frame/table.ts';

/** Markup without the white space between tags. */
const flat = (shown: unknown): string =>
  String(shown)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([<>]) ?/g, '$1');

test('each cell stands under its heading and repeats its label for narrow screens', () => {
  const shown = flat(
    table(
      [['Name', 'title'], 'Size', ['<At>', 'time']],
      [
        ['a', 5, null],
        ['<b>', 0, 'now'],
      ],
      'None.',
    ),
  );
  expect(shown).toContain(
    '<tr><th scope="col" class="col-title">Name</th><th scope="col">Size</th><th scope="col" class="col-time">&lt;At&gt;</th></tr>',
  );
  expect(shown).toContain(
    '<td data-label="Name" class="col-title">a</td><td data-label="Size">5</td><td data-label="&lt;At&gt;" class="col-time void"></td>',
  );
  // A zero is a value.
  expect(shown).toContain('<td data-label="Size">0</td>');
  expect(shown).toContain('>&lt;b&gt;</td>');
});

test('without rows there is no table but words', () => {
  expect(flat(table(['A'], [], 'None.'))).toBe('<div class="none">None.</div>');
});

test('the column of actions is there only where a row has one', () => {
  const without = flat(
    table(
      ['A', ''],
      [
        ['a', null],
        ['b', false],
      ],
      '',
    ),
  );
  expect(without).not.toContain('Actions');
  expect(without.match(/<td/g)).toHaveLength(2);
  const some = flat(
    table(
      ['A', ''],
      [
        ['a', null],
        ['b', html`<button>x</button>`],
      ],
      '',
    ),
  );
  expect(some).toContain('<th scope="col"><span class="hidden">Actions</span></th>');
  expect(some).toContain('<td data-label="" class="void"></td>');
  expect(some).toContain('<td data-label=""><button>x</button></td>');
  // A named column stays without values.
  expect(flat(table(['A', 'B'], [['a', null]], ''))).toContain('>B</th>');
});

test('facts leave out what is empty and keep a zero', () => {
  const shown = flat(
    facts([
      ['A', 0],
      ['B', ''],
      ['C', null],
      ['D', false],
      ['E', '<e>'],
    ]),
  );
  expect(shown).toBe('<dl class="facts"><dt>A</dt><dd>0</dd><dt>E</dt><dd>&lt;e&gt;</dd></dl>');
});

test('a tile has its label, value, hint and tone, and leads somewhere if it can', () => {
  const shown = flat(
    tiles([
      { label: 'A', value: 1, hint: 'of 2', tone: 'bad', href: '/a?b=1&c=2' },
      { label: 'B', value: '–' },
    ]),
  );
  expect(shown).toContain(
    '<li class="tile bad"><span class="tile-label"><a href="/a?b=1&amp;c=2">A</a></span><b>1</b><span class="soft">of 2</span></li>',
  );
  expect(shown).toContain('<li class="tile "><span class="tile-label">B</span><b>–</b></li>');
});

test('a card without a body is not there; its tools stand beside its title', () => {
  for (const nothing of [null, undefined, false, ''] as const)
    expect(card('T', nothing)).toBeNull();
  expect(flat(card('T <x>', 'body', 'tool'))).toBe(
    '<section class="card"><div class="card-head"><h2>T &lt;x&gt;</h2>tool</div>body</section>',
  );
});

test('what is empty says so, why, and what comes next', () => {
  expect(flat(empty('No x', 'Because.', html`<a href="/n">next</a>`))).toBe(
    '<div class="empty"><strong>No x</strong><p>Because.</p><a href="/n">next</a></div>',
  );
});

test('moments keep their order, tone and detail', () => {
  const shown = flat(
    timeline([
      { at: 't1', tone: 'good', title: 'First' },
      { at: 't2', tone: 'bad', title: 'Second', detail: '<d>' },
      { at: 't3', tone: 'fair', title: 'Third', detail: null },
    ]),
  );
  expect(shown).toBe(
    '<ol class="timeline"><li class="good"><p class="moment"><strong>First</strong>t1</p></li>' +
      '<li class="bad"><p class="moment"><strong>Second</strong>t2</p><div class="detail">&lt;d&gt;</div></li>' +
      '<li class="fair"><p class="moment"><strong>Third</strong>t3</p></li></ol>',
  );
});
