/**
 * The reference document: every route, every error, and examples that the shapes themselves accept.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorsOf } from '../../../src/api/reference/responses.ts';
import { ROUTES } from '../../../src/api/routes/routes.ts';
import { Shape } from '../../../src/api/shapes/check.ts';
import { exampleOf } from '../../../src/api/shapes/example.ts';
import { REFUSALS } from '../../../src/base/errors.ts';
import { FormatRegistry } from '@sinclair/typebox';
import { openBench, type Bench, type Sent } from '../bench.ts';

let bench: Bench;
let document: Sent;

beforeAll(async () => {
  bench = await openBench();
  document = await bench.ask({ path: '/openapi.json' });
  for (const format of ['uuid', 'date-time', 'binary']) FormatRegistry.Set(format, () => true);
});

afterAll(async () => {
  FormatRegistry.Clear();
  await bench.close();
});

test('every route is in the document once, without its /v1 twin', () => {
  const listed = Object.entries(document.json.paths as Record<string, object>).flatMap(
    ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const real = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect(listed.sort()).toEqual(real.sort());
});

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: { format?: string };
}

const parametersOf = (path: string, method: string): Parameter[] =>
  document.json.paths[path][method].parameters ?? [];

test('the sends take an idempotency key, a batch its mode too, and no other route takes a header', () => {
  const headers: Record<string, string[]> = {};
  for (const [path, methods] of Object.entries(document.json.paths as Record<string, object>)) {
    for (const method of Object.keys(methods)) {
      const names = parametersOf(path, method).filter((one) => one.in === 'header');
      if (names.length > 0) headers[`${method} ${path}`] = names.map(({ name }) => name);
    }
  }
  expect(headers).toEqual({
    'post /email': ['Idempotency-Key'],
    'post /email/send': ['Idempotency-Key'],
    'post /emails': ['Idempotency-Key'],
    'post /emails/batch': ['Idempotency-Key', 'x-batch-validation'],
  });
});

test('every route needs a key, but for those that are open to all', () => {
  expect(document.json.security).toEqual([{ bearer: [] }]);
  for (const { method, path, access } of ROUTES) {
    const shown = document.json.paths[path.replaceAll(/:(\w+)/g, '{$1}')][method.toLowerCase()];
    expect([path, shown.security]).toEqual([path, access === 'open' ? [] : undefined]);
  }
});

test('every part of a path is a required parameter, and the filters of a list are not', () => {
  for (const [path, methods] of Object.entries(document.json.paths as Record<string, object>)) {
    const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
    for (const method of Object.keys(methods)) {
      const given = parametersOf(path, method).filter((one) => one.in === 'path');
      expect([path, given.map(({ name }) => name)]).toEqual([path, inPath]);
      expect(given.every(({ required }) => required === true)).toBe(true);
    }
  }
  const filters = parametersOf('/logs', 'get');
  expect(filters.map((one) => [one.in, one.name, one.required])).toEqual(
    ['limit', 'after', 'before', 'q', 'status', 'method'].map((name) => ['query', name, false]),
  );
});

test('a part of a path is an id, but for the address of a suppression', () => {
  const formats = new Map<string, Set<string | null>>();
  for (const [path, methods] of Object.entries(document.json.paths as Record<string, object>)) {
    for (const method of Object.keys(methods)) {
      for (const { in: position, name, schema } of parametersOf(path, method)) {
        if (position !== 'path') continue;
        formats.set(name, (formats.get(name) ?? new Set()).add(schema.format ?? null));
      }
    }
  }
  expect(formats).toEqual(
    new Map<string, Set<string | null>>([
      ['id', new Set(['uuid'])],
      ['attachment', new Set(['uuid'])],
      ['email', new Set([null])],
      ['event', new Set(['uuid'])],
    ]),
  );
});

test('each response names the headers that it may have', () => {
  const refused: Record<string, string[]> = {
    401: ['WWW-Authenticate'],
    429: ['Retry-After'],
    503: ['Retry-After'],
  };
  const seen = new Set<string>();
  for (const { method, path, access, isSend, success } of ROUTES) {
    const shown = document.json.paths[path.replaceAll(/:(\w+)/g, '{$1}')][method.toLowerCase()];
    const rate = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
    const succeeded = [
      ...(access === 'open' ? [] : rate),
      ...(isSend ? ['Idempotent-Replayed'] : []),
    ];
    const responses = shown.responses as Record<
      string,
      { headers: Record<string, { $ref: string }> }
    >;
    for (const [status, { headers }] of Object.entries(responses)) {
      seen.add(status);
      const own = Number(status) === success.status ? succeeded : (refused[status] ?? []);
      const names = ['X-Request-Id', ...own];
      const refs = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
      expect([method, path, status, headers]).toEqual([
        method,
        path,
        status,
        Object.fromEntries(refs),
      ]);
      for (const name of names) expect(document.json.components.headers).toHaveProperty(name);
    }
  }
  expect(Object.keys(refused).filter((status) => !seen.has(status))).toEqual([]);
});

test('every error code of the contract is documented, except the one that no route can return', () => {
  const shown = new Set(ROUTES.flatMap(errorsOf));
  const missing = Object.keys(REFUSALS).filter((code) => !shown.has(code as keyof typeof REFUSALS));
  expect(missing).toEqual(['recipient_suppressed']);
});

test('every operation has an id of its own', () => {
  const ids = ROUTES.map(({ text }) => text.id);
  expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});

test('every operation names clauses that the contract has', () => {
  const contract = readFileSync(join(import.meta.dir, '../../../docs/contract.md'), 'utf8');
  const wrong = ROUTES.filter(
    ({ text: { clauses } }) =>
      clauses.length === 0 || clauses.some((clause) => !contract.includes(`- **${clause}** `)),
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

describe.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s',
  (_, route) => {
    test('has examples that its own shapes accept', () => {
      if (route.body !== null)
        expect(new Shape(route.body.schema).faults(exampleOf(route.body.schema))).toEqual([]);
      const { schema } = route.success;
      expect(new Shape(schema).faults(exampleOf(schema))).toEqual([]);
    });

    test('says what it does and what it can refuse', () => {
      const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
      const operation = document.json.paths[path][route.method.toLowerCase()];
      expect(operation.summary.length).toBeGreaterThan(5);
      for (const code of errorsOf(route)) {
        const answer = operation.responses[REFUSALS[code].status];
        const { $ref } = answer.content['application/json'].examples[code];
        const name = $ref.replace('#/components/examples/', '');
        expect(document.json.components.examples[name].value).toMatchObject({
          code,
          statusCode: REFUSALS[code].status,
          name: REFUSALS[code].name,
        });
      }
    });
  },
);
