/** What an operator with a closed port 25 is told, by the names of all public addresses of the machine. */
import { expect, test } from 'bun:test';

import type { DoctorContext } from '../../src/health/finding.ts';
import { providerAdvice } from '../../src/health/hosting-providers.ts';

const NAMES: Record<string, string[]> = {
  '192.0.2.1': ['mail.example.com'],
  '192.0.2.2': ['static.example.net', 'EC2-192-0-2-2.compute.amazonaws.com.'],
  '192.0.2.3': ['v4.upcloud.host'],
};

function adviceFor(...addresses: string[]): Promise<string> {
  const ptr = (address: string): Promise<object> => {
    const records = NAMES[address];
    return Promise.resolve(
      records === undefined ? { kind: 'nxdomain' } : { kind: 'found', records },
    );
  };
  return providerAdvice({ resolver: { ptr } } as unknown as DoctorContext, addresses);
}

test.each([
  [['192.0.2.2'], 'Amazon EC2: Ask with the form'],
  // An address without a name, and one with a name of the operator's own, leave it to the next.
  [['2001:db8::1', '192.0.2.2'], 'Amazon EC2: Ask with the form'],
  [['192.0.2.1', '192.0.2.3', '192.0.2.2'], 'UpCloud: Ask support'],
  [['192.0.2.1'], 'Ask your hosting provider'],
  [['2001:db8::1'], 'Ask your hosting provider'],
  [[], 'Ask your hosting provider'],
])('%j: %s', async (addresses, words) => {
  const advice = await adviceFor(...addresses);
  expect(advice).toStartWith(words);
  expect(advice).toEndWith('.');
  expect(advice).not.toContain('..');
});
