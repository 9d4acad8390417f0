/** An agent for HTTPS requests to servers of a test: every name is this machine, and the rig's CA is trusted. */
import { parseNetworks } from '../../src/wire/addresses/networks.ts';
import { GuardedAgent } from '../../src/wire/https/guarded-agent.ts';
import { testAuthority } from './certificates.ts';

export function loopbackAgent(): GuardedAgent {
  return new GuardedAgent({
    resolver: {
      a: () =>
        Promise.resolve({
          kind: 'found',
          records: ['127.0.0.1'],
          ttlSeconds: 1,
          isAuthenticated: false,
        }),
      aaaa: () => Promise.resolve({ kind: 'nodata', isAuthenticated: false }),
    },
    allowNetworks: parseNetworks(['127.0.0.0/8']),
    ca: [testAuthority().cert],
  });
}
