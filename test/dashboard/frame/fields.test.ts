/** Fields of forms: each attribute where it is asked for, what is chosen is marked, and values are text. */
import { expect, test } from 'bun:test';
import { fieldOf, filters, form, type FieldSpec } from '../../../src/dashboard/frame/form.ts';
import { streamOf } from '../../../src/dashboard/frame/stream.ts';

const flat = (shown: unknown): string =>
  String(shown)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([<>]) ?/g, '$1');
const field = (spec: FieldSpec): string => flat(fieldOf(spec, null));
const named = { name: 'n', label: 'Label' };

test('a text field has what its form asks of it, and no more', () => {
  const bare = field({ kind: 'text', ...named });
  expect(bare).toContain('<label for="f-n">Label</label>');
  expect(bare).toContain('<input type="text" id="f-n" name="n" value=""');
  for (const word of ['required', 'maxlength', 'placeholder', 'autocomplete', 'aria-']) {
    expect(bare).not.toContain(word);
  }
  const full = field({
    kind: 'text',
    ...named,
    type: 'email',
    value: '"<a>',
    required: true,
    maxLength: 60,
    placeholder: 'p',
    autocomplete: 'email',
    hint: 'Hint',
  });
  for (const part of [
    'type="email"',
    'value="&quot;&lt;a&gt;"',
    ' required ',
    'maxlength="60"',
    'placeholder="p"',
    'autocomplete="email"',
    'aria-describedby="f-n-hint"',
    '<span class="hint" id="f-n-hint">Hint</span>',
  ]) {
    expect(full).toContain(part);
  }
});

test('a password that is preset is not shown', () => {
  expect(field({ kind: 'text', ...named, type: 'password', value: 'secret' })).not.toContain(
    'secret',
  );
});

test('areas, selects, checks and files', () => {
  const area = field({ kind: 'area', ...named, value: '</textarea>', maxLength: 9 });
  expect(area).toContain('rows="4" maxlength="9"');
  expect(area).toContain('&lt;/textarea&gt;</textarea>');
  expect(field({ kind: 'area', ...named, rows: 7 })).toContain('rows="7"');
  const options = [
    ['a', 'A'],
    ['b', 'B'],
  ] as const;
  const select = field({ kind: 'select', ...named, options, value: 'b' });
  expect(select).toContain('<option value="a">A</option><option value="b" selected>B</option>');
  expect(field({ kind: 'select', ...named, options })).not.toContain('selected');
  const checks = field({
    kind: 'checks',
    ...named,
    values: ['a'],
    options: [
      ['a', 'A'],
      ['b', 'B', true],
    ],
  });
  expect(checks).toContain('name="n" value="a" checked />A');
  expect(checks).toContain('name="n" value="b" disabled />B');
  expect(field({ kind: 'check', ...named, checked: true })).toContain('checked');
  expect(field({ kind: 'check', ...named })).not.toContain('checked');
  expect(field({ kind: 'file', ...named, accept: '.csv' })).toContain(
    'type="file" id="f-n" name="n" accept=".csv"',
  );
  expect(field({ kind: 'hidden', name: 'n', value: '"' })).toBe(
    '<input type="hidden" name="n" value="&quot;" />',
  );
});

test('a form is there for those who may send it, and says how its file is sent', () => {
  const may = (method: string, to: string): boolean => method === 'POST' && to === '/to';
  const fields: FieldSpec[] = [{ kind: 'text', ...named }];
  const shown = flat(form({ may, refused: null }, { to: '/to', fields, submit: 'Go' }));
  expect(shown).toStartWith('<form class="fields" method="post" action="/to">');
  expect(shown).toContain('<button class="primary">Go</button>');
  const file: FieldSpec[] = [{ kind: 'file', ...named, accept: '.csv' }];
  const upload = flat(
    form({ may, refused: null }, { to: '/to', fields: file, submit: 'Go', kind: 'danger' }),
  );
  expect(upload).toContain('enctype="multipart/form-data"');
  expect(upload).toContain('<button class="danger">');
  expect(form({ may, refused: null }, { to: '/other', fields, submit: 'Go' })).toBeNull();
  const filter = flat(filters('/list', fields));
  expect(filter).toStartWith('<form class="filters" method="get" action="/list" role="search"');
});

test('a stream that is left ends what makes it', async () => {
  let isEnded = false;
  async function* parts(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield await Promise.resolve(new Uint8Array([1]));
    } finally {
      isEnded = true;
    }
  }
  const log = { error: () => expect.unreachable() };
  const reader = (await streamOf(parts(), log)).getReader();
  expect((await reader.read()).value).toEqual(new Uint8Array([1]));
  await reader.cancel();
  expect(isEnded).toBe(true);
});

test('a stream whose rows fail breaks off behind what was read, and the log says why', async () => {
  const fault = new Error('the store is gone');
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(new Uint8Array([1]));
    throw fault;
  }
  const logged: unknown[] = [];
  const log = { error: (...line: unknown[]) => void logged.push(line) };
  const reader = (await streamOf(parts(), log)).getReader();
  expect((await reader.read()).value).toEqual(new Uint8Array([1]));
  expect(await reader.read().catch((error: unknown) => error)).toBe(fault);
  const hint =
    'The file broke off in the browser. Save it again; see the log for what the store lacks.';
  expect(logged).toEqual([['dashboard_download_failed', { error: fault, hint }]]);
});

test('a stream whose first rows fail is none, and nothing of it is logged', async () => {
  const fault = new Error('not yet');
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield await Promise.reject<Uint8Array>(fault);
  }
  const log = { error: () => expect.unreachable() };
  expect(await streamOf(parts(), log).catch((error: unknown) => error)).toBe(fault);
});
