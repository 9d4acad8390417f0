/** Who calls: the Authorization header in every spelling that RFC 9110 section 11.1 and RFC 6750 allow, and no other. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { checkPermission, checkSandbox, identify } from '../../src/api/guard.ts';
import { ApiError } from '../../src/base/errors.ts';
import { openBench, type Bench } from './bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  key = await bench.key(await bench.account('caller'));
});
afterAll(() => bench.close());

async function callerOf(authorization: string): Promise<string> {
  const found = await identify(bench.ctx, new Headers({ authorization }));
  return found instanceof ApiError ? found.errorName : found.account.name;
}

test('the scheme in any case, with any number of blanks behind it', async () => {
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER ', 'Bearer   ']) {
    expect([scheme, await callerOf(scheme + key)]).toEqual([scheme, 'caller']);
  }
});

test('no other scheme, no second word, no key alone', async () => {
  for (const value of [
    `Basic ${key}`,
    `Bearer ${key} x`,
    `x Bearer ${key}`,
    `xBearer ${key}`,
    key,
    `Bearer${key}`,
    'Bearer',
    'Bearer x',
  ]) {
    expect([value, await callerOf(value)]).not.toEqual([value, 'caller']);
  }
  expect(await callerOf(' ')).toBe('missing_api_key');
});

test('what a key may not use is refused in words that say which key may', () => {
  const said = (work: () => void): unknown => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return [error.status, error.code, error.errorName, error.message];
    }
    return null;
  };
  const caller = (permission: string, isTest: boolean) =>
    ({ key: { permission, isTest } }) as never;
  const restricted = 'This API key can only send email. Use a key with full access.';
  const finds = 'A sandbox key finds sandbox data only. Use a live key.';
  const live = 'Domains, webhook endpoints and suppressions are live. Use a live key.';
  for (const [permission, access, refusal] of [
    ['sending_access', 'full', [403, 'forbidden', 'restricted_api_key', restricted]],
    ['sending_access', 'send', null],
    ['full_access', 'full', null],
    ['full_access', 'send', null],
  ] as const) {
    const refused = said(() => checkPermission(caller(permission, true), access));
    expect([permission, access, refused]).toEqual([permission, access, refusal as never]);
  }
  for (const [isTest, isLiveOnly, path, refusal] of [
    [true, true, '/domains/:id', [404, 'not_found', 'not_found', finds]],
    [true, true, '/domains', [403, 'forbidden', 'invalid_access', live]],
    [true, false, '/emails/:id', null],
    [false, true, '/domains/:id', null],
    [false, true, '/domains', null],
  ] as const) {
    const refused = said(() => checkSandbox(caller('full_access', isTest), { isLiveOnly, path }));
    expect([isTest, path, refused]).toEqual([isTest, path, refusal as never]);
  }
});
