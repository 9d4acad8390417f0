/** Who calls: the Authorization header in every spelling that RFC 9110 section 11.1 and RFC 6750 allow, and no other. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { identify } from '../../src/api/guard.ts';
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
