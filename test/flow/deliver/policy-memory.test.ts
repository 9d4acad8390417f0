/** Where enforced MTA-STS policies are kept over a restart, what is made of them there, and what other nodes have kept. */
import { afterEach, expect, test } from 'bun:test';
import { createServer } from 'node:https';

import { makeTools } from '../../../src/flow/deliver/parts.ts';
import type { Revision } from '../../../src/flow/revision.ts';
import { Concurrency } from '../../../src/flow/pacing/concurrency.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { startQueueRig } from '../queue/queue-rig.ts';
import type { QueueRig } from '../queue/queue-rig.ts';

/** An address of the loopback net that no other suite uses: policies are served on port 443. */
const POLICY_ADDRESS = '127.0.3.44';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

const enforced = (mx: string) => ({ mode: 'enforce', mxPatterns: [mx], maxAgeSeconds: 86_400 });

/** `revision`: of a store that nodes share; null: one process has it alone. */
async function start(revision: number | null = null) {
  const rig = await startQueueRig({
    isStarted: false,
    extraCaFile: testAuthority().certFile,
  });
  undo.push(() => rig.stop());
  for (const domain of ['one.example', 'other.example']) {
    rig.names.set(domain, 'MX', [`10 mx.${domain}`]);
    rig.names.set(`mx.${domain}`, 'A', ['127.0.0.1']);
  }
  const ctx = { ...rig.ctx, revision: { number: revision } as Revision };
  /** What a process that starts now finds for a domain: its TLS, or why it has no host. */
  const process = () => {
    const { signal } = new AbortController();
    const tools = makeTools(ctx, { captureAt: null }, new Concurrency(), signal);
    undo.push(() => tools.policyAgent.destroy());
    return async (domain: string): Promise<unknown> => {
      const found = await tools.sites.find(domain);
      return found.kind === 'site'
        ? found.site.addresses.map(({ host }) => host.tls.name)
        : [found.outcome.kind, found.outcome.stage];
    };
  };
  return { rig, process };
}

/** Serves the policy of one.example, which admits this host. */
async function publish(rig: QueueRig, mx: string): Promise<void> {
  const server = createServer(testAuthority().issue(['mta-sts.one.example']), (_, answer) => {
    const policy = `version: STSv1\r\nmode: enforce\r\nmx: ${mx}\r\nmax_age: 86400\r\n`;
    answer.writeHead(200, { 'content-type': 'text/plain' }).end(policy);
  });
  await new Promise<void>((resolve) => server.listen(443, POLICY_ADDRESS, resolve));
  undo.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  rig.names.set('_mta-sts.one.example', 'TXT', ['v=STSv1; id=20260101;']);
  rig.names.set('mta-sts.one.example', 'A', [POLICY_ADDRESS]);
}

/** What stands in the settings, once it does. */
async function keptIn({ ctx }: QueueRig, domain: string): Promise<unknown> {
  for (;;) {
    const text = await ctx.store.setting('mta_sts');
    if (text?.includes(`"${domain}"`) === true) return JSON.parse(text);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('an enforced policy stands in the settings, and protects after a restart while nobody publishes it', async () => {
  const { rig, process } = await start();
  await publish(rig, 'mail.one.example');
  const now = rig.clock.steady();
  expect(await process()('one.example')).toEqual(['unreached', 'policy']);
  const kept = { id: '20260101', policy: enforced('mail.one.example'), fetchedAt: now };
  expect(await keptIn(rig, 'one.example')).toEqual([['one.example', kept]]);
  rig.names.set('_mta-sts.one.example', 'TXT', []);
  await rig.clock.advance(3_600_000);
  const next = process();
  expect([await next('one.example'), await next('other.example')]).toEqual([
    ['unreached', 'policy'],
    ['opportunistic'],
  ]);
});

test.each([
  [null, ['one.example']],
  [7, ['one.example', 'other.example']],
])(
  'what another node has kept is read before a policy is written; a process that is alone asks nobody (revision %p)',
  async (revision, domains) => {
    const { rig, process } = await start(revision);
    const find = process();
    expect(await find('one.example')).toEqual(['opportunistic']);
    // Another node has found it since this one has read the settings.
    const policy = enforced('mail.other.example');
    const kept = [['other.example', { id: '1', policy, fetchedAt: rig.clock.steady() }]];
    await rig.ctx.store.setSetting('mta_sts', JSON.stringify(kept));
    // The answer that there is no policy is forgotten.
    await rig.clock.advance(3_600_000);
    await publish(rig, 'mx.one.example');
    expect(await find('one.example')).toEqual(['mta-sts']);
    const written = (await keptIn(rig, 'one.example')) as [domain: string, unknown][];
    expect(written.map(([domain]) => domain).sort()).toEqual(domains);
    expect(await find('other.example')).toEqual(
      revision === null ? ['opportunistic'] : ['unreached', 'policy'],
    );
  },
);
