/** The fetch of an MTA-STS policy: how long delivery waits for it, and how much of it is read. */
import { expect, spyOn, test } from 'bun:test';

import { GuardedAgent, type GuardedOptions } from '../../../src/wire/https/guarded-agent.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { MtaSts } from '../../../src/wire/tls/mta-sts.ts';
import { TestClock } from '../../rig/clock.ts';

test('it is given up after half a minute', async () => {
  const nothing: DnsAnswer<string> = { kind: 'nodata', isAuthenticated: false };
  const asked: string[] = [];
  const agent = new GuardedAgent({
    resolver: {
      a: (name) => {
        asked.push(name);
        return Promise.resolve(nothing);
      },
      aaaa: () => Promise.resolve(nothing),
    },
    allowNetworks: parseNetworks([]),
    ca: [],
  });
  const records = ['v=STSv1; id=1'];
  const announced = { kind: 'found', records, ttlSeconds: 60, isAuthenticated: false } as const;
  const txt = (name: string): Promise<DnsAnswer<string>> =>
    Promise.resolve(name === '_mta-sts.a.test' ? { ...announced, records } : nothing);
  const sts = new MtaSts({ resolver: { txt }, clock: new TestClock(), agent });
  const armed = spyOn(globalThis, 'setTimeout');
  const policy = await sts.policyFor('a.test');
  const delays = armed.mock.calls.map(([, ms]) => ms);
  armed.mockRestore();
  expect(policy).toBeNull();
  expect(asked).toEqual(['mta-sts.a.test']);
  expect(delays).toContain(30_000);
  agent.destroy();
});

test('a policy host is asked for text, at the port of HTTPS', async () => {
  const dialled: unknown[] = [];
  class Noting extends GuardedAgent {
    override createConnection(
      options: Parameters<GuardedAgent['createConnection']>[0],
      done?: Parameters<GuardedAgent['createConnection']>[1],
    ): undefined {
      const { method, headers } = options;
      const { host, port } = (options as GuardedOptions).guard;
      dialled.push([host, port, method, new Headers(headers as never).get('accept')]);
      done?.(new Error('no'), undefined as never);
      return undefined;
    }
  }
  const none = () => Promise.resolve<DnsAnswer<string>>({ kind: 'nodata', isAuthenticated: false });
  const resolver = { a: none, aaaa: none };
  const agent = new Noting({ resolver, allowNetworks: parseNetworks([]), ca: [] });
  const records = ['v=STSv1; id=1'];
  const txt = () =>
    Promise.resolve<DnsAnswer<string>>({
      kind: 'found',
      records,
      ttlSeconds: 60,
      isAuthenticated: false,
    });
  const sts = new MtaSts({ resolver: { txt }, clock: new TestClock(), agent });
  expect(await sts.policyFor('a.test')).toBeNull();
  expect(dialled).toEqual([['mta-sts.a.test', 443, 'GET', 'text/plain']]);
  agent.destroy();
});
