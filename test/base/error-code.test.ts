/** The code of whatever was thrown. */
import { expect, test } from 'bun:test';

import { errorCode } from '../../src/base/error-code.ts';

test.each([
  [Object.assign(new Error('x'), { code: 'ENOENT' }), 'ENOENT'],
  [Object.assign(new Error('x'), { code: 5 }), ''],
  [new Error('x'), ''],
  ['thrown text', ''],
  [null, ''],
  [undefined, ''],
])('%p: %p', (thrown, code) => expect(errorCode(thrown)).toBe(code));
