/** Why an address cannot be listened on, in an operator's words; what else goes wrong stays what it is. */
import { expect, test } from 'bun:test';

import { OperatorError } from '../../src/base/errors.ts';
import { listenFailure } from '../../src/base/listening.ts';

const AT = { host: '192.0.2.1', port: 25 };

test.each([
  [
    'EADDRINUSE',
    'is in use by another program',
    'Stop that program, or set another address in the config file.',
  ],
  [
    'EADDRNOTAVAIL',
    'is not an address of this machine',
    'Use one of its own addresses, or "0.0.0.0" for every IPv4 address and "[::]" for every address.',
  ],
  [
    'EACCES',
    'needs a privilege that the process does not have',
    'Use a port above 1023, or grant the service CAP_NET_BIND_SERVICE, as its systemd unit does.',
  ],
])('%s', (code, words, hint) => {
  const failure = listenFailure('smtp.inbound', AT, Object.assign(new Error('x'), { code }));
  if (!(failure instanceof OperatorError)) throw failure;
  expect(failure.message).toBe(`smtp.inbound: 192.0.2.1 port 25 ${words}`);
  expect(failure.hint).toBe(hint);
  // The file itself is valid.
  expect(failure.exitCode).toBe(1);
});

test('any other error is returned unchanged', () => {
  const error = Object.assign(new Error('x'), { code: 'EMFILE' });
  expect(listenFailure('smtp.inbound', AT, error)).toBe(error);
  const plain = new Error('x');
  expect(listenFailure('smtp.inbound', AT, plain)).toBe(plain);
});
