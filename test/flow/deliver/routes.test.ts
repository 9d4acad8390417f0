/** Which route a domain takes, what a 250 of its host means, and how long a domain without a host is believed to be so. */
import { afterEach, expect, test } from 'bun:test';

import { testAuthority } from '../../rig/certificates.ts';
import { startReceiver } from '../../rig/receiver.ts';
import { makeTools } from '../../../src/flow/deliver/parts.ts';
import type { SiteResult } from '../../../src/flow/deliver/site.ts';
import { Concurrency } from '../../../src/flow/pacing/concurrency.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { startQueueRig } from '../queue/queue-rig.ts';
import type { QueueRig, QueueRigOptions } from '../queue/queue-rig.ts';
import { startRelay } from './relay-rig.ts';

const LOGIN = { username: 'postrider', password: 'secret' };

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function rigWith(options: QueueRigOptions): Promise<QueueRig> {
  const rig = await startQueueRig(options);
  ended.push(() => rig.stop());
  return rig;
}

async function statusOf(rig: QueueRig, to: string): Promise<string | undefined> {
  const message = await rig.send([to]);
  const [settled] = await rig.attempted(message.id, 1);
  return settled?.recipient.status;
}

test('a pattern means the names below its domain: not that domain, nor one that ends alike', async () => {
  const mx = await startReceiver();
  ended.push(() => mx.stop());
  const target = { host: '127.0.0.1', port: mx.port, username: '', password: '' };
  const routes = [{ domains: ['*.corp.example'], target: { ...target, tls: 'none' as const } }];
  // Without a route there is nowhere to go.
  const rig = await rigWith({ delivery: { routes, port: mx.port } });
  expect(await statusOf(rig, 'ann@eu.corp.example')).toBe('delivered');
  expect(await statusOf(rig, 'ann@a.b.corp.example')).toBe('delivered');
  expect(await statusOf(rig, 'ann@corp.example')).toBe('failed');
  expect(await statusOf(rig, 'ann@notcorp.example')).toBe('failed');
});

test('a host that asks for a login takes mail for others: its 250 is sent, not delivered', async () => {
  const relay = await startRelay(LOGIN);
  ended.push(() => relay.stop());
  const target = { host: 'relay.example', port: relay.port, ...LOGIN, tls: 'required' as const };
  const routes = [{ domains: ['example.com'], target }];
  const rig = await rigWith({ delivery: { routes }, extraCaFile: testAuthority().certFile });
  rig.names.set('relay.example', 'A', ['127.0.0.1']);
  expect(await statusOf(rig, 'ann@example.com')).toBe('sent');
  expect(relay.messages.items).toHaveLength(1);
});

test('limits of a smarthost and of routes with a login are those of all nodes, others of each; `scope` says otherwise', async () => {
  const target = { host: 'relay.example', port: 25, tls: 'none' as const };
  const open = { username: '', password: '' };
  const scoped = { ...OTHERS, connections: 2, messagesPerMinute: 5 };
  const rig = await rigWith({
    delivery: {
      routes: [
        { domains: ['login.example'], target: { ...target, ...LOGIN } },
        { domains: ['open.example'], target: { ...target, ...open } },
        { domains: ['own.example'], target: { ...target, host: 'own.example', ...LOGIN } },
        { domains: ['all.example'], target: { ...target, host: 'all.example', ...open } },
      ],
      smarthost: { ...target, host: 'smart.example', ...open },
      providers: [
        { ...scoped, name: 'Own', mx: ['own.example'], scope: 'node' },
        { ...scoped, name: 'All', mx: ['all.example', '.mx.example'], scope: 'cluster' },
      ],
    },
  });
  for (const host of ['relay', 'own', 'all', 'smart', 'a.mx', 'b']) {
    rig.names.set(`${host}.example`, 'A', ['127.0.0.1']);
  }
  rig.names.set('far.example', 'MX', ['10 a.mx.example']);
  rig.names.set('other.example', 'MX', ['10 b.example']);
  const { sites } = makeTools(
    rig.ctx,
    { captureAt: null },
    new Concurrency(),
    new AbortController().signal,
  );
  const shared = async (found: Promise<SiteResult | null>): Promise<boolean | undefined> => {
    const result = await found;
    return result?.kind === 'site' ? result.site.isShared : undefined;
  };
  const seen: Record<string, boolean | undefined> = { smarthost: await shared(sites.smarthost()) };
  for (const domain of ['login', 'open', 'own', 'all', 'far', 'other']) {
    seen[domain] = await shared(sites.find(`${domain}.example`));
  }
  expect(seen).toEqual({
    smarthost: true,
    login: true,
    open: false,
    own: false,
    all: true,
    far: true,
    other: false,
  });
});

test('a domain whose DNS failed a moment ago is tried for the next message, not after a minute', async () => {
  const mx = await startReceiver();
  ended.push(() => mx.stop());
  const rig = await rigWith({ delivery: { port: mx.port } });
  rig.names.fail('example.com', 'servfail');
  expect(await statusOf(rig, 'ann@example.com')).toBe('delivery_delayed');
  rig.names.fail('example.com', null);
  rig.names.set('example.com', 'MX', ['10 mx.example.com']);
  rig.names.set('mx.example.com', 'A', ['127.0.0.1']);
  await rig.clock.advance(30_000);
  expect(await statusOf(rig, 'bob@example.com')).toBe('delivered');
});
