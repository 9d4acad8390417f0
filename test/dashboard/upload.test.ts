/** Forms with a file: bounded by their length and the memory budget before a byte is read. */
import { expect, test } from 'bun:test';

import { MAX_UPLOAD_BYTES, type Upload, withUpload } from '../../src/dashboard/upload.ts';
import { ALONE_FROM, ByteBudget } from '../../src/flow/byte-budget.ts';

function requestOf(body: FormData | string, headers: Record<string, string> = {}): Request {
  return new Request('http://x.example/', { method: 'POST', body, headers });
}

async function length(form: FormData): Promise<string> {
  return String((await new Response(form).arrayBuffer()).byteLength);
}

function formOf(content: string): FormData {
  const form = new FormData();
  form.append('note', 'hello');
  form.append('file', new File([content], 'list.csv'));
  return form;
}

const nothing = (): Promise<null> => expect.unreachable();

test('fields and file are read, and their bytes are given back', async () => {
  const budget = new ByteBudget();
  const form = formOf('a@b.example');
  const headers = { 'content-length': await length(form) };
  const work = async ({ fields, file }: Upload) => [
    fields.get('note'),
    file?.name,
    await file?.text(),
    budget.bytes > 0,
  ];
  expect(await withUpload({ budget }, requestOf(form, headers), work)).toEqual([
    'hello',
    'list.csv',
    'a@b.example',
    true,
  ]);
  expect(budget.bytes).toBe(0);
});

test('an empty file is none', async () => {
  const form = formOf('');
  const headers = { 'content-length': await length(form) };
  const work = async ({ file }: Upload) => Promise.resolve({ file });
  const ctx = { budget: new ByteBudget() };
  expect(await withUpload(ctx, requestOf(form, headers), work)).toEqual({ file: null });
});

test('of several files the first that is not empty is read, and fields are kept in their order', async () => {
  const form = new FormData();
  for (const [name, content] of Object.entries({ none: '', one: 'first', two: 'second' })) {
    form.append('file', new File([content], `${name}.csv`));
    form.append('note', name);
  }
  const headers = { 'content-length': await length(form) };
  const ctx = { budget: new ByteBudget() };
  const work = async ({ fields, file }: Upload) => [file?.name, fields.getAll('note')];
  expect(await withUpload(ctx, requestOf(form, headers), work)).toEqual([
    'one.csv',
    ['none', 'one', 'two'],
  ]);
});

test('what is too long, has no length, finds no memory or is no form is refused', async () => {
  const budget = new ByteBudget({ large: 1_000, small: 1_000 });
  const refused = (headers: Record<string, string>, body: FormData | string = 'x') =>
    withUpload({ budget }, requestOf(body, headers), nothing);
  expect(await refused({ 'content-length': String(MAX_UPLOAD_BYTES + 1) })).toBe('too_large');
  expect(await refused({ 'content-length': 'x' })).toBe('too_large');
  expect(await refused({ 'content-length': '2000' })).toBe('busy');
  const type = 'multipart/form-data; boundary=none';
  expect(await refused({ 'content-length': '1', 'content-type': type })).toBe('unreadable');
  expect(budget.bytes).toBe(0);
});

test('a large form is worked on once what was large before it is done, a small one meanwhile', async () => {
  const budget = new ByteBudget();
  const before = budget.open('api');
  before.grow(ALONE_FROM);
  await before.begin();
  const done: string[] = [];
  const upload = (name: string, bytes: number): Promise<unknown> => {
    const headers = { 'content-length': String(bytes) };
    return withUpload({ budget }, requestOf(formOf('x'), headers), async () => done.push(name));
  };
  const large = upload('large', ALONE_FROM);
  await upload('small', ALONE_FROM - 1);
  expect(done).toEqual(['small']);
  before.release();
  await large;
  expect(done).toEqual(['small', 'large']);
});

test('bytes are given back where the page fails, and its fault is told', async () => {
  const budget = new ByteBudget();
  const headers = { 'content-length': '1000' };
  const fault = new Error('the page failed');
  const failed = withUpload({ budget }, requestOf(formOf('x'), headers), () => {
    expect(budget.bytes).toBe(1_000);
    return Promise.reject(fault);
  });
  expect(await failed.catch((error: unknown) => error)).toBe(fault);
  expect(budget.bytes).toBe(0);
});

test('a form may have exactly as many bytes as the bound says, and not one more', async () => {
  const budget = new ByteBudget();
  const kindOf = async (bytes: number): Promise<unknown> => {
    const headers = { 'content-length': String(bytes) };
    return withUpload({ budget }, requestOf(formOf('x'), headers), () => Promise.resolve('read'));
  };
  expect(await kindOf(10_485_760)).toBe('read');
  expect(await kindOf(10_485_761)).toBe('too_large');
  expect(budget.bytes).toBe(0);
});
